"""Check that everything the manifest says is true, and that the graph keeps its own rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from omnigraph.common.progress import Progress
from omnigraph.errors import Corruption, OmniGraphError
from omnigraph.storage.core.file_digests import digest_in_stem
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS, version_of
from omnigraph.storage.core.model import Commit, Head, TablePointer
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.check_contents import content_findings
from omnigraph.storage.maintenance.check_files import (
    NOTHING_CHECKED,
    CheckedFiles,
    FileChecker,
    FileDamage,
)
from omnigraph.storage.maintenance.reachable_files import (
    detached_version_file,
    manifest_files,
    needed_files,
    stem,
    table_location,
    table_versions,
)
from omnigraph.storage.maintenance.retention import readable_commits
from omnigraph.storage.maintenance.verify_finding import VerifyFinding
from omnigraph.storage.manifest.definitions import definition_id, parse_definition
from omnigraph.storage.manifest.format_version import KEY_ANNOTATION, require_readable
from omnigraph.storage.manifest.manifest import KEPT_VERSIONS, ManifestView
from omnigraph.storage.manifest.rebuild_head import reconstruct
from omnigraph.storage.manifest.row_codec import (
    ManifestRow,
    commit_id,
    head_id,
    parse_commit,
    parse_head,
    schema_id,
)
from omnigraph.storage.manifest.tag_rows import Tag, parse_tag, tag_id
from omnigraph.storage.plain.plain_table import PREFIX
from omnigraph.storage.refs.merge_base import needed_bases
from omnigraph.storage.tables.tables import TableStore

T = TypeVar("T")
ATTEMPTS = 3
"""How often a graph that others change is looked at before what is found there is told."""
COMPARED = ("data/", "_deletions/")
"""Files of the manifest that its versions refer to; versions are compared before these, and the
transactions that made them with them."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What verification looked at, and its findings."""

    branches: int
    commits: int
    table_versions: int
    findings: tuple[VerifyFinding, ...]
    files: CheckedFiles | None = None
    """What was read of the files, when every byte was to be."""

    @property
    def ok(self) -> bool:
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        findings = [finding.to_json() for finding in self.findings]
        report = {name: getattr(self, name) for name in ("branches", "commits", "table_versions")}
        read = {"files": self.files.to_json()} if self.files else {}
        return {"ok": self.ok, **report, **read, "findings": findings}


def verify(
    store: GraphStore,
    *,
    rules: bool = False,
    deep: bool = False,
    on_progress: Progress | None = None,
) -> VerifyReport:
    """Compare heads, commits, tags, table versions and files with what the manifest says of them.

    No rows are read for that. `rules` also reads what branches show and checks every rule of the
    schema. `deep` does that, too, reads every byte of every file that is needed, compares it with
    the digest that was taken when it was written, and compares indexes with rows.

    A collection may delete what is being looked at: what was found while others published is looked
    for again.
    """
    for _ in range(ATTEMPTS - 1):
        view = store.publisher.refresh()
        report = _verified(store, view, rules, deep, on_progress)
        if report.ok or store.publisher.refresh().version == view.version:
            return report
    return _verified(store, store.publisher.refresh(), rules, deep, on_progress)


def _verified(
    store: GraphStore, view: ManifestView, rules: bool, deep: bool, on_progress: Progress | None
) -> VerifyReport:
    checked = NOTHING_CHECKED
    if deep:
        checked = _manifest_bytes(store, view, on_progress)
        if checked.damaged:  # nothing that the manifest says can be trusted
            return VerifyReport(0, 0, 0, _damage(checked), checked)
    require_readable(view.dataset)
    rows = [row for row, _ in store.manifest.history(view, "object_id IS NOT NULL")]
    findings = list(_manifest_findings(view, rows))
    heads = _parsed(parse_head, "graph_head", rows, findings)
    commits = {c.id: c for c in _parsed(parse_commit, "graph_commit", rows, findings)}
    for head in heads:
        findings += _head_findings(view, rows, head, commits)
    tags = _parsed(parse_tag, "tag", view.rows("tag"), findings)
    findings += _tag_findings(view, tags, commits)
    versions = _readable_versions(heads, tags, commits)
    files = [file for folder in TABLE_FOLDERS.values() for file in store.raw.list(folder)]
    if deep:
        of_tables = _table_bytes(store, versions, needed_bases(heads, commits), files, on_progress)
        findings += _damage(of_tables)
        checked += of_tables
    findings += _structure_findings(store, versions, files, on_progress)
    if (rules or deep) and not findings:
        findings += content_findings(store, heads, deep, on_progress)
    return VerifyReport(
        len(heads), len(commits), len(versions), tuple(findings), checked if deep else None
    )


