"""The only door to data tables: open a version, read it, build the next one.

A table version is a detached Lance version: durable and addressable by number, but nobody's HEAD
(architecture §2). Building one changes nothing that a reader can see: nothing needs undoing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment, LanceOperation
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import Corruption, StorageError
from omnigraph.schema.arrow import BLOB_METADATA
from omnigraph.storage.addresses import (
    NO_ADDRESSES,
    Addresses,
    address_condition,
    addresses_of,
    split_by_fragment,
    with_addresses,
    with_offsets,
)
from omnigraph.storage.caches import BoundedCache, rows_key
from omnigraph.storage.folding import choose_fold, tier

HANDLE_CACHE = 512
SMALL_ROWS_CACHE_BYTES = 64 << 20
PROBE_LIMIT = 2000
"""Up to this many ids are looked up one by one through the index; more are joined with a scan."""
SCAN_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class TableVersion:
    """An address of a table version: where, and which Lance version."""

    location: str
    lance: int


@dataclass(frozen=True, slots=True)
class Found:
    """Ids that a table version holds, and the addresses of their rows."""

    ids: pa.StringArray
    addresses: Addresses


NOTHING_FOUND = Found(pa.array([], pa.string()), NO_ADDRESSES)


class Tables:
    """The data tables of one graph in this process; handles and small fragments are cached."""

    def __init__(self, root: str, options: Mapping[str, str], session: Any) -> None:  # noqa: ANN401
        self._root = root
        self._options = dict(options)
        self._session = session
        self._covered: BoundedCache[tuple[str, frozenset[str]], bool] = BoundedCache(HANDLE_CACHE)
        self._handles: BoundedCache[TableVersion, LanceDataset] = BoundedCache(HANDLE_CACHE)
        self._small: BoundedCache[tuple[str, str, str], pa.Table] = BoundedCache(
            SMALL_ROWS_CACHE_BYTES
        )

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
        ordered = np.unique(addresses).tolist()
        try:
            return dataset._take_rows(ordered, columns=list(columns))
        except (OSError, pa.ArrowException) as error:
            raise read_error(version, error) from error

    def locate(self, version: TableVersion, ids: pa.StringArray) -> Found:
        """Which of these (distinct) ids the version holds, and where.

        Small fragments are looked up in memory, the others through the id index, so that the cost
        of a small write does not depend on how many small writes came before it.
        """
        dataset = self.open(version)
        found_ids, found_addresses = [], []
        large: list[LanceFragment] = []
        for fragment in dataset.get_fragments():
            if tier(fragment.physical_rows) is None:
                large.append(fragment)
                continue
            rows = self._small_rows(version, dataset, fragment)
            hit = pc.is_in(rows.column("id"), ids)
            if pc.any(hit).as_py():
                matched = rows.select(["id", "_rowaddr"]).filter(hit)
                found_ids.append(matched.column("id"))
                found_addresses.append(matched.column("_rowaddr"))
        for matched in self._locate_in(version, dataset, large, ids):
            found_ids.append(matched.column("id"))
            found_addresses.append(matched.column("_rowaddr"))
        return Found(one_array(found_ids), addresses_of(found_addresses))

    def _locate_in(
        self,
        version: TableVersion,
        dataset: LanceDataset,
        fragments: list[LanceFragment],
        ids: pa.StringArray,
    ) -> Iterator[pa.Table]:
        if not fragments or not len(ids):
            return
        condition = in_condition("id", ids) if len(ids) <= PROBE_LIMIT else None
        # Whose address it is needs no reading when there is one id: the index alone answers.
        single = ids[0] if len(ids) == 1 else None
        reader = dataset.scanner(
            columns=[] if single is not None else ["id"],
            filter=condition,
            fragments=fragments,
            with_row_address=True,
            batch_size=None if condition else SCAN_ROWS,
        ).to_reader()
        for table in chunks(guarded(reader, version)):
            if single is not None:
                table = table.append_column("id", pa.repeat(single, table.num_rows))
            yield table if condition else table.filter(pc.is_in(table.column("id"), ids))

    def _small_rows(
        self, version: TableVersion, dataset: LanceDataset, fragment: LanceFragment
    ) -> pa.Table:
        """All live rows of a small fragment, with their addresses."""
        key = (version.location, *rows_key(fragment.metadata))
        offsets = self._small.get(key)
        if offsets is None:
            reader = dataset.scanner(
                fragments=[fragment], with_row_address=True, blob_handling="all_binary"
            ).to_reader()
            rows = drain(reader, version)
            offsets = with_offsets(rows)
            self._small.put(key, offsets, offsets.nbytes + 1)
        return with_addresses(offsets, fragment.fragment_id)

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

    def large_fragments(self, version: TableVersion) -> dict[str, int]:
        """Data files of the fragments that are not kept in memory, and their rows."""
        return {
            fragment.data_files()[0].path: fragment.physical_rows
            for fragment in self.open(version).get_fragments()
            if tier(fragment.physical_rows) is None
        }

    def is_covered(self, version: TableVersion, files: Iterable[str]) -> bool:
        """Whether these fragments are known to be covered by the id index, or not worth one."""
        return self._covered.get((version.location, frozenset(files))) is not None

    def set_covered(self, version: TableVersion, files: Iterable[str]) -> None:
        """Remember it; fragments never change, and an index goes from version to version."""
        self._covered.put((version.location, frozenset(files)), True)

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
        marked = rows.cast(_with_blobs(rows.schema, dataset.schema))
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
                updated.append(by_id[fragment_id].delete(address_condition(addresses)))
        new = list(fragments)
        whole: pa.Table | None = None
        if rows is not None:
            carried = [self._carried(base, dataset, by_id[i], gone) for i in folded]
            whole = pa.concat_tables([*carried, rows.select(dataset.schema.names)])
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
            self._remember_shrunk(base.location, by_id[metadata.id], metadata, gone)
        if whole is not None and len(new) == 1 and tier(whole.num_rows) is not None:
            remembered = with_offsets(
                whole.append_column("_rowaddr", pa.array(range(whole.num_rows), pa.uint64()))
            )
            key = (base.location, *rows_key(new[0]))
            self._small.put(key, remembered, remembered.nbytes + 1)
        return result

    def _remember_shrunk(
        self,
        location: str,
        before: LanceFragment,
        after: FragmentMetadata,
        gone: Addresses,
    ) -> None:
        """Keep what is left of a small fragment, so that the next lookup does not read it again."""
        rows = self._small.get((location, *rows_key(before.metadata)))
        if rows is None:
            return
        lost = gone[gone >> np.uint64(32) == after.id] & np.uint64(0xFFFFFFFF)
        going = pc.is_in(rows.column("_rowaddr"), pa.array(lost, pa.uint64()))
        left = rows.filter(pc.invert(going))
        self._small.put((location, *rows_key(after)), left, left.nbytes + 1)

    def _carried(
        self,
        base: TableVersion,
        dataset: LanceDataset,
        fragment: LanceFragment,
        gone: Addresses,
    ) -> pa.Table:
        rows = self._small_rows(base, dataset, fragment)
        lost = pc.is_in(rows.column("_rowaddr"), pa.array(gone, pa.uint64()))
        return rows.filter(pc.invert(lost)).select(dataset.schema.names)

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


def in_condition(column: str, values: pa.Array) -> str:
    """A filter for rows whose text column has one of the values."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values.to_pylist())
    return f"{column} IN ({quoted})"


