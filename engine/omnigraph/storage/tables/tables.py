"""The only door to data tables: open a version, read it, build the next one.

A table version is a detached Lance version: durable and addressable by number, but nobody's HEAD
(architecture §2). Building one changes nothing that a reader can see: nothing needs undoing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.fragment import DeletionFile, FragmentMetadata, write_fragments

from omnigraph.common.arrow_alignment import aligned
from omnigraph.common.arrow_arrays import SCAN_ROWS
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import Corruption, StorageError
from omnigraph.schema.model.arrow_schema import BLOB_METADATA
from omnigraph.storage.core.compaction_policy import choose_fold
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.core.read_errors import drain, read_error
from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    OFFSETS,
    Addresses,
    distinct,
    split_by_fragment,
)
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.deletion_vectors import Offsets, read_offsets, write_offsets
from omnigraph.storage.tables.key_lookup import LocatedIds, Lookup, without

MARKED_BY_LANCE = 256
"""Up to so many rows of a fragment are taken out by a condition that lists them."""
HANDLE_CACHE = 512


class TableStore:
    """The data tables of one graph in this process; handles and small fragments are cached."""

    def __init__(self, root: str, options: Mapping[str, str], session: Any) -> None:  # noqa: ANN401
        self._root = root
        self._options = dict(options)
        self._session = session
        self._handles: BoundedCache[TableVersion, LanceDataset] = BoundedCache(HANDLE_CACHE)
        self._lookup = Lookup()
        self._raw = RawStore(root, options)

    @property
    def handle_uses(self) -> tuple[int, int]:
        """How often a version was open already, and how often it had to be opened."""
        return self._handles.hits, self._handles.misses

    # ------------------------------------------------------------------ opening

    def open(self, version: TableVersion) -> LanceDataset:
        """A handle on exactly that version."""
        cached = self._handles.get(version)
        if cached is not None:
            return cached
        try:
            dataset = lance.dataset(
                self._uri(version.location),
                version=version.lance,
                storage_options=self._options,
                session=self._session,
            )
        except (ValueError, FileNotFoundError) as error:
            raise Corruption(
                f"version {version.lance} of {version.location} is missing",
                hint="Run `omnigraph verify` to see what else is affected.",
                details={"location": version.location, "lance_version": version.lance},
            ) from error
        except OSError as error:
            raise StorageError(f"cannot open {version.location}: {error}") from error
        self._handles.put(version, dataset)
        return dataset

    def create(self, location: str, schema: pa.Schema) -> TableVersion:
        """A new empty version with that schema, in a location that may hold other lifetimes."""
        anchor = self._anchor(location, schema)
        return self._commit(location, anchor, LanceOperation.Overwrite(schema, []))

    def _anchor(self, location: str, schema: pa.Schema) -> LanceDataset:
        """The location's first, ordinary version, which detached versions are built from."""
        uri = self._uri(location)
        try:
            return lance.write_dataset(
                schema.empty_table(),
                uri,
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
            return lance.dataset(
                uri, version=1, storage_options=self._options, session=self._session
            )

    def _uri(self, location: str) -> str:
        return f"{self._root}/{location}"

    # ------------------------------------------------------------------ reading

    def scan(
        self,
        version: TableVersion,
        *,
        columns: Sequence[str] | Mapping[str, str] | None = None,
        condition: str | None = None,
        addresses: bool = False,
        limit: int | None = None,
        order_by: Sequence[str] | None = None,
        batch_rows: int | None = None,
    ) -> pa.RecordBatchReader:
        """Stream rows; columns and condition are pushed into Lance."""
        dataset = self.open(version)
        try:
            return dataset.scanner(
                columns=dict(columns) if isinstance(columns, Mapping) else columns,
                filter=condition,
                with_row_address=addresses,
                limit=limit,
                order_by=list(order_by) if order_by else None,
                batch_size=batch_rows,
                blob_handling="all_binary",
                scan_in_order=True,
            ).to_reader()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise read_error(version, error) from error

    def read(
        self,
        version: TableVersion,
        *,
        columns: Sequence[str] | None = None,
        condition: str | None = None,
        addresses: bool = False,
    ) -> pa.Table:
        """The same, as a table; for reads that are known to be small."""
        reader = self.scan(version, columns=columns, condition=condition, addresses=addresses)
        return drain(reader, version)

    def take(self, version: TableVersion, addresses: Addresses, columns: Sequence[str]) -> pa.Table:
        """Some columns of the rows at known addresses, in address order."""
        dataset = self.open(version)
        ordered = distinct(addresses).tolist()
        try:
            return dataset._take_rows(ordered, columns=list(columns))
        except (OSError, pa.ArrowException) as error:
            raise read_error(version, error) from error

    def locate(self, version: TableVersion, ids: pa.StringArray) -> LocatedIds:
        """Which of these (distinct) ids the version holds, and where."""
        return self._lookup.locate(version, self.open(version), ids)

    def matching(
        self, version: TableVersion, column: str, values: pa.StringArray, columns: Sequence[str]
    ) -> pa.Table:
        """Rows whose id or end is one of the values: some of those columns, and addresses."""
        return self._lookup.matching(version, self.open(version), column, values, columns)

    def first_where(
        self, version: TableVersion, condition: str, *, since: TableVersion | None = None
    ) -> dict[str, Any] | None:
        """The first row that meets a condition; with `since`, among fragments it does not have."""
        dataset = self.open(version)
        known = {f.data_files()[0].path for f in self.open(since).get_fragments()} if since else ()
        fragments = [f for f in dataset.get_fragments() if f.data_files()[0].path not in known]
        if not fragments:
            return None
        try:
            found = dataset.scanner(filter=condition, fragments=fragments, limit=1).to_table()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise read_error(version, error) from error
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows[0] if rows else None

    def may_be_uncovered(self, version: TableVersion, column: str) -> bool:
        """Whether looking a few values up may read whole fragments, for all that is known."""
        return self._lookup.uncovered(version, self.open(version), column)

    def set_covered(self, version: TableVersion, column: str, fragments: set[int]) -> None:
        """Remember which fragments an index of the column covers."""
        self._lookup.set_covered(version, self.open(version), column, fragments)

    def deleted(self, version: TableVersion, fragment: LanceFragment) -> Offsets:
        """The offsets of a fragment's deleted rows, ascending."""
        marked = fragment.metadata.deletion_file
        if marked is None:
            return np.empty(0, np.uint32)
        path = f"{version.location}/{marked.path(fragment.fragment_id)}"
        stored = self._raw.read(path)
        if stored is None:
            raise read_error(version, FileNotFoundError(f"{path} was not found"))
        return read_offsets(stored, marked.file_type)

    def files(self, version: TableVersion) -> set[str]:
        """Everything a version refers to, as `location/folder/stem`."""
        dataset = self.open(version)
        names = {f"_versions/d{version.lance}.manifest"}
        for fragment in dataset.get_fragments():
            metadata = fragment.metadata
            names |= {f"data/{file.path.removesuffix('.lance')}" for file in metadata.files}
            if metadata.deletion_file is not None:
                names.add(metadata.deletion_file.path(fragment.fragment_id))
        for index in dataset.describe_indices():
            names |= {f"_indices/{segment.uuid}" for segment in index.segments}
        return {f"{version.location}/{name}" for name in names}

    # ------------------------------------------------------------------ building the next version

    def write(
        self, version: TableVersion, rows: pa.Table | pa.RecordBatchReader
    ) -> list[FragmentMetadata]:
        """Write rows as data files that no version refers to yet."""
        dataset = self.open(version)
        marked = aligned(rows.cast(_with_blobs(rows.schema, dataset.schema)))
        try:
            written: list[FragmentMetadata] = write_fragments(
                marked, dataset, mode="append", max_rows_per_file=SCAN_ROWS
            )
        except OSError as error:
            raise _write_error(version.location, error) from error
        return written

    def next(
        self,
        base: TableVersion,
        *,
        rows: pa.Table | None = None,
        fragments: Sequence[FragmentMetadata] = (),
        gone: Addresses = NO_ADDRESSES,
    ) -> TableVersion:
        """The version after: base without the rows at some addresses, plus new rows.

        New rows come as a table, which is written here, or as fragments from `write`. A table
        takes full tiers of small fragments with it (see `folding`).
        """
        dataset = self.open(base)
        by_id = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
        folded = (
            choose_fold({i: fragment.physical_rows for i, fragment in by_id.items()})
            if rows is not None
            else []
        )
        removed, updated = list(folded), []
        for fragment_id, addresses in split_by_fragment(gone):
            if fragment_id in folded:
                continue
            if len(addresses) == by_id[fragment_id].count_rows():
                removed.append(fragment_id)
            else:
                updated.append(self._shrunk(base, by_id[fragment_id], addresses))
        new = list(fragments)
        whole: pa.Table | None = None
        if rows is not None:
            names = dataset.schema.names
            carried = (self._lookup.rows(base, dataset, by_id[i]) for i in folded)
            whole = pa.concat_tables(
                [*(without(kept, gone).select(names) for kept in carried), rows.select(names)]
            )
            if whole.num_rows:
                new += self.write(base, whole)
        operation = LanceOperation.Update(
            removed_fragment_ids=removed,
            updated_fragments=updated,
            new_fragments=new,
            fields_modified=[],
        )
        result = self._commit(base.location, dataset, operation)
        for metadata in updated:
            self._lookup.remember_shrunk(base.location, by_id[metadata.id].metadata, metadata, gone)
        if whole is not None and len(new) == 1:
            self._lookup.remember_written(base.location, new[0], whole)
        return result

    def _shrunk(
        self, base: TableVersion, fragment: LanceFragment, addresses: Addresses
    ) -> FragmentMetadata:
        """A fragment without the rows at some addresses, but not without all."""
        if len(addresses) <= MARKED_BY_LANCE:
            return self._lookup.shrink(base, fragment, addresses)
        gone = distinct(self.deleted(base, fragment), addresses & OFFSETS).astype(np.uint32)
        contents, file_type = write_offsets(gone)
        unique = secrets.randbits(63)
        marked = DeletionFile(self.open(base).version, unique, file_type, len(gone), None)
        self._raw.write(f"{base.location}/{marked.path(fragment.fragment_id)}", contents)
        return replace(fragment.metadata, deletion_file=marked)

    def replace(
        self, base: TableVersion, schema: pa.Schema, fragments: Sequence[FragmentMetadata]
    ) -> TableVersion:
        """A version that holds exactly the given fragments, under the given schema."""
        operation = LanceOperation.Overwrite(schema, list(fragments))
        return self._commit(base.location, self.open(base), operation)

    def rewrite(
        self, base: TableVersion, fragments: Sequence[int], rows: pa.RecordBatchReader
    ) -> TableVersion:
        """A version in which the rows of some fragments, given again, are in new ones."""
        operation = LanceOperation.Update(
            removed_fragment_ids=list(fragments),
            updated_fragments=[],
            new_fragments=self.write(base, rows),
            fields_modified=[],
        )
        return self._commit(base.location, self.open(base), operation)

    def apply(self, base: TableVersion, operation: Any) -> TableVersion:  # noqa: ANN401
        """A version after some other Lance operation (compaction, index)."""
        return self._commit(base.location, self.open(base), operation)

    def _commit(self, location: str, dataset: LanceDataset, operation: Any) -> TableVersion:  # noqa: ANN401
        try:
            committed = LanceDataset.commit(
                dataset, operation, read_version=dataset.version, detached=True
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise _write_error(location, error) from error
        result = TableVersion(location, committed.version)
        self._handles.put(result, committed)
        return result


# --------------------------------------------------------------------------- pure parts


def _with_blobs(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """The schema with Blob columns marked as such: a scan gives them back as plain bytes."""
    return pa.schema(
        field.with_metadata(BLOB_METADATA)
        if pa.types.is_large_binary(field.type)
        and isinstance(stored.field(field.name).type, pa.BaseExtensionType)
        else field
        for field in schema
    )


def _write_error(location: str, error: Exception) -> StorageError:
    return StorageError(
        f"cannot write to {location}: {error}",
        hint="Check that the store is writable and has room; nothing was changed.",
        details={"location": location},
    )