def _manifest_bytes(
    store: GraphStore, view: ManifestView, on_progress: Progress | None
) -> CheckedFiles:
    """The files of the manifest: the versions that are there, then what they refer to."""
    checker = FileChecker(store.raw, store.raw.list(MANIFEST), {}, store.tables.decoded)
    kept = view.version - KEPT_VERSIONS
    versions = [
        name
        for name in checker.names
        if (number := version_of(name)) is not None and (number >= kept or number == 1)
    ]
    checked = checker.check(versions, store.workers, on_progress)
    if checked.damaged:
        return checked
    inner = (path.removeprefix(f"{MANIFEST}/") for path in manifest_files(view))
    stems = {f"{MANIFEST}/{stem(path)}" for path in inner if path.startswith(COMPARED)}
    return checked + checker.check(stems, store.workers, on_progress) + checker.rest()


def _table_bytes(
    store: GraphStore,
    versions: Mapping[TableVersion, tuple[TablePointer, str]],
    bases: Iterable[Commit],
    present: Sequence[StoredFile],
    on_progress: Progress | None,
) -> CheckedFiles:
    """The files of all tables: version files first, since they say which others are needed."""
    needed = versions.keys() | table_versions(bases)
    digests = {detached_version_file(v): v.digest for v in needed if v.digest}
    checker = FileChecker(store.raw, present, digests, store.tables.decoded)
    firsts = {name for name in checker.names if version_of(name) is not None}
    version_files = firsts | set(map(detached_version_file, needed))
    checked = checker.check(version_files, store.workers, on_progress)
    changed = {damage.path for damage in checked.damaged}
    sound = {version for version in needed if detached_version_file(version) not in changed}
    others = needed_files(store, set(), sound, None) - version_files
    checked += checker.check(others, store.workers, on_progress)
    if checked.unchecked and not checked.damaged:
        checked += CheckedFiles(damaged=tuple(_not_decoded(store.tables, sound)))
    return checked + checker.rest()


def _not_decoded(tables: TableStore, versions: Iterable[TableVersion]) -> Iterator[FileDamage]:
    """Data files without a digest whose rows cannot be read; each is read once."""
    seen: set[str] = set()
    for version in sorted(versions, key=lambda v: (v.location, v.lance)):
        for fragment in tables.fragments(version):
            names = fragment.files.removeprefix(f"{version.location}/").split("|")
            known = all(digest_in_stem(name.removesuffix(".lance")) for name in names)
            if known or fragment.files in seen:
                continue
            seen.add(fragment.files)
            try:
                for _ in tables.scan(
                    version, fragments=[fragment.id], blobs="blobs_descriptions", frugal=True
                ):
                    pass
            except OmniGraphError as error:
                yield FileDamage(f"{version.location}/data/{names[0]}", error.message)


def _damage(checked: CheckedFiles) -> tuple[VerifyFinding, ...]:
    return tuple(VerifyFinding(each.path, each.problem) for each in checked.damaged)


def _parsed(
    parse: Callable[[ManifestRow], T],
    object_type: str,
    rows: list[ManifestRow],
    findings: list[VerifyFinding],
) -> list[T]:
    """The values of the rows of a type; rows that cannot be read are findings."""
    values = []
    for row in rows:
        if row["object_type"] == object_type:
            try:
                values.append(parse(row))
            except Corruption as error:
                findings.append(VerifyFinding(row["object_id"], error.message))
    return values


def _manifest_findings(view: ManifestView, rows: list[dict[str, Any]]) -> Iterator[VerifyFinding]:
    counts = Counter(row["object_id"] for row in rows)
    for object_id, count in sorted(counts.items()):
        if count > 1:
            yield VerifyFinding(object_id, f"there are {count} rows with this id")
    metadata = view.dataset.schema.field("object_id").metadata or {}
    if metadata.get(KEY_ANNOTATION.encode()) != b"true":
        yield VerifyFinding(
            "__manifest.object_id", "column object_id lacks its primary-key metadata"
        )


def _head_findings(
    view: ManifestView, rows: list[dict[str, Any]], head: Head, commits: dict[str, Commit]
) -> Iterator[VerifyFinding]:
    where = f"head:{head.branch}"
    tip = commits.get(head.commit)
    if tip is None:
        yield VerifyFinding(where, f"its commit {head.commit} is missing")
        return
    if dict(tip.tables) != dict(head.tables):
        yield VerifyFinding(where, f"its pointers differ from those of its commit {head.commit}")
    if tip.version != head.version:
        yield VerifyFinding(where, f"its version is {head.version}, its commit's {tip.version}")
    if schema_id(head.schema) not in view.named:
        yield VerifyFinding(where, f"its schema {head.schema} is missing")
    for key in head.definitions:
        if key.startswith(PREFIX) and key not in head.tables:
            yield VerifyFinding(where, f"it has a declaration of {key}, but no such table")
    if dict(tip.definitions) != dict(head.definitions):
        yield VerifyFinding(where, f"its definitions differ from those of its commit {head.commit}")
    fork = commits.get(head.fork) if head.fork else None
    if head.fork and fork is None:
        yield VerifyFinding(where, f"the commit {head.fork} it was forked from is missing")
        return
    built = reconstruct(rows, head.branch, fork.tables if fork else None)
    if dict(built) != dict(head.tables):
        yield VerifyFinding(where, "its pointers differ from those that its version rows give")
    current: str | None = head.commit
    while current is not None:
        commit = commits.get(current)
        if commit is None:
            yield VerifyFinding(where, f"commit {current} of its history is missing")
            return
        yield from _definition_findings(view, commit)
        parent = commits.get(commit.parent) if commit.parent else None
        if parent is not None and parent.version != commit.version - 1:
            yield VerifyFinding(
                commit_id(current), f"its version does not follow its parent's ({parent.version})"
            )
        if parent is None and commit.parent is None and commit.version != 1:
            yield VerifyFinding(commit_id(current), "it has no parent and is not the first")
        current = commit.parent


