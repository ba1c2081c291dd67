"""Put single files of a graph back from its backup.

Files never change, so one that differs from what the backup recorded about it is damaged. It is
replaced if the backup's own copy is still what was recorded. The manifest is looked at first, byte
by byte and without opening it; then the versions of tables, then what those refer to: nothing is
parsed that the backup could have put right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from omnigraph.common.progress import Progress
from omnigraph.errors import Conflict, Corruption, InvalidInput, OmniGraphError
from omnigraph.storage.backup.backup import RECORDS
from omnigraph.storage.backup.copy_files import COPIED_AT_ONCE, copy_file, list_graph
from omnigraph.storage.backup.copy_moment import genesis
from omnigraph.storage.backup.file_records import (
    FileRecord,
    RecordFolder,
    Records,
    digest_of_pieces,
)
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
from omnigraph.storage.maintenance.verify import verify
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
    folder = RecordFolder(backup, RECORDS)
    graph = folder.graph()
    if graph is None:
        raise InvalidInput(
            f"{backup.root} is not a backup", hint="Make one with `omnigraph backup SRC DST`."
        )
    sync = FileSync(root, resolve_durability(durability))
    run = _Repair(RawStore(root, resolved, sync), backup, folder.read(), on_progress)
    run.require_common_files()
    run.check_manifest(root, resolved)
    try:
        store = GraphStore.open(uri, options=options)
        view = store.publisher.refresh()
        if genesis(store, view) != graph:
            raise _another_graph(root, backup.root)
        run.check_tables(store, versions_of(store, view))
        # With nothing in memory that was read before.
        found = verify(GraphStore.open(uri, options=options), on_progress=on_progress).findings
        unrepaired = [Unrepaired(finding.where, finding.problem) for finding in found]
    except Conflict:
        raise
    except OmniGraphError as error:
        unrepaired = [Unrepaired(root, error.message)]
    except MomentGone as error:
        unrepaired = [Unrepaired(MANIFEST, str(error))]
    return RepairReport(run.checked, tuple(run.repaired), (*run.unrepaired, *unrepaired))


class _Repair:
    """One run: what it looked at so far, and what became of it."""

    def __init__(
        self, graph: RawStore, backup: RawStore, records: Records, on_progress: Progress | None
    ) -> None:
        self._graph = graph
        self._backup = backup
        self._records = records
        self._on_progress = on_progress
        self._present = {file.path: file.size for file in list_graph(graph)}
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

    def check_manifest(self, root: str, options: Mapping[str, str]) -> None:
        """Put right the versions that are listed, then what the newest one refers to.

        A version is never added where there are others: the graph may be meant to be older than
        its backup.
        """
        own = {path for path in self._present if version_of(path) and _in_manifest(path)}
        known = {path for path in self._records if version_of(path) and _in_manifest(path)}
        self.check(own & known if own else {min(known)} if known else ())
        try:
            self.check(files_of_newest(root, options))
        except (OSError, ValueError) as error:
            # Opening it next says the same as a typed error.
            self.unrepaired.append(Unrepaired(MANIFEST, f"its newest version is damaged: {error}"))

    def check_tables(self, store: GraphStore, versions: NeededVersions) -> None:
        """Put right the version files of tables, then everything that they refer to."""
        wanted = versions.readable | versions.bases
        self.check(f"{v.location}/{VERSIONS}/d{v.lance}.manifest" for v in wanted)
        of_tables = [path for path in self._records if not _in_manifest(path)]
        self.check(path for path in of_tables if version_of(path))
        # A version with a damaged deletion file cannot be opened to ask what it refers to.
        self.check(p for p in of_tables if "/_deletions/" in p and p in self._present)
        stems: set[str] = set()
        for version in sorted(wanted, key=lambda v: (v.location, v.lance)):
            stems |= self._files(store, version)
        self.check(path for path in of_tables if stem_of(path) in stems)

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
        with ThreadPoolExecutor(COPIED_AT_ONCE, thread_name_prefix="omnigraph-repair") as pool:
            for done, (record, intact) in enumerate(
                zip(known, pool.map(self._intact, known), strict=True), 1
            ):
                if not intact:
                    self._replace(record)
                if self._on_progress:
                    self._on_progress(done, len(known))

    def _intact(self, record: FileRecord) -> bool:
        if self._present.get(record.path) != record.size:
            return False
        pieces = self._graph.stream(record.path)
        return pieces is not None and digest_of_pieces(pieces) == (record.size, record.digest)

    def _replace(self, record: FileRecord) -> None:
        try:
            copy_file(self._backup, self._graph, record.path, record)
        except MomentGone:
            self.unrepaired.append(Unrepaired(record.path, "damaged, and missing in the backup"))
        except Corruption:
            self.unrepaired.append(Unrepaired(record.path, "damaged, and in the backup, too"))
        else:
            sync_files(self._graph, [record.path])
            self._present[record.path] = record.size
            self.repaired.append(record.path)
            failpoint(AFTER_REPAIR)


def _in_manifest(path: str) -> bool:
    return path.startswith(f"{MANIFEST}/")


def _another_graph(root: str, backup: str) -> Conflict:
    return Conflict(
        f"{backup} is not a backup of the graph at {root}",
        hint="Name the backup that was made of this graph.",
    )
