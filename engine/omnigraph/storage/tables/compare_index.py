"""An index against the rows it was built from: never trusted, in memory that does not grow.

A B-tree lists the value and the address of every row. Entries and rows are added up as sets: the
sum of a hash of each is the same exactly when they are the same (up to a chance of one in 2^64), in
whatever order they come. How entries are found is probed with the values of a few rows, and so are
n-grams, which cannot be listed. Other indexes are known by their bytes alone: answers do not depend
on them (docs/design/decisions/0018-search-is-exact-and-in-memory.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.value_hashes import mixed, value_hashes
from omnigraph.storage.core.lance_filter import (
    ColumnContains,
    ColumnIn,
    NotExpressible,
    Predicate,
    lance_filter,
)
from omnigraph.storage.core.read_errors import reading
from omnigraph.storage.core.row_addresses import OFFSETS, Addresses
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.deletion_vectors import Offsets
from omnigraph.storage.tables.tables import TableStore

BATCH_ROWS = 1 << 14
PROBES = 64
"""Rows of each index that are looked up through it."""
CONTAINED = 8
"""How many of them are looked up by a piece of their text, which may be in many rows."""
PIECE = 64
"""How long such a piece is at most."""

LISTED, PROBED = "BTree", ("BTree", "NGram")
"""Kinds of indexes, as Lance calls them."""
ENTRIES = "page_data.lance"
"""The file of a B-tree that has all of its entries, as columns `values` and `ids`."""


@dataclass
class EntrySum:
    """How many entries there are, and what their hashes add up to."""

    entries: int = 0
    total: int = 0

    def add(self, values: pa.Array, addresses: Addresses) -> None:
        """Count values and the addresses of their rows."""
        hashes = mixed(mixed(addresses) ^ value_hashes(values))
        self.entries += len(hashes)
        self.total = (self.total + int(np.sum(hashes, dtype=np.uint64))) % 2**64


@dataclass
class _Rows:
    """The rows that an index should have, and a few of them to look up."""

    sum: EntrySum = field(default_factory=EntrySum)
    sample: list[tuple[Any, int]] = field(default_factory=list)


def index_problems(tables: TableStore, version: TableVersion) -> Iterator[str]:
    """What is wrong with the indexes of a version: one text for each index that differs."""
    handle = tables.handle(version)
    with reading(version, handle.find_damage):
        indexes = handle.dataset.describe_indices()
    live = _LiveRows(tables, version)
    for index in indexes:
        column, kind = index.field_names[0], str(index.index_type)
        for segment in index.segments:
            covered = sorted(set(segment.fragment_ids) & live.fragments)
            if not covered or kind not in PROBED:
                continue
            rows = _stored(tables, version, column, covered)
            entries = rows.sum
            if kind == LISTED:
                with reading(version, handle.find_damage):
                    entries = live.entries(segment.uuid, set(covered))
            if entries != rows.sum:
                yield (
                    f"the index {index.name} has {entries.entries} entries that differ from the "
                    f"{rows.sum.entries} rows it covers"
                )
            elif not _found(tables, version, column, kind, rows.sample):
                yield f"the index {index.name} does not find a row that is there"


class _LiveRows:
    """Which rows of a version are not deleted."""

    def __init__(self, tables: TableStore, version: TableVersion) -> None:
        self._tables, self._version = tables, version
        stats = tables.fragments(version)
        self.fragments = {fragment.id for fragment in stats}
        self._physical = {fragment.id: fragment.physical for fragment in stats}
        self._deleted: dict[int, Offsets] = {}

    def entries(self, uuid: str, covered: set[int]) -> EntrySum:
        """The entries of a B-tree about live rows."""
        result = EntrySum()
        files = self._tables.segment_files(self._version, uuid)
        for file in (each for each in files if each.path.endswith(f"/{ENTRIES}")):
            for batch in self._tables.decoded(file):
                addresses = batch.column("ids").to_numpy()
                hit = self._is_live(addresses, covered)
                result.add(batch.column("values").filter(pa.array(hit)), addresses[hit])
        return result

    def _is_live(self, addresses: Addresses, covered: set[int]) -> npt.NDArray[np.bool_]:
        owners, offsets = addresses >> np.uint64(32), addresses & OFFSETS
        hit = np.zeros(len(addresses), np.bool_)
        for fragment in np.unique(owners).tolist():
            if fragment in covered:
                members = owners == fragment
                hit |= members & (offsets < self._physical[fragment])
                deleted = self._deleted_rows(fragment)
                if len(deleted):
                    hit &= ~(members & np.isin(offsets, deleted))
        return hit

    def _deleted_rows(self, fragment: int) -> Offsets:
        if fragment not in self._deleted:
            self._deleted[fragment] = self._tables.deleted(self._version, fragment)
        return self._deleted[fragment]


def _stored(
    tables: TableStore, version: TableVersion, column: str, fragments: Sequence[int]
) -> _Rows:
    rows = _Rows()
    scan = tables.scan(
        version,
        columns=[column],
        fragments=fragments,
        addresses=True,
        batch_rows=BATCH_ROWS,
        frugal=True,
    )
    for batch in scan:
        values, addresses = batch.column(column), batch.column("_rowaddr").to_numpy()
        rows.sum.add(values, addresses)
        first = pc.index(values.is_valid(), True).as_py()
        if len(rows.sample) < PROBES and first >= 0:
            rows.sample.append((values[first].as_py(), int(addresses[first])))
    return rows


def _found(
    tables: TableStore,
    version: TableVersion,
    column: str,
    kind: str,
    sample: Sequence[tuple[Any, int]],
) -> bool:
    """Whether some rows are found by their values, through the index."""
    schema = tables.schema(version)
    predicates: Iterable[Predicate]
    if not sample:
        return True
    if kind == LISTED:
        predicates = [ColumnIn(column, [value for value, _ in sample])]
    else:
        predicates = [ColumnContains(column, value[:PIECE]) for value, _ in sample[:CONTAINED]]
        sample = sample[:CONTAINED]
    wanted = np.array([address for _, address in sample], np.uint64)
    found = np.zeros(len(wanted), np.bool_)
    for predicate in predicates:
        try:
            condition = lance_filter(predicate, schema)
        except NotExpressible:
            return True
        for batch in tables.scan(
            version, columns=[], condition=condition, addresses=True, frugal=True
        ):
            found |= np.isin(wanted, batch.column("_rowaddr").to_numpy())
    return bool(found.all())