def chunks(batches: Iterable[pa.RecordBatch], rows: int = SCAN_ROWS) -> Iterator[pa.Table]:
    """Batches put together into tables of about that many rows."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def guarded(reader: pa.RecordBatchReader, version: TableVersion) -> Iterator[pa.RecordBatch]:
    """The batches of a reader, with the store's failures as typed errors."""
    try:
        yield from reader
    except (OSError, pa.ArrowException) as error:
        raise read_error(version, error) from error


def drain(reader: pa.RecordBatchReader, version: TableVersion) -> pa.Table:
    """Everything a reader has left."""
    return pa.Table.from_batches(guarded(reader, version), schema=reader.schema)


def _with_blobs(schema: pa.Schema, stored: pa.Schema) -> pa.Schema:
    """The schema with Blob columns marked as such: a scan gives them back as plain bytes."""
    return pa.schema(
        field.with_metadata(BLOB_METADATA)
        if pa.types.is_large_binary(field.type)
        and isinstance(stored.field(field.name).type, pa.BaseExtensionType)
        else field
        for field in schema
    )


def one_array(parts: Iterable[pa.ChunkedArray]) -> pa.Array:
    """Text columns one after the other, as one array."""
    return pa.chunked_array(
        [c for part in parts for c in part.chunks], pa.string()
    ).combine_chunks()


def read_error(version: TableVersion, error: Exception) -> StorageError:
    if "not found" not in str(error).lower():
        return StorageError(
            f"cannot read {version.location}: {error}",
            hint="Check that the store can be reached; `omnigraph verify` shows what is affected.",
        )
    return Corruption(
        f"a file of {version.location} is missing: {error}",
        hint="Run `omnigraph verify` to see what else is affected.",
        details={"location": version.location, "lance_version": version.lance},
    )


def _write_error(location: str, error: Exception) -> StorageError:
    return StorageError(
        f"cannot write to {location}: {error}",
        hint="Check that the store is writable and has room; nothing was changed.",
        details={"location": location},
    )
