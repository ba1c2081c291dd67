"""Where rows are that have given ids, or edges that have given ends.

Small fragments are looked up in memory, large ones through an index, so that the cost of a small
write does not depend on how many small writes came before it. Lance reads the list of a version's
indexes once per version. A fragment's rows only ever become fewer, so a large fragment is probed
through the first version in which it was, and what left it since is taken out of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceDataset, LanceFragment
from lance.fragment import FragmentMetadata

from omnigraph.common.arrow_arrays import SCAN_ROWS, chunks
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import StorageError
from omnigraph.storage.core.compaction_policy import tier
from omnigraph.storage.core.lance_filter import in_condition
from omnigraph.storage.core.read_errors import drain, guarded, read_error
from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    Addresses,
    address_condition,
    distinct,
    with_addresses,
    with_offsets,
)
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.deletion_vectors import rows_key

KEPT_ROWS_BYTES = 64 << 20
KEPT_PROBES_BYTES = 32 << 20
PROBE_BYTES = 4096
"""About what an open version weighs, besides the offsets kept with it."""
GONE_LIMIT = 1024
"""After so many rows have left a fragment it is probed through a newer version."""
COVERED_FRAGMENTS = 1 << 16
PROBED_ROWS = 50_000
"""So many rows without an index cost a small write more than building one does."""
KEYS = ("id", "src", "dst")
"""Columns that rows are looked up by."""


@dataclass(frozen=True, slots=True)
class LocatedIds:
    """Ids that a table version holds, and the addresses of their rows."""

    ids: pa.StringArray
    addresses: Addresses


NOTHING_FOUND = LocatedIds(pa.array([], pa.string()), NO_ADDRESSES)


@dataclass(frozen=True, slots=True)
class _Probe:
    """The version through which a fragment is probed, and the rows that left it since."""

    version: TableVersion
    dataset: LanceDataset
    gone: Addresses


class Lookup:
    """What this process remembers of the fragments of a graph's tables."""

    def __init__(self) -> None:
        self._rows: BoundedCache[tuple[str, ...], pa.Table] = BoundedCache(KEPT_ROWS_BYTES)
        self._probes: BoundedCache[tuple[str, ...], _Probe] = BoundedCache(KEPT_PROBES_BYTES)
        self._covered: BoundedCache[tuple[str, str, str], bool] = BoundedCache(COVERED_FRAGMENTS)

    # ------------------------------------------------------------------ looking up

    def locate(
        self, version: TableVersion, dataset: LanceDataset, ids: pa.StringArray
    ) -> LocatedIds:
        """Which of these (distinct) ids the version holds, and where."""
        near, far = self._apart(version, dataset, "id")
        found = list(self._in_memory(version, dataset, near, "id", ids))
        held = pa.chunked_array([c for f in found for c in f.column("id").chunks], pa.string())
        left = ids.filter(pc.invert(pc.is_in(ids, held))) if len(held) else ids
        found += self._in_table(version, dataset, far, "id", left, ["id"])
        rows = _joined(found, ["id"])
        return LocatedIds(rows.column("id").combine_chunks(), rows.column("_rowaddr").to_numpy())

    def matching(
        self,
        version: TableVersion,
        dataset: LanceDataset,
        column: str,
        values: pa.StringArray,
        columns: Sequence[str],
    ) -> pa.Table:
        """Rows whose column has one of the values, with their addresses; only key columns."""
        near, far = self._apart(version, dataset, column)
        found = list(self._in_memory(version, dataset, near, column, values))
        found += self._in_table(version, dataset, far, column, values, columns)
        return _joined(found, columns)

    def _apart(
        self, version: TableVersion, dataset: LanceDataset, column: str
    ) -> tuple[list[LanceFragment], list[LanceFragment]]:
        """Fragments that are looked up in memory, and those that are not."""
        fragments = dataset.get_fragments()
        large = [f for f in fragments if tier(f.physical_rows) is None]
        if sum(f.physical_rows for f in large) < PROBED_ROWS:
            return fragments, []
        far = [f for f in large if self._covered.get(_cover_key(version, column, f)) is not False]
        distant = {f.fragment_id for f in far}
        return [f for f in fragments if f.fragment_id not in distant], far

    def _in_memory(
        self,
        version: TableVersion,
        dataset: LanceDataset,
        fragments: Iterable[LanceFragment],
        column: str,
        values: pa.StringArray,
    ) -> Iterator[pa.Table]:
        for fragment in fragments:
            rows = self._kept(version, dataset, fragment)
            hit = pc.is_in(rows.column(column), values)
            if pc.any(hit).as_py():
                names = [name for name in (*KEYS, "_rowaddr") if name in rows.column_names]
                yield with_addresses(rows.select(names).filter(hit), fragment.fragment_id)

    def _in_table(
        self,
        version: TableVersion,
        dataset: LanceDataset,
        fragments: Sequence[LanceFragment],
        column: str,
        values: pa.StringArray,
        columns: Sequence[str],
    ) -> Iterator[pa.Table]:
        if not fragments or not len(values):
            return
        if len(values) > PROBE_LIMIT:
            wanted = list({*columns, column})
            reader = _reader(version, dataset, fragments, None, wanted)
            for table in chunks(guarded(reader, version)):
                yield table.filter(pc.is_in(table.column(column), values))
            return
        for probe, members in self._through(version, dataset, fragments, column):
            try:
                found = _probed(probe.version, probe.dataset, members, column, values, columns)
            except StorageError:
                if probe.version == version:
                    raise
                # It was collected since, or its index was: look at the version at hand from now on.
                self._forget(version, column, members)
                found = _probed(version, dataset, members, column, values, columns)
            yield without(found, probe.gone) if len(probe.gone) else found

    def _through(
        self,
        version: TableVersion,
        dataset: LanceDataset,
        fragments: Iterable[LanceFragment],
        column: str,
    ) -> list[tuple[_Probe, list[LanceFragment]]]:
        """Fragments by the version they are probed through."""
        now = _Probe(version, dataset, NO_ADDRESSES)
        groups: dict[TableVersion, list[tuple[_Probe, LanceFragment]]] = {}
        for fragment in fragments:
            key = _probe_key(version.location, column, fragment.fragment_id, fragment.metadata)
            probe = self._probes.get(key)
            if probe is None:
                probe = now
                if self._covered.get(_cover_key(version, column, fragment)):
                    self._probes.put(key, probe, PROBE_BYTES)
            groups.setdefault(probe.version, []).append((probe, fragment))
        return [
            (
                replace(members[0][0], gone=np.concatenate([probe.gone for probe, _ in members])),
                [fragment for _, fragment in members],
            )
            for members in groups.values()
        ]

    def shrink(
        self, version: TableVersion, fragment: LanceFragment, addresses: Addresses
    ) -> FragmentMetadata:
        """A fragment without the rows at some addresses, but not without all.

        Lance would read the fragment's deletion marks to add to them. Those of the version it is
        probed through are known already, and so is what left since.
        """
        key = _probe_key(version.location, "id", fragment.fragment_id, fragment.metadata)
        probe = self._probes.get(key)
        if probe is None or not len(probe.gone):
            return fragment.delete(address_condition(addresses))
        earlier = probe.dataset.get_fragment(fragment.fragment_id)
        try:
            left = earlier.delete(address_condition(distinct(probe.gone, addresses)))
        except OSError:
            self._forget(version, "id", [fragment])
            return fragment.delete(address_condition(addresses))
        return replace(fragment.metadata, deletion_file=left.deletion_file)

    def _forget(
        self, version: TableVersion, column: str, fragments: Iterable[LanceFragment]
    ) -> None:
        for each in fragments:
            self._covered.drop(_cover_key(version, column, each))
            self._probes.drop(_probe_key(version.location, column, each.fragment_id, each.metadata))

    # ------------------------------------------------------------------ what is indexed

    def uncovered(self, version: TableVersion, dataset: LanceDataset, column: str) -> bool:
        """Whether large fragments may be there that no index covers; not known yet."""
        large = [f for f in dataset.get_fragments() if tier(f.physical_rows) is None]
        return sum(f.physical_rows for f in large) >= PROBED_ROWS and any(
            self._covered.get(_cover_key(version, column, fragment)) is None for fragment in large
        )

    def set_covered(
        self, version: TableVersion, dataset: LanceDataset, column: str, covered: set[int]
    ) -> None:
        """Remember it; fragments never change, and an index goes from version to version."""
        for fragment in dataset.get_fragments():
            if tier(fragment.physical_rows) is None:
                key = _cover_key(version, column, fragment)
                self._covered.put(key, fragment.fragment_id in covered)

    # ------------------------------------------------------------------ remembering

    def rows(
        self, version: TableVersion, dataset: LanceDataset, fragment: LanceFragment
    ) -> pa.Table:
        """All live rows of a small fragment, with their addresses."""
        return with_addresses(self._kept(version, dataset, fragment), fragment.fragment_id)

    def _kept(
        self, version: TableVersion, dataset: LanceDataset, fragment: LanceFragment
    ) -> pa.Table:
        """Live rows with their offsets: whole if the fragment is small, else their keys."""
        key = (version.location, *rows_key(fragment.metadata))
        kept = self._rows.get(key)
        if kept is None:
            whole = tier(fragment.physical_rows) is not None
            names = dataset.schema.names
            columns = names if whole else [name for name in KEYS if name in names]
            reader = _reader(version, dataset, [fragment], None, columns)
            kept = with_offsets(drain(reader, version))
            self._rows.put(key, kept, kept.nbytes + 1)
        return kept

    def remember_written(self, location: str, written: FragmentMetadata, rows: pa.Table) -> None:
        """Keep the rows of a small fragment that was just written."""
        if tier(rows.num_rows) is not None:
            offsets = pa.array(np.arange(rows.num_rows, dtype=np.uint64))
            kept = rows.append_column("_rowaddr", offsets)
            self._rows.put((location, *rows_key(written)), kept, kept.nbytes + 1)

    def remember_shrunk(
        self, location: str, before: FragmentMetadata, after: FragmentMetadata, gone: Addresses
    ) -> None:
        """Keep what is left of a fragment, so that the next lookup does not read it again."""
        lost = gone[gone >> np.uint64(32) == after.id]
        rows = self._rows.get((location, *rows_key(before)))
        if rows is not None:
            offsets = pa.array(lost & np.uint64(0xFFFFFFFF), pa.uint64())
            left = rows.filter(pc.invert(pc.is_in(rows.column("_rowaddr"), offsets)))
            self._rows.put((location, *rows_key(after)), left, left.nbytes + 1)
        for column in KEYS:
            probe = self._probes.get(_probe_key(location, column, before.id, before))
            if probe is not None and len(probe.gone) + len(lost) <= GONE_LIMIT:
                all_gone = np.concatenate([probe.gone, lost])
                self._probes.put(
                    _probe_key(location, column, after.id, after),
                    _Probe(probe.version, probe.dataset, all_gone),
                    PROBE_BYTES + all_gone.nbytes,
                )


