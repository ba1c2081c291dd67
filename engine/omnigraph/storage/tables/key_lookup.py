"""Where rows are that have given ids, or edges that have given ends.

Small fragments are looked up in memory, large ones through an index, so that the cost of a small
write does not depend on how many small writes came before it. Lance reads the list of a version's
indexes once per version. A fragment's rows only ever become fewer, so a large fragment is probed
through the first version in which it was, and rows deleted since are filtered out of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance import LanceFragment
from lance.fragment import FragmentMetadata

from omnigraph.common.arrow_arrays import SCAN_ROWS, chunks
from omnigraph.common.arrow_memory import held_bytes, in_one_chunk
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.errors import StorageError
from omnigraph.storage.core.compaction_policy import tier
from omnigraph.storage.core.lance_filter import in_condition
from omnigraph.storage.core.row_addresses import (
    NO_ADDRESSES,
    OFFSETS,
    Addresses,
    address_condition,
    distinct,
    with_addresses,
)
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.deletion_vectors import rows_key
from omnigraph.storage.tables.open_table import OpenTable

CACHED_ROWS_BYTES = 64 << 20
CACHED_PROBES_BYTES = 32 << 20
PROBE_BYTES = 4096
"""About what an open version weighs, besides the addresses cached with it."""
DELETED_LIMIT = 1024
"""After so many deleted rows a fragment is probed through a newer version."""
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
    """The version through which a fragment is probed, and the rows deleted from it since."""

    table: OpenTable
    deleted: Addresses


class Lookup:
    """What this process has cached of the fragments of a graph's tables."""

    def __init__(self) -> None:
        self._rows: BoundedCache[tuple[str, ...], pa.Table] = BoundedCache(CACHED_ROWS_BYTES)
        self._probes: BoundedCache[tuple[str, ...], _Probe] = BoundedCache(CACHED_PROBES_BYTES)
        self._covered: BoundedCache[tuple[str, str, str], bool] = BoundedCache(COVERED_FRAGMENTS)

    # ------------------------------------------------------------------ looking up

    def locate(self, table: OpenTable, ids: pa.StringArray) -> LocatedIds:
        """Which of these (distinct) ids the version holds, and where."""
        near, far = self._apart(table, "id")
        found = list(self._in_memory(table, near, "id", ids))
        located = pa.chunked_array([c for f in found for c in f.column("id").chunks], pa.string())
        rest = ids.filter(pc.invert(pc.is_in(ids, located))) if len(located) else ids
        found += self._in_table(table, far, "id", rest, ["id"])
        rows = _joined(found, ["id"])
        return LocatedIds(rows.column("id").combine_chunks(), rows.column("_rowaddr").to_numpy())

    def matching(
        self, table: OpenTable, column: str, values: pa.StringArray, columns: Sequence[str]
    ) -> pa.Table:
        """Rows whose column has one of the values, with their addresses; only key columns."""
        near, far = self._apart(table, column)
        found = list(self._in_memory(table, near, column, values))
        found += self._in_table(table, far, column, values, columns)
        return _joined(found, columns)

    def _apart(
        self, table: OpenTable, column: str
    ) -> tuple[list[LanceFragment], list[LanceFragment]]:
        """Fragments that are looked up in memory, and those that are not."""
        fragments = table.dataset.get_fragments()
        large = _large(fragments)
        if sum(f.physical_rows for f in large) < PROBED_ROWS:
            return fragments, []
        far = [f for f in large if self._covered.get(_cover_key(table, column, f)) is not False]
        distant = {f.fragment_id for f in far}
        return [f for f in fragments if f.fragment_id not in distant], far

    def _in_memory(
        self,
        table: OpenTable,
        fragments: Iterable[LanceFragment],
        column: str,
        values: pa.StringArray,
    ) -> Iterator[pa.Table]:
        for fragment in fragments:
            rows = self._cached(table, fragment)
            hit = pc.is_in(rows.column(column), values)
            if pc.any(hit).as_py():
                names = [name for name in (*KEYS, "_rowaddr") if name in rows.column_names]
                yield with_addresses(rows.select(names).filter(hit), fragment.fragment_id)

    def _in_table(
        self,
        table: OpenTable,
        fragments: Sequence[LanceFragment],
        column: str,
        values: pa.StringArray,
        columns: Sequence[str],
    ) -> Iterator[pa.Table]:
        if not fragments or not len(values):
            return
        if len(values) > PROBE_LIMIT:
            batches = table.scan(
                columns=list({*columns, column}),
                fragments=_ids(fragments),
                addresses=True,
                batch_rows=SCAN_ROWS,
            )
            for rows in chunks(batches):
                yield rows.filter(pc.is_in(rows.column(column), values))
            return
        for probe, members in self._through(table, fragments, column):
            try:
                found = _probed(probe.table, members, column, values, columns)
            except StorageError:
                if probe.table.version == table.version:
                    raise
                # It was collected since, or its index was: look at the version at hand from now on.
                self._forget(table.version, column, members)
                found = _probed(table, members, column, values, columns)
            yield without(found, probe.deleted) if len(probe.deleted) else found

    def _through(
        self, table: OpenTable, fragments: Iterable[LanceFragment], column: str
    ) -> list[tuple[_Probe, list[LanceFragment]]]:
        """Fragments by the version they are probed through."""
        now = _Probe(table, NO_ADDRESSES)
        groups: dict[TableVersion, list[tuple[_Probe, LanceFragment]]] = {}
        for fragment in fragments:
            key = _probe_key(table.version.location, column, fragment.metadata)
            probe = self._probes.get(key)
            if probe is None:
                probe = now
                if self._covered.get(_cover_key(table, column, fragment)):
                    self._probes.put(key, probe, PROBE_BYTES)
            groups.setdefault(probe.table.version, []).append((probe, fragment))
        return [
            (
                _Probe(members[0][0].table, np.concatenate([p.deleted for p, _ in members])),
                [fragment for _, fragment in members],
            )
            for members in groups.values()
        ]

    def shrink(
        self, version: TableVersion, fragment: LanceFragment, addresses: Addresses
    ) -> FragmentMetadata:
        """A fragment without the rows at some addresses, but not without all.

        Lance would read the fragment's deletion marks to add to them. Those of the version it is
        probed through are known already, and so are the rows deleted since.
        """
        probe = self._probes.get(_probe_key(version.location, "id", fragment.metadata))
        if probe is None or not len(probe.deleted):
            return fragment.delete(address_condition(addresses))
        earlier = probe.table.dataset.get_fragment(fragment.fragment_id)
        try:
            shrunk = earlier.delete(address_condition(distinct(probe.deleted, addresses)))
        except OSError:
            self._forget(version, "id", [fragment])
            return fragment.delete(address_condition(addresses))
        return replace(fragment.metadata, deletion_file=shrunk.deletion_file)

    def _forget(
        self, version: TableVersion, column: str, fragments: Iterable[LanceFragment]
    ) -> None:
        for fragment in fragments:
            metadata = fragment.metadata
            self._covered.drop((version.location, column, metadata.files[0].path))
            self._probes.drop(_probe_key(version.location, column, metadata))

    # ------------------------------------------------------------------ what is indexed

    def uncovered(self, table: OpenTable, column: str) -> bool:
        """Whether large fragments may be there that no index covers; not known yet."""
        large = _large(table.dataset.get_fragments())
        return sum(f.physical_rows for f in large) >= PROBED_ROWS and any(
            self._covered.get(_cover_key(table, column, fragment)) is None for fragment in large
        )

    def set_covered(self, table: OpenTable, column: str, covered: set[int]) -> None:
        """Remember it; fragments never change, and an index goes from version to version."""
        for fragment in _large(table.dataset.get_fragments()):
            key = _cover_key(table, column, fragment)
            self._covered.put(key, fragment.fragment_id in covered)

    # ------------------------------------------------------------------ caching rows

    def rows(self, table: OpenTable, fragment: LanceFragment) -> pa.Table:
        """All live rows of a small fragment, with their addresses."""
        return with_addresses(self._cached(table, fragment), fragment.fragment_id)

    def _cached(self, table: OpenTable, fragment: LanceFragment) -> pa.Table:
        """Live rows with their offsets: whole if the fragment is small, else their keys."""
        key = (table.version.location, *rows_key(fragment.metadata))
        cached = self._rows.get(key)
        if cached is None:
            whole = tier(fragment.physical_rows) is not None
            names = table.dataset.schema.names
            rows = table.read(
                columns=names if whole else [name for name in KEYS if name in names],
                fragments=[fragment.fragment_id],
                addresses=True,
                batch_rows=SCAN_ROWS,
            )
            cached = self._keep(key, with_addresses(rows, 0))
        return cached

    def _keep(self, key: tuple[str, ...], rows: pa.Table) -> pa.Table:
        """Cache rows for what they hold: each would otherwise keep the chunks it was made of."""
        kept = in_one_chunk(rows)
        self._rows.put(key, kept, held_bytes(kept))
        return kept

    def remember_written(self, location: str, written: FragmentMetadata, rows: pa.Table) -> None:
        """Cache the rows of a small fragment that was just written."""
        if tier(rows.num_rows) is not None:
            offsets = pa.array(np.arange(rows.num_rows, dtype=np.uint64))
            self._keep((location, *rows_key(written)), rows.append_column("_rowaddr", offsets))

    def remember_shrunk(
        self, location: str, before: FragmentMetadata, after: FragmentMetadata, deleted: Addresses
    ) -> None:
        """Cache the remaining rows of a fragment, so that the next lookup does not read it."""
        deleted = deleted[deleted >> np.uint64(32) == after.id]
        rows = self._rows.get((location, *rows_key(before)))
        if rows is not None:
            self._keep((location, *rows_key(after)), without(rows, deleted & OFFSETS))
        for column in KEYS:
            probe = self._probes.get(_probe_key(location, column, before))
            if probe is not None and len(probe.deleted) + len(deleted) <= DELETED_LIMIT:
                all_deleted = np.concatenate([probe.deleted, deleted])
                self._probes.put(
                    _probe_key(location, column, after),
                    _Probe(probe.table, all_deleted),
                    PROBE_BYTES + all_deleted.nbytes,
                )