def _definition_findings(view: ManifestView, commit: Commit) -> Iterator[VerifyFinding]:
    """Every definition of a commit must have its content."""
    for key, content_hash in commit.definitions.items():
        object_id = definition_id(key, content_hash)
        row = view.row(object_id)
        try:
            content = parse_definition(row) if row else None
        except Corruption as error:
            yield VerifyFinding(object_id, error.message)
            continue
        if content is None or (content.key, content.hash) != (key, content_hash):
            problem = "is missing" if content is None else "is not the one that was stored"
            yield VerifyFinding(commit_id(commit.id), f"the content of its {key} {problem}")


def _tag_findings(
    view: ManifestView, tags: list[Tag], commits: dict[str, Commit]
) -> Iterator[VerifyFinding]:
    """A tag must name a commit that is there, with its schema, and nothing else by that name."""
    for tag in tags:
        commit = commits.get(tag.commit)
        if commit is None:
            yield VerifyFinding(tag_id(tag.name), f"its commit {tag.commit} is missing")
            continue
        if schema_id(commit.schema) not in view.named:
            yield VerifyFinding(
                tag_id(tag.name), f"the schema {commit.schema} of its commit is missing"
            )
        if head_id(tag.name) in view.named:
            yield VerifyFinding(tag_id(tag.name), "a branch has the same name")
        yield from _definition_findings(view, commit)


def _readable_versions(
    heads: list[Head], tags: list[Tag], commits: dict[str, Commit]
) -> dict[TableVersion, tuple[TablePointer, str]]:
    """Every table version that some retained moment shows."""
    versions: dict[TableVersion, tuple[TablePointer, str]] = {}
    for commit in readable_commits(heads, tags, commits):
        for key, pointer in commit.tables.items():
            versions.setdefault(pointer.address, (pointer, f"{key} at {commit.id}"))
    return versions


def _structure_findings(
    store: GraphStore,
    versions: Mapping[TableVersion, tuple[TablePointer, str]],
    files: Iterable[StoredFile],
    on_progress: Progress | None,
) -> Iterator[VerifyFinding]:
    """Each version can be opened, has its files in their sizes, and the rows that it should."""
    present = PresentFiles(files)
    in_order = sorted(versions.items(), key=lambda item: item[1][1])

    def problems(item: tuple[TableVersion, tuple[TablePointer, str]]) -> list[VerifyFinding]:
        version, (pointer, where) = item
        found = _version_problems(store, version, pointer, present)
        return [VerifyFinding(where, problem) for problem in found]

    for number, found in enumerate(store.workers.map(problems, in_order)):
        if on_progress:
            on_progress(number, len(in_order))
        yield from found


class PresentFiles:
    """The files that are there, found by what versions call them."""

    def __init__(self, files: Iterable[StoredFile]) -> None:
        self._sizes = {file.path: file.size for file in files}
        self._names = {
            f"{location}/{stem(path.removeprefix(f'{location}/'))}"
            for path in self._sizes
            for location in [table_location(path)]
        }

    def has(self, name: str) -> bool:
        """Whether there is a file, or files, of that location, folder and stem."""
        return name in self._names

    def size(self, path: str) -> int | None:
        return self._sizes.get(path)


def _version_problems(
    store: GraphStore, version: TableVersion, pointer: TablePointer, present: PresentFiles
) -> Iterator[str]:
    try:
        missing = [name for name in sorted(store.tables.files(version)) if not present.has(name)]
        if missing:
            yield f"files are missing: {', '.join(missing)}"
            return
        for fragment in store.tables.fragments(version):
            for path, size in fragment.sizes:
                if size != present.size(path):
                    yield f"the file {path} has {present.size(path)} bytes, not {size}"
        if (rows := store.tables.count_rows(version)) != pointer.rows:
            yield f"it has {rows} rows, the manifest says {pointer.rows}"
    except (OmniGraphError, OSError) as error:
        yield str(error)
