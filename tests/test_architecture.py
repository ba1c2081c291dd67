"""The tree is the architecture: who may import what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent / "engine" / "omnigraph"

FORBIDDEN = {
    "schema": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "query": {"lance", "datafusion", "obstore", "omnigraph.storage", "omnigraph.loading"},
    "storage": {"datafusion", "omnigraph.query", "omnigraph.loading", "omnigraph.cli"},
    "loading": {"lance", "datafusion", "obstore", "omnigraph.query", "omnigraph.cli"},
    "branching": {
        "lance",
        "datafusion",
        "obstore",
        "omnigraph.query",
        "omnigraph.exec",
        "omnigraph.loading",
        "omnigraph.cli",
    },
    "exec": {"lance", "obstore", "omnigraph.cli"},
    "embedding": {"lance", "pyarrow", "omnigraph.storage", "omnigraph.query"},
    "cli": {"lance", "datafusion", "obstore"},
}
ARROW_FREE = {"schema": {"arrow.py", "keys.py"}, "query": {"arrow.py"}}
READERS_WITHOUT_STORAGE = {"load.py", "dump.py"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def modules(package: str) -> list[Path]:
    return sorted((ENGINE / package).rglob("*.py"))


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("package", [p for p in FORBIDDEN if (ENGINE / p).is_dir()])
def test_packages_import_only_what_they_may(package: str) -> None:
    wrong = [
        (path.name, name)
        for path in modules(package)
        for name in imports(path)
        for forbidden in FORBIDDEN[package]
        if within(name, forbidden)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", [p for p in ARROW_FREE if (ENGINE / p).is_dir()])
def test_compilers_meet_arrow_in_one_place(package: str) -> None:
    wrong = [
        path.name
        for path in modules(package)
        if path.name not in ARROW_FREE[package]
        and any(within(name, "pyarrow") for name in imports(path))
    ]
    assert wrong == []


def test_readers_and_writers_of_files_know_no_storage() -> None:
    wrong = [
        path.name
        for path in modules("loading")
        if path.name not in READERS_WITHOUT_STORAGE
        and any(within(name, "omnigraph.storage") for name in imports(path))
    ]
    assert wrong == []


def test_every_package_says_what_it_promises() -> None:
    for package in sorted(path.parent for path in ENGINE.glob("*/__init__.py")):
        doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
        assert doc, package.name
        assert len(doc.splitlines()) >= 1


def test_modules_stay_readable() -> None:
    long = {
        str(path.relative_to(ENGINE)): lines
        for path in ENGINE.rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 500
    }
    assert long == {}