def _large(fragments: Iterable[LanceFragment]) -> list[LanceFragment]:
    return [fragment for fragment in fragments if tier(fragment.physical_rows) is None]


def _ids(fragments: Iterable[LanceFragment]) -> list[int]:
    return [fragment.fragment_id for fragment in fragments]


def _joined(found: Iterable[pa.Table], columns: Sequence[str]) -> pa.Table:
    schema = pa.schema([(name, pa.string()) for name in columns] + [("_rowaddr", pa.uint64())])
    tables = (rows.select(schema.names).cast(schema) for rows in found)
    return pa.concat_tables([schema.empty_table(), *tables])


def _cover_key(table: OpenTable, column: str, fragment: LanceFragment) -> tuple[str, str, str]:
    return table.version.location, column, fragment.metadata.files[0].path


def _probe_key(location: str, column: str, fragment: FragmentMetadata) -> tuple[str, ...]:
    return location, column, str(fragment.id), *rows_key(fragment)


def _probed(
    table: OpenTable,
    fragments: Iterable[LanceFragment],
    column: str,
    values: pa.StringArray,
    columns: Sequence[str],
) -> pa.Table:
    # Whose address it is needs no reading when there is one value: the index alone answers.
    known = column if len(values) == 1 and column in columns else None
    found = table.read(
        columns=[name for name in columns if name != known],
        condition=in_condition(column, values),
        fragments=_ids(fragments),
        addresses=True,
    )
    if known is not None:
        found = found.append_column(known, pa.repeat(values[0], found.num_rows))
    return found


def without(rows: pa.Table, addresses: Addresses) -> pa.Table:
    """Rows that are at none of the addresses."""
    hit = pc.is_in(rows.column("_rowaddr"), pa.array(addresses, pa.uint64()))
    return rows.filter(pc.invert(hit))
