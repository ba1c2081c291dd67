"""What code and documents cite is there: pages of docs, and headings in them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "engine/omnigraph",
    "sql_bridge/omnigraph_sql",
    "flight_server/omnigraph_flight",
    "spark_pipeline/omnigraph_spark",
    "dbt-omnigraph/dbt",
)
CODE = (*PACKAGES, "tests", "benchmarks")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_CITED = re.compile(r"(?<![\w/.-])(docs/[\w./-]+\.md)(?:#([\w-]+))?")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]*)(?:#([\w-]+))?\)")
_BARE = re.compile(r"§|\bRFC-\d|\b[Ss]ections? \d")
"""Citations that do not say of which page."""

GUIDE = ROOT / "docs/design/where-to-change.md"
_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|lark|sql|md))")
_IDENTIFIER = re.compile(r"_\w+|[A-Z][A-Z0-9_]+")


def sources(*folders: str) -> list[Path]:
    """The modules and grammars below some folders; of none, every rule would hold."""
    found = [
        path
        for folder in folders
        for suffix in ("*.py", "*.lark")
        for path in sorted((ROOT / folder).rglob(suffix))
        if path != Path(__file__)
    ]
    assert found
    return found


def prose(document: Path) -> Iterator[str]:
    """The lines of a document that are no code."""
    fenced = False
    for line in document.read_text("utf-8").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield line


def links(document: Path) -> list[tuple[str, str]]:
    """Where a document points to inside the repository: page and heading, either may be empty."""
    found = _LINK.findall("\n".join(prose(document)))
    return [(page, anchor) for page, anchor in found if not re.match(r"[a-z]+:", page)]


@cache
def anchors(document: Path) -> frozenset[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    for line in prose(document):
        heading = re.match(r"#{1,6} +(.*?)\s*#*$", line)
        if heading is None:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.append(slug if not seen[slug] else f"{slug}-{seen[slug]}")
        seen[slug] += 1
    return frozenset(found)


def missing(document: Path, anchor: str | None) -> str | None:
    """What is not there of a page and a heading."""
    if not document.exists():
        return "no such file"
    if anchor and (document.suffix != ".md" or anchor not in anchors(document)):
        return "no such heading"
    return None


def citations() -> list[tuple[Path, str, str | None]]:
    """Every page that code names, and the heading it names there."""
    return [
        (path, cited[1], cited[2])
        for path in sources(*CODE)
        for cited in _CITED.finditer(path.read_text("utf-8"))
    ]


def test_code_cites_pages_and_headings_that_are_there() -> None:
    found = citations()
    assert found, "code cites no page at all"
    assert any(anchor for _, _, anchor in found), "code cites no heading at all"
    wrong = [
        (str(path.relative_to(ROOT)), page, anchor, problem)
        for path, page, anchor in found
        if (problem := missing(ROOT / page, anchor))
    ]
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_documents_lead_somewhere(document: Path) -> None:
    wrong = [
        (page, anchor, problem)
        for page, anchor in links(document)
        if (problem := missing(document.parent / page if page else document, anchor or None))
    ]
    assert wrong == []


def test_every_page_of_the_design_is_linked() -> None:
    pages = {path.resolve() for path in (ROOT / "docs/design").rglob("*.md")}
    linked = {(page.parent / to).resolve() for page in DOCUMENTS for to, _ in links(page)}
    assert len(pages) > 20
    assert sorted(pages - linked) == []


def test_no_citation_leaves_its_page_unsaid() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sources(*PACKAGES)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _BARE.search(line)
    ]
    assert wrong == []


@cache
def places() -> frozenset[str]:
    """Every file and folder of the packages and the tests; folders end in a slash."""
    found = [path for folder in (*PACKAGES, "tests") for path in (ROOT / folder).rglob("*")]
    return frozenset(f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in found)


def named_places(path: str) -> list[str]:
    """The files and folders that a path below some package may mean."""
    return [place for place in places() if place.endswith(f"/{path}")]


def quoted(text: str, pattern: re.Pattern[str]) -> list[str]:
    """What stands in back-ticks and is all of a kind."""
    return [name for name in _QUOTED.findall(text) if pattern.fullmatch(name)]


def assigned_names(module: Path) -> set[str]:
    """What a module defines, at any depth."""
    nodes = list(ast.walk(ast.parse(module.read_text("utf-8"))))
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    stored = (node for node in nodes if isinstance(node, ast.Name))
    return defined | {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def test_the_guide_to_changes_names_files_and_folders_that_are_there() -> None:
    paths = quoted(GUIDE.read_text("utf-8"), _PATH)
    assert len(paths) > 100
    assert [path for path in paths if not named_places(path)] == []


def test_the_guide_to_changes_names_identifiers_of_the_modules_beside_them() -> None:
    """`_NAMES` and CONSTANTS are defined in a module that the same step names."""
    found, wrong = 0, []
    for step in re.split(r"\n(?=\d+\. |\| |#|\n)", GUIDE.read_text("utf-8")):
        modules = {m for path in quoted(step, _PATH) for m in named_places(path) if m[-3:] == ".py"}
        defined = {name for module in modules for name in assigned_names(ROOT / module[1:])}
        identifiers = quoted(step, _IDENTIFIER)
        found += len(identifiers)
        wrong += [(name, step.strip()[:40]) for name in identifiers if name not in defined]
    assert found > 15
    assert wrong == []
