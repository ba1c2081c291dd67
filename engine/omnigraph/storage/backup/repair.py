"""Put single files of a graph back from its backup.

Files never change, so one that differs from what the backup recorded about it is damaged. It is
replaced if the backup's own copy is still what was recorded. The manifest is looked at first, byte
by byte and without opening it; then the versions of tables, then what those refer to: nothing is
parsed that the backup could have put right.

Ordinary versions are the exception: their names are numbers, which two graphs give out alike once
one of them was restored from an older backup of the other. They are left alone when the graph lacks
commits of the backup, or has the mark of another version of that number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.common.progress import Progress
from omnigraph.errors import Conflict, Corruption, OmniGraphError
from omnigraph.storage.backup.backup import records_of
from omnigraph.storage.backup.copy_files import DamagedFiles, copy_file, differing, list_graph
from omnigraph.storage.backup.copy_moment import genesis, newest_version
from omnigraph.storage.backup.file_records import FileRecord, Records
from omnigraph.storage.backup.moment_files import (
    MomentGone,
    NeededVersions,
    stem_of,
    versions_of,
)
from omnigraph.storage.backup.write_file import sync_files
from omnigraph.storage.core.durability import resolve_durability
from omnigraph.storage.core.failpoints import AFTER_REPAIR, failpoint
from omnigraph.storage.core.file_sync import FileSync
from omnigraph.storage.core.layout import MANIFEST, VERSIONS, normalize_root, version_of
from omnigraph.storage.core.object_store import RawStore, storage_options
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import (
    detached_version_file,
    marked_file,
    table_location,
)
from omnigraph.storage.maintenance.verify import verify
from omnigraph.storage.manifest.read_damage import parsed
from omnigraph.storage.manifest.version_files import files_of_newest


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """Something that is still not as it should be."""

    where: str
    problem: str


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair looked at and put back."""

    checked_files: int
    """Files that the backup has, compared byte by byte."""
    repaired: tuple[str, ...]
    unrepaired: tuple[Unrepaired, ...]
    """Files that are damaged in the backup, too, and what a verification finds afterwards."""

    @property
    def ok(self) -> bool:
        return not self.unrepaired

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "checked_files": self.checked_files,
            "repaired": list(self.repaired),
            "unrepaired": [asdict(each) for each in self.unrepaired],
        }


def repair(
    uri: str | Path,
    backup_uri: str | Path,
    *,
    options: Mapping[str, str] | None = None,
    backup_options: Mapping[str, str] | None = None,
    durability: str | None = None,
    on_progress: Progress | None = None,
) -> RepairReport:
    """Replace files of a graph that are missing or damaged by the copies that its backup has.

    Files that are as they were backed up, and files that are newer than the backup, are left alone.
    Run it again after a kill: each file is replaced at once or not at all.
    """
    root = normalize_root(uri)
    resolved = storage_options(options)
    backup = RawStore(normalize_root(backup_uri), storage_options(backup_options))
    graph, records = records_of(backup)
    sync = FileSync(root, resolve_durability(durability))
    run = _Repair(RawStore(root, resolved, sync), backup, records, on_progress)
    run.require_common_files()
    kept = _commits(backup.root, backup_options)
    found = _commits(root, options)
    run.check_manifest(resolved, same_history=not (kept and found) or kept <= found)
    try:
        store = GraphStore.open(uri, options=options)
        view = store.publisher.refresh()
        if genesis(store, view) != graph:
            raise _another_graph(root, backup.root)
        run.check_tables(store, versions_of(store, view))
        # With nothing in memory that was read before.
        verified = verify(GraphStore.open(uri, options=options), deep=True, on_progress=on_progress)
        left = [Unrepaired(finding.where, finding.problem) for finding in verified.findings]
    except Conflict:
        raise
    except OmniGraphError as error:
        left = [Unrepaired(root, error.message)]
    except MomentGone as error:
        left = [Unrepaired(MANIFEST, str(error))]
    left += _lacking(kept, _commits(root, options), backup.root)
    reported = {each.where for each in run.unrepaired}
    left = [each for each in left if each.where not in reported]
    return RepairReport(run.checked, tuple(run.repaired), (*run.unrepaired, *left))


