"""The only door to data tables: open a version, read it, build the next one.

A table version is a detached Lance version: durable and addressable by number, but nobody's HEAD
(docs/design/decisions/0001-detached-versions.md). Building one changes nothing that a
reader can see: nothing needs undoing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import lance
import numpy as np
import pyarrow as pa
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.dataset import Index
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.common.arrow_alignment import align
from omnigraph.common.arrow_arrays import SCAN_ROWS
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import OmniGraphError, StorageError
from omnigraph.storage.core.compaction_policy import choose_compaction
from omnigraph.storage.core.file_sync import FileSync, files_below
from omnigraph.storage.core.layout import VERSIONS, is_local, version_file
from omnigraph.storage.core.object_store import RawStore, StoredFile
from omnigraph.storage.core.read_errors import (
    Explain,
    damaged,
    is_panic,
    missing,
    read_error,
    reading,
    translating,
    typed_batches,
)
from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    OFFSETS,
    Addresses,
    distinct,
    split_by_fragment,
)
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.data_files import NO_FILES, DataFiles
from omnigraph.storage.tables.decode_file import decoded
from omnigraph.storage.tables.deletion_vectors import Offsets, read_offsets, write_offsets
from omnigraph.storage.tables.digest_names import (
    deletion_file,
    is_damaged_deletion,
    named_deletion,
    named_fragments,
    named_segment,
    version_digest,
)
from omnigraph.storage.tables.fragment_stats import FragmentStats, first_file, stats_of
from omnigraph.storage.tables.key_lookup import LocatedIds, Lookup, without
from omnigraph.storage.tables.lance_writes import with_blobs, writing
from omnigraph.storage.tables.open_table import OpenTable, ScanOptions
from omnigraph.storage.tables.synced_versions import (
    SyncedVersions,
    VersionInDoubt,
    VersionTaken,
    commit_synced,
)

MARKED_BY_LANCE = 256
"""Up to so many rows of a fragment are deleted by a condition that lists them."""
HANDLE_CACHE = 512
SOUND_CACHE = 16384
"""Deletion files that are known to be what was written: each is compared once."""


def new_session(**cache_bytes: int) -> Any:  # noqa: ANN401
    """What the tables and the manifest of one open graph share; only Lance looks inside."""
    return lance.Session(**cache_bytes)


class TableStore:
    """The data tables of one graph in this process; handles and small fragments are cached.

    Whatever it returns is durable: the files it wrote for it survive a power cut.
    """

    def __init__(
        self,
        root: str,
        options: Mapping[str, str],
        session: Any,  # noqa: ANN401
        sync: FileSync | None = None,
    ) -> None:
        self._root = root
        self.sync = sync or FileSync(root)
        self._options = dict(options)
        self._session = session
        self._handles: BoundedCache[TableVersion, OpenTable] = BoundedCache(HANDLE_CACHE)
        self._sound: BoundedCache[tuple[str, str], bool] = BoundedCache(SOUND_CACHE)
        self._lookup = Lookup()
        self._raw = RawStore(root, options)

    @property
    def handle_uses(self) -> tuple[int, int]:
        """How often a version was open already, and how often it had to be opened."""
        return self._handles.hits, self._handles.misses

    # ------------------------------------------------------------------ opening

    def handle(self, version: TableVersion) -> OpenTable:
        """A handle on exactly that version, for the modules of this folder."""
        cached = self._handles.get(version)
        if cached is not None:
            return cached
        dataset = self._sound_dataset(version)
        handle = OpenTable(version, dataset)
        self._handles.put(version, handle)
        return handle

    def _sound_dataset(self, version: TableVersion) -> LanceDataset:
        """The dataset of a version, once its small files are known to be what was written.

        They say which rows there are, and Lance may end the process over a damaged deletion file.
        """
        uri = self._uri(version.location)
        name = f"d{version.lance}.manifest"
        try:
            if version.digest and version_digest(uri, name) not in (version.digest, None):
                raise damaged(version, f"{version.location}/_versions/{name}")
            dataset = self._dataset(version.location, version.lance)
            self._require_sound_deletions(version, dataset)
        except OmniGraphError:
            raise
        except (ValueError, FileNotFoundError) as error:
            problem = f"version {version.lance} of {version.location} is missing"
            raise missing(version, problem) from error
        except OSError as error:
            raise StorageError(f"cannot open {version.location}: {error}") from error
        except BaseException as error:
            if not is_panic(error):
                raise
            raise read_error(version, error) from error
        return dataset

    def _require_sound_deletions(self, version: TableVersion, dataset: LanceDataset) -> None:
        uri = self._uri(version.location)
        for fragment in dataset.get_fragments():
            marked = fragment.metadata.deletion_file
            path = marked.path(fragment.fragment_id) if marked else ""
            if marked is None or self._sound.get((version.location, path)):
                continue
            if is_damaged_deletion(uri, fragment.fragment_id, marked):
                raise damaged(version, f"{version.location}/{path}")
            self._sound.put((version.location, path), True)

    def _dataset(self, location: str, version: int) -> LanceDataset:
        return lance.dataset(
            self._uri(location),
            version=version,
            storage_options=self._options,
            session=self._session,
        )

    def create(self, location: str, schema: pa.Schema) -> TableVersion:
        """A new empty version with that schema, in a location that may hold other lifetimes."""
        anchor = self._anchor(location, schema)
        operation = LanceOperation.Overwrite(schema, [])
        return self._commit(location, anchor, operation, [Path(location, version_file(1))])

    def _anchor(self, location: str, schema: pa.Schema) -> LanceDataset:
        """The location's first, ordinary version, which detached versions are built from."""
        try:
            if is_local(self._root):
                if not Path(self._uri(location), version_file(1)).exists():
                    self._create_on_disk(location, schema)
            else:
                return lance.write_dataset(
                    schema.empty_table(),
                    self._uri(location),
                    mode="create",
                    storage_options=self._options,
                    session=self._session,
                    enable_v2_manifest_paths=True,
                )
        except OSError as error:
            if "exists" not in str(error).lower():
                raise StorageError(
                    f"cannot create {location}: {error}",
                    hint="Check that the store is writable and has room.",
                ) from error
        except VersionInDoubt as error:
            raise error.failure from error
        except VersionTaken:
            pass
        return self._dataset(location, 1)

    def _create_on_disk(self, location: str, schema: pa.Schema) -> None:
        """A first version that is whole as soon as it is there: a later `create` builds on it."""
        commit_synced(
            self._uri(location),
            LanceOperation.Overwrite(schema, []),
            SyncedVersions(self._uri(location), self.sync, first=True),
            enable_v2_manifest_paths=True,
        )

    def _uri(self, location: str) -> str:
        return f"{self._root}/{location}"

    # ------------------------------------------------------------------ facts

    def schema(self, version: TableVersion) -> pa.Schema:
        """The stored columns, with their metadata."""
        return self.handle(version).dataset.schema

    def count_rows(self, version: TableVersion) -> int:
        """How many live rows there are."""
        handle = self.handle(version)
        with reading(version, handle.find_damage):
            return int(handle.dataset.count_rows())

    def fragments(
        self, version: TableVersion, *, since: TableVersion | None = None
    ) -> tuple[FragmentStats, ...]:
        """The fragments, in the order of their rows; with `since`, those that it does not have."""
        found = self.handle(version).dataset.get_fragments()
        if since is not None:
            known = {first_file(f) for f in self.handle(since).dataset.get_fragments()}
            found = [fragment for fragment in found if first_file(fragment) not in known]
        return tuple(stats_of(version.location, fragment) for fragment in found)

    def index_names(self, version: TableVersion) -> set[str]:
        """The indexes, by name: `<column>_<kind>`."""
        return {index.name for index in self.handle(version).dataset.describe_indices()}

    def index_segments(self, version: TableVersion) -> dict[str, list[set[int]]]:
        """The indexes by name: the fragments that each segment covers."""
        return {
            index.name: [set(segment.fragment_ids) for segment in index.segments]
            for index in self.handle(version).dataset.describe_indices()
        }

    def segment_files(self, version: TableVersion, segment: str) -> list[StoredFile]:
        """The files of an index segment; for the modules of this folder."""
        return sorted(self._raw.list(f"{version.location}/_indices/{segment}"))

    def files(self, version: TableVersion) -> set[str]:
        """Everything a version refers to, as `location/folder/stem`."""
        dataset = self.handle(version).dataset
        names = {f"_versions/d{version.lance}.manifest"}
        for fragment in dataset.get_fragments():
            metadata = fragment.metadata
            names |= {f"data/{file.path.removesuffix('.lance')}" for file in metadata.files}
            if metadata.deletion_file is not None:
                names.add(metadata.deletion_file.path(fragment.fragment_id))
        for index in dataset.describe_indices():
            names |= {f"_indices/{segment.uuid}" for segment in index.segments}
        return {f"{version.location}/{name}" for name in names}

    def decoded(self, file: StoredFile) -> Iterator[pa.RecordBatch]:
        """Everything that a Lance file below the root holds; fails if it cannot be read."""
        return decoded(self._root, file, self._options)

    # ------------------------------------------------------------------ reading

    def scan(
        self, version: TableVersion, **options: Unpack[ScanOptions]
    ) -> Iterator[pa.RecordBatch]:
        """Stream rows; a condition that cannot be applied fails at once."""
        return self.handle(version).scan(**options)

    def scan_as(
        self,
        version: TableVersion,
        schema: pa.Schema,
        explain: Explain,
        **options: Unpack[ScanOptions],
    ) -> pa.RecordBatchReader:
        """The same as a stream of exactly that schema, with failures in the caller's terms."""
        with translating(explain):
            batches = self.scan(version, **options)
        return typed_batches(batches, schema, explain)

    def read(self, version: TableVersion, **options: Unpack[ScanOptions]) -> pa.Table:
        """The same as a table, for reads that are known to be small."""
        return self.handle(version).read(**options)

    def take(self, version: TableVersion, addresses: Addresses, columns: Sequence[str]) -> pa.Table:
        """Some columns of the rows at known addresses, in address order."""
        handle = self.handle(version)
        dataset = handle.dataset
        with reading(version, handle.find_damage):
            return dataset._take_rows(distinct(addresses).tolist(), columns=list(columns))

    def locate(self, version: TableVersion, ids: pa.StringArray) -> LocatedIds:
        """Which of these (distinct) ids the version holds, and where."""
        return self._lookup.locate(self.handle(version), ids)

    def matching(
        self, version: TableVersion, column: str, values: pa.StringArray, columns: Sequence[str]
    ) -> pa.Table:
        """Rows whose id or end is one of the values: some of those columns, and addresses."""
        return self._lookup.matching(self.handle(version), column, values, columns)

    def first_where(
        self, version: TableVersion, condition: str, *, since: TableVersion | None = None
    ) -> dict[str, Any] | None:
        """The first row that meets a condition; with `since`, among fragments it does not have."""
        fragments = [fragment.id for fragment in self.fragments(version, since=since)]
        if not fragments:
            return None
        found = self.read(
            version,
            condition=condition,
            fragments=fragments,
            limit=1,
            blobs="blobs_descriptions",
        )
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows[0] if rows else None

    def may_be_uncovered(self, version: TableVersion, column: str) -> bool:
        """Whether looking a few values up may read whole fragments, for all that is known."""
        return self._lookup.uncovered(self.handle(version), column)

    def set_covered(self, version: TableVersion, column: str, fragments: set[int]) -> None:
        """Remember which fragments an index of the column covers."""
        self._lookup.set_covered(self.handle(version), column, fragments)

    def deleted(self, version: TableVersion, fragment_id: int) -> Offsets:
        """The offsets of a fragment's deleted rows, ascending."""
        marked = self.handle(version).dataset.get_fragment(fragment_id).metadata.deletion_file
        if marked is None:
            return np.empty(0, np.uint32)
        path = f"{version.location}/{marked.path(fragment_id)}"
        stored = self._raw.read(path)
        if stored is None:
            raise read_error(version, FileNotFoundError(f"{path} was not found"))
        return read_offsets(stored, marked.file_type)

    # ------------------------------------------------------------------ building the next version

    def write(self, version: TableVersion, rows: pa.Table | pa.RecordBatchReader) -> DataFiles:
        """Write rows as data files that no version refers to yet."""
        files = self._write(version, rows)
        self.sync.sync(self._paths(version.location, files.fragments))
        return files

    def _write(self, version: TableVersion, rows: pa.Table | pa.RecordBatchReader) -> DataFiles:
        """The same, for what is synced together with a version."""
        dataset = self.handle(version).dataset
        marked = align(rows.cast(with_blobs(rows.schema, dataset.schema)))
        with writing(version.location):
            written = write_fragments(marked, dataset, mode="append", max_rows_per_file=SCAN_ROWS)
            return DataFiles(tuple(named_fragments(self._uri(version.location), written)))

    def next(
        self,
        base: TableVersion,
        *,
        rows: pa.Table | None = None,
        files: DataFiles = NO_FILES,
        deleted: Addresses = NO_ADDRESSES,
    ) -> TableVersion:
        """The version after: base without the rows at some addresses, plus new rows.

        New rows come as a table, which is written here, or as files from `write`. A table takes
        full tiers of small fragments with it (see `compaction_policy`).
        """
        handle = self.handle(base)
        by_id = {fragment.fragment_id: fragment for fragment in handle.dataset.get_fragments()}
        compacted = (
            choose_compaction({i: fragment.physical_rows for i, fragment in by_id.items()})
            if rows is not None
            else []
        )
        removed, updated = list(compacted), []
        for fragment_id, addresses in split_by_fragment(deleted):
            if fragment_id in compacted:
                continue
            if len(addresses) == by_id[fragment_id].count_rows():
                removed.append(fragment_id)
            else:
                updated.append(self._shrunk(handle, by_id[fragment_id], addresses))
        written: pa.Table | None = None
        fresh = NO_FILES
        if rows is not None:
            names = handle.dataset.schema.names
            live_rows = (without(self._lookup.rows(handle, by_id[i]), deleted) for i in compacted)
            written = pa.concat_tables(part.select(names) for part in (*live_rows, rows))
            if written.num_rows:
                fresh = self._write(base, written)
        files += fresh
        # Files from `write`, too: another process may have written them that trusts its system.
        unsynced = self._paths(base.location, files.fragments, updated)
        result = self._update(base, removed, updated, files, unsynced)
        for metadata in updated:
            before = by_id[metadata.id].metadata
            self._lookup.remember_shrunk(base.location, before, metadata, deleted)
        if written is not None and len(files.fragments) == 1:
            self._lookup.remember_written(base.location, files.fragments[0], written)
        return result

    def _shrunk(
        self, base: OpenTable, fragment: LanceFragment, addresses: Addresses
    ) -> FragmentMetadata:
        """A fragment without the rows at some addresses, but not without all."""
        if len(addresses) <= MARKED_BY_LANCE:
            with writing(base.version.location):
                shrunk = self._lookup.shrink(base.version, fragment, addresses)
                return named_deletion(self._uri(base.version.location), shrunk)
        deleted = self.deleted(base.version, fragment.fragment_id)
        offsets = distinct(deleted, addresses & OFFSETS).astype(np.uint32)
        contents, file_type = write_offsets(offsets)
        marked = deletion_file(file_type, len(offsets), contents)
        self._raw.write(f"{base.version.location}/{marked.path(fragment.fragment_id)}", contents)
        return replace(fragment.metadata, deletion_file=marked)

    def replace(
        self, base: TableVersion, schema: pa.Schema, files: DataFiles = NO_FILES
    ) -> TableVersion:
        """A version that holds exactly the given files, under the given schema."""
        operation = LanceOperation.Overwrite(schema, list(files.fragments))
        return self.apply(base, operation, self._paths(base.location, files.fragments))

    def compact(self, base: TableVersion, fragments: Sequence[int]) -> TableVersion:
        """A version of the same rows in which those of some fragments are in new, full ones."""
        rows = self.handle(base).reader(fragments=fragments)
        files = self._write(base, rows)
        return self._update(base, fragments, [], files, self._paths(base.location, files.fragments))

    def _update(
        self,
        base: TableVersion,
        removed: Sequence[int],
        updated: Sequence[FragmentMetadata],
        files: DataFiles,
        unsynced: Sequence[Path],
    ) -> TableVersion:
        operation = LanceOperation.Update(
            removed_fragment_ids=list(removed),
            updated_fragments=list(updated),
            new_fragments=list(files.fragments),
            fields_modified=[],
        )
        return self.apply(base, operation, unsynced)

    def named_segment(self, base: TableVersion, built: Index) -> Index:
        """An index segment that was just built, under its final name."""
        with writing(base.location):
            return named_segment(self._uri(base.location), built)

    def apply(
        self,
        base: TableVersion,
        operation: Any,  # noqa: ANN401
        unsynced: Sequence[Path] = (),
    ) -> TableVersion:
        """A version after some Lance operation that needs these files; for this folder."""
        return self._commit(base.location, self.handle(base).dataset, operation, unsynced)

    def _commit(
        self,
        location: str,
        dataset: LanceDataset,
        operation: Any,  # noqa: ANN401
        unsynced: Sequence[Path],
    ) -> TableVersion:
        with writing(location):
            committed = LanceDataset.commit(
                dataset, operation, read_version=dataset.version, detached=True
            )
            digest = version_digest(self._uri(location), f"d{committed.version}.manifest")
        result = TableVersion(location, committed.version, digest)
        self.sync.sync([*unsynced, Path(location, VERSIONS, f"d{result.lance}.manifest")])
        self._handles.put(result, OpenTable(result, committed))
        return result

    def index_paths(self, version: TableVersion, index: str) -> list[Path]:
        """The files of an index that was just built; for the modules of this folder."""
        return files_below(Path(self._root, version.location, "_indices", index))

    def _paths(
        self,
        location: str,
        written: Sequence[FragmentMetadata],
        shrunk: Sequence[FragmentMetadata] = (),
    ) -> list[Path]:
        """The new files of fragments: data with their blobs, and deletion marks."""
        if not self.sync.active:
            return []
        folder = Path(self._root, location)
        data = [folder / "data" / file.path for each in written for file in each.files]
        blobs = [path for file in data for path in files_below(file.with_suffix(""))]
        marks = [folder / each.deletion_file.path(each.id) for each in shrunk if each.deletion_file]
        return [*data, *blobs, *marks]