def _joined(found: Iterable[pa.Table], columns: Sequence[str]) -> pa.Table:
    schema = pa.schema([(name, pa.string()) for name in columns] + [("_rowaddr", pa.uint64())])
    tables = (rows.select(schema.names).cast(schema) for rows in found)
    return pa.concat_tables([schema.empty_table(), *tables])


def _cover_key(version: TableVersion, column: str, fragment: LanceFragment) -> tuple[str, str, str]:
    return version.location, column, fragment.metadata.files[0].path


def _probe_key(
    location: str, column: str, fragment_id: int, fragment: FragmentMetadata
) -> tuple[str, ...]:
    return location, column, str(fragment_id), *rows_key(fragment)


def _reader(
    version: TableVersion,
    dataset: LanceDataset,
    fragments: Iterable[LanceFragment],
    condition: str | None,
    columns: Sequence[str],
) -> pa.RecordBatchReader:
    try:
        return dataset.scanner(
            columns=list(columns),
            filter=condition,
            fragments=list(fragments),
            with_row_address=True,
            batch_size=None if condition else SCAN_ROWS,
            blob_handling="all_binary",
        ).to_reader()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise read_error(version, error) from error


def _probed(
    version: TableVersion,
    dataset: LanceDataset,
    fragments: Iterable[LanceFragment],
    column: str,
    values: pa.StringArray,
    columns: Sequence[str],
) -> pa.Table:
    # Whose address it is needs no reading when there is one value: the index alone answers.
    known = column if len(values) == 1 and column in columns else None
    wanted = [name for name in columns if name != known]
    members = [dataset.get_fragment(fragment.fragment_id) for fragment in fragments]
    reader = _reader(version, dataset, members, in_condition(column, values), wanted)
    found = drain(reader, version)
    if known is not None:
        found = found.append_column(known, pa.repeat(values[0], found.num_rows))
    return found


def without(rows: pa.Table, gone: Addresses) -> pa.Table:
    """Rows that are at none of the addresses."""
    lost = pc.is_in(rows.column("_rowaddr"), pa.array(gone, pa.uint64()))
    return rows.filter(pc.invert(lost))
