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
from lance.file import LanceFileReader

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
from omnigraph.storage.tables.tables import TableStore

BATCH_ROWS = 1 << 16
PROBES = 64
"""Rows of each index that are looked up through it."""
PIECE = 8
"""How long a piece of a text is that is looked for."""

_Hashes = npt.NDArray[np.uint64]
_WEIGHTS = np.random.default_rng(15).integers(1, 2**63, 4096, np.uint64) | np.uint64(1)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)

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
        hashes = _mixed(_mixed(addresses) ^ _value_hashes(values))
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
        self._masks: dict[int, npt.NDArray[np.bool_]] = {}

    def entries(self, uuid: str, covered: set[int]) -> EntrySum:
        """The entries of a B-tree about live rows."""
        result = EntrySum()
        for path in self._tables.segment_files(self._version, uuid):
            if not path.endswith(f"/{ENTRIES}"):
                continue
            reader = LanceFileReader(path, storage_options=self._tables.options)
            for batch in reader.read_all(batch_size=BATCH_ROWS, batch_readahead=2).to_batches():
                addresses = batch.column("ids").to_numpy()
                hit = self._is_live(addresses, covered)
                result.add(batch.column("values").filter(pa.array(hit)), addresses[hit])
        return result

    def _is_live(self, addresses: Addresses, covered: set[int]) -> npt.NDArray[np.bool_]:
        owners, offsets = addresses >> np.uint64(32), addresses & OFFSETS
        hit = np.zeros(len(addresses), np.bool_)
        for fragment in np.unique(owners).tolist():
            if fragment in covered:
                members = np.flatnonzero(owners == fragment)
                mask = self._mask(fragment)
                at = offsets[members]
                inside = at < len(mask)
                hit[members[inside]] = mask[at[inside]]
        return hit

    def _mask(self, fragment: int) -> npt.NDArray[np.bool_]:
        if fragment not in self._masks:
            mask = np.ones(self._physical[fragment], np.bool_)
            mask[self._tables.deleted(self._version, fragment)] = False
            self._masks[fragment] = mask
        return self._masks[fragment]


def _stored(
    tables: TableStore, version: TableVersion, column: str, fragments: Sequence[int]
) -> _Rows:
    rows = _Rows()
    scan = tables.scan(
        version, columns=[column], fragments=fragments, addresses=True, batch_rows=BATCH_ROWS
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
        predicates = [ColumnContains(column, value[:PIECE]) for value, _ in sample]
    found: set[int] = set()
    for predicate in predicates:
        try:
            condition = lance_filter(predicate, schema)
        except NotExpressible:
            return True
        for batch in tables.scan(version, columns=[], condition=condition, addresses=True):
            found |= set(batch.column("_rowaddr").to_pylist())
    return found >= {address for _, address in sample}


def _value_hashes(values: pa.Array) -> _Hashes:
    """A hash of each value, over all of its bytes; null has its own."""
    texts = values if pa.types.is_string(values.type) else values.cast(pa.string())
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ]
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[first:last].astype(np.uint64)
    starts = (offsets[:-1] - first).astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    places = np.arange(len(data)) - np.repeat(starts, lengths)
    far = (places // len(_WEIGHTS)).astype(np.uint64) * _FACTOR + np.uint64(1)
    weighed = (data + np.uint64(1)) * _WEIGHTS[places % len(_WEIGHTS)] * (far | np.uint64(1))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weighed, dtype=np.uint64)])
    hashes = sums[starts + lengths] - sums[starts] + lengths.astype(np.uint64)
    hashes[~pc.is_valid(texts).to_numpy(zero_copy_only=False)] = _FACTOR
    result: _Hashes = hashes
    return result


def _mixed(numbers: npt.NDArray[Any]) -> _Hashes:
    """The finalizer of SplitMix64: equal sums of mixed numbers are no accident."""
    mixed = numbers.astype(np.uint64) + _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: _Hashes = mixed ^ (mixed >> np.uint64(31))
    return result
