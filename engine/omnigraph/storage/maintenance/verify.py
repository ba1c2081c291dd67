"""Check that everything the manifest says is true, and that the graph keeps its own rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from omnigraph.common.progress import Progress
from omnigraph.errors import Corruption, OmniGraphError
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.storage.constraints.final_state import FinalState
from omnigraph.storage.constraints.hash_partitions import duplicate_ids
from omnigraph.storage.constraints.rule_order import require_valid, whole_tables
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS, version_of
from omnigraph.storage.core.model import Commit, Head, TablePointer
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.check_files import (
    NOTHING_CHECKED,
    CheckedFiles,
    FileChecker,
)
from omnigraph.storage.maintenance.reachable_files import (
    detached_version_file,
    manifest_files,
    needed_files,
    stem,
    table_versions,
)
from omnigraph.storage.maintenance.retention import readable_commits
from omnigraph.storage.manifest.definitions import definition_id, definition_key, parse_definition
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
from omnigraph.storage.plain.declared_checks import check_declared, check_required
from omnigraph.storage.plain.plain_table import PREFIX, declaration_of, plain_names
from omnigraph.storage.refs.merge_base import needed_bases
from omnigraph.storage.tables.compare_index import index_problems

T = TypeVar("T")
COMPARED = ("data/", "_deletions/")
"""Files of the manifest that its versions refer to; versions are compared before these, and the
transactions that made them with them."""


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One thing that is not as it should be."""

    where: str
    problem: str

    def to_json(self) -> dict[str, str]:
        return {"where": self.where, "problem": self.problem}


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
    store: GraphStore, *, deep: bool = False, on_progress: Progress | None = None
) -> VerifyReport:
    """Compare rows, heads, commits, files and contents of the newest state.

    `deep` also reads every byte of every file that is needed, and compares it with the digest that
    was taken when it was written.
    """
    view = store.publisher.refresh()
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
    present = {file.path for file in files}
    if deep:
        of_tables = _table_bytes(store, versions, needed_bases(heads, commits), files, on_progress)
        findings += _damage(of_tables)
        checked += of_tables
    in_order = sorted(versions.items(), key=lambda item: item[1][1])
    for number, (version, (pointer, where)) in enumerate(in_order):
        if on_progress:
            on_progress(number, len(in_order))
        findings += _version_findings(store, version, pointer, where, present)
    if not findings and deep:
        findings += _index_findings(store, heads)
    if not findings:
        for head in heads:
            try:
                findings += _content_findings(store, head)
            except OmniGraphError as error:
                findings.append(VerifyFinding(head.branch, error.message))
    return VerifyReport(
        len(heads), len(commits), len(versions), tuple(findings), checked if deep else None
    )


def _manifest_bytes(
    store: GraphStore, view: ManifestView, on_progress: Progress | None
) -> CheckedFiles:
    """The files of the manifest: the versions that are there, then what they refer to."""
    present = list(store.raw.list(MANIFEST))
    checker = FileChecker(store.raw, present, {})
    oldest = view.version - KEPT_VERSIONS
    numbers = {file.path: version_of(file.path) for file in present}
    versions = [path for path, number in numbers.items() if number is not None and number >= oldest]
    checked = checker.check(versions, store.workers, on_progress)
    if checked.damaged:
        return checked
    inner = (path.removeprefix(f"{MANIFEST}/") for path in manifest_files(view))
    stems = {f"{MANIFEST}/{stem(path)}" for path in inner if path.startswith(COMPARED)}
    return checked + checker.check(stems, store.workers, on_progress)


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
    checker = FileChecker(store.raw, present, digests)
    firsts = {file.path for file in present if version_of(file.path) is not None}
    version_files = firsts | set(map(detached_version_file, needed))
    checked = checker.check(version_files, store.workers, on_progress)
    changed = {damage.path for damage in checked.damaged}
    sound = {version for version in needed if detached_version_file(version) not in changed}
    others = needed_files(store, set(), sound, None) - version_files
    return checked + checker.check(others, store.workers, on_progress)


def _index_findings(store: GraphStore, heads: Iterable[Head]) -> Iterator[VerifyFinding]:
    """Indexes of what branches show, against the rows; older ones are known by their bytes."""
    shown = {p.address: f"{h.branch} {key}" for h in heads for key, p in sorted(h.tables.items())}
    for version, where in shown.items():
        try:
            for problem in index_problems(store.tables, version):
                yield VerifyFinding(where, problem)
        except OmniGraphError as error:
            yield VerifyFinding(where, error.message)


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


def _version_findings(
    store: GraphStore, version: TableVersion, pointer: TablePointer, where: str, present: set[str]
) -> Iterator[VerifyFinding]:
    try:
        wanted = sorted(store.tables.files(version))
        missing = [path for path in wanted if not _there(path, present)]
        if missing:
            yield VerifyFinding(where, f"files are missing: {', '.join(missing)}")
        elif (rows := store.tables.count_rows(version)) != pointer.rows:
            yield VerifyFinding(where, f"it has {rows} rows, the manifest says {pointer.rows}")
    except (OmniGraphError, OSError) as error:
        yield VerifyFinding(where, str(error))


def _there(path: str, present: set[str]) -> bool:
    if path in present or f"{path}.lance" in present:
        return True
    return "/_indices/" in path and any(p.startswith(path + "/") for p in present)


def _content_findings(store: GraphStore, head: Head) -> Iterator[VerifyFinding]:
    """The rules of the schema, checked over everything a head shows."""

    def stored(key: str) -> StoredTable:
        pointer = head.tables[key]
        return StoredTable(store.tables, pointer.address, pointer.rows)

    catalog = store.catalog(head.schema)
    for type_ in catalog.types():
        table, where = stored(type_.table_key), f"{head.branch} {type_.table_key}"
        names = store.tables.schema(table.version).names
        if names != table_schema(type_).names:
            yield VerifyFinding(where, f"its columns are {names}")
            return
        twice = duplicate_ids(partial(table.scan, ["id"]), table.rows)
        if len(twice):
            yield VerifyFinding(where, f"id {twice[0].as_py()!r} appears twice")
    require_valid(whole_tables(FinalState(catalog, {}, stored)))
    for name in plain_names(head.tables):
        _check_plain(store, head, name, stored(PREFIX + name))


def _check_plain(store: GraphStore, head: Head, name: str, table: StoredTable) -> None:
    """A plain table keeps what was declared about it."""
    content_hash = head.definitions.get(definition_key("table", name))
    known = store.definition(definition_key("table", name), content_hash) if content_hash else None
    schema = store.tables.schema(table.version)
    required = [field.name for field in schema if not field.nullable]
    if required:
        for rows in table.scan(required):
            check_required(pa.schema([schema.field(column) for column in required]), rows)
    check_declared(name, table, declaration_of(known), None, None)