def _commits(root: str, options: Mapping[str, str] | None) -> frozenset[str]:
    """All that a graph or a backup has; none when it cannot be read."""
    try:
        with parsed(root):
            store = GraphStore.open(root, options=options)
            return frozenset(store.manifest.parents(store.publisher.refresh()))
    except (OmniGraphError, OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return frozenset()


def _lacking(kept: frozenset[str], found: frozenset[str], backup: str) -> Iterator[Unrepaired]:
    """What the graph should have, or cannot be known to have."""
    if not kept:
        yield Unrepaired(backup, "the backup itself cannot be read: use another one")
    elif found and kept - found:
        yield Unrepaired(
            MANIFEST,
            f"{len(kept - found)} commits of the backup are not in the graph: it was restored from "
            "an older one, or lost its newest version; compare it with a restored backup",
        )


class _Repair:
    """One run: what it looked at so far, and what became of it."""

    def __init__(
        self, graph: RawStore, backup: RawStore, records: Records, on_progress: Progress | None
    ) -> None:
        self._graph = graph
        self._backup = backup
        self._records = records
        self._on_progress = on_progress
        self._present = {file.path for file in list_graph(graph)}
        self._seen: set[str] = set()
        self.repaired: list[str] = []
        self.unrepaired: list[Unrepaired] = []

    @property
    def checked(self) -> int:
        return len(self._seen)

    def require_common_files(self) -> None:
        """Refuse a backup of another graph, also when the manifest cannot be read: names are drawn
        at random, and a graph and its backup share some."""
        drawn = (path for path in self._records if f"/{VERSIONS}/" not in path)
        if not any(path in self._present for path in drawn):
            raise _another_graph(self._graph.root, self._backup.root)

    def check_manifest(self, options: Mapping[str, str], *, same_history: bool) -> None:
        """Put right the versions that are listed, then what the newest one refers to.

        A version is never added where there are others: the graph may be meant to be older than
        its backup.
        """
        if not same_history:
            self._records = {p: r for p, r in self._records.items() if not version_of(p)}
        known = {path for path in self._records if version_of(path) and _in_manifest(path)}
        newest = newest_version(known)
        if newest and newest_version(self._present) is None:
            self.check({newest})
        self.check(known & self._present)
        try:
            self.check(files_of_newest(self._graph.root, options))
        except Corruption as error:
            # Opening it next says the same.
            self.unrepaired.append(Unrepaired(self._graph.root, error.message))

    def check_tables(self, store: GraphStore, versions: NeededVersions) -> None:
        """Put right the version files of tables, then everything that they refer to."""
        wanted = versions.readable | versions.bases
        mine = [path for path in self._records if table_location(path) in versions.locations]
        # Deletion files that are damaged, among others, keep a version from being opened.
        self.check(detached_version_file(version) for version in wanted)
        self.check(path for path in mine if version_of(path) or path in self._present)
        stems: set[str] = set()
        for version in sorted(wanted, key=lambda v: (v.location, v.lance)):
            stems |= self._files(store, version)
        self.check(path for path in mine if stem_of(path) in stems)

    def _files(self, store: GraphStore, version: TableVersion) -> set[str]:
        try:
            return store.tables.files(version)
        except OmniGraphError:
            return set()  # the verification says so, if it matters

    def check(self, paths: Iterable[str]) -> None:
        """Compare files with what the backup recorded, and replace those that differ."""
        fresh = {path for path in paths if path in self._records} - self._seen
        self._seen |= fresh
        known = [self._records[path] for path in sorted(fresh)]
        for record in differing(self._graph, known, self._on_progress):
            if self._is_of_another_history(record.path):
                self._leave(record, "it is not the version that the backup has of that number")
            else:
                self._replace(record)

    def _is_of_another_history(self, path: str) -> bool:
        """Whether the marks of an ordinary version say that the backup's is another one."""
        here, there = (
            {mark for mark in paths if marked_file(mark) == path}
            for paths in (self._present, self._records)
        )
        return version_of(path) is not None and bool(here and there) and here.isdisjoint(there)

    def _replace(self, record: FileRecord) -> None:
        try:
            copy_file(self._backup, self._graph, record.path, record)
        except MomentGone:
            self._leave(record, "damaged, and missing in the backup")
        except DamagedFiles:
            self._leave(record, "damaged, and in the backup, too")
        else:
            sync_files(self._graph, [record.path])
            self._present.add(record.path)
            self.repaired.append(record.path)
            failpoint(AFTER_REPAIR)

    def _leave(self, record: FileRecord, problem: str) -> None:
        self.unrepaired.append(Unrepaired(record.path, problem))


def _in_manifest(path: str) -> bool:
    return path.startswith(f"{MANIFEST}/")


def _another_graph(root: str, backup: str) -> Conflict:
    return Conflict(
        f"{backup} is not a backup of the graph at {root}",
        hint="Name the backup that was made of this graph.",
    )
