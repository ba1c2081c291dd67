"""A distributed constraint check by this process alone: part by part, in bounded memory.

Equal keys belong to the same part, and every question is about equal keys, so the answer for all
rows follows from the answers of the parts. Each part reads the rows anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import chunks
from omnigraph.storage.constraints.distributed_protocol import KeyColumn, key_slices, read_keys
from omnigraph.storage.constraints.hash_partitions import PARTITION_ROWS, part_mask
from omnigraph.storage.core.row_addresses import Addresses
from omnigraph.storage.tables.table_slices import TableSlice
from omnigraph.storage.tables.tables import TableStore

BLOCK_ROWS = 4 << 20
"""How many rows are looked at together: a set of keys is built anew for each block."""


class PartitionedChecker:
    """Answers the questions of a bulk write (see `distributed_protocol`) with some million keys in
    memory."""

    def __init__(
        self,
        tables: TableStore,
        root: str,
        options: Mapping[str, str],
        part_rows: int = PARTITION_ROWS,
    ) -> None:
        self._tables = tables
        self._root = root
        self._options = options
        self._part_rows = part_rows

    def first_repeated(self, keys: KeyColumn) -> str | None:
        found = [part.repeated(keys) for part in self._parts(keys)]
        firsts = pa.concat_tables(_lowest(counts, "first") for counts in found)
        least = _lowest(firsts, "first").column("text").to_pylist()
        return least[0] if least else None

    def least_repeated(self, keys: KeyColumn) -> str | None:
        return _least(part.repeated(keys).column("text") for part in self._parts(keys))

    def earlier(self, keys: KeyColumn) -> Addresses:
        return _addresses(at for part in self._parts(keys) for at in part.earlier(keys))

    def least_common(self, keys: KeyColumn, others: KeyColumn) -> str | None:
        return _least(rows.column("text") for rows in self._compared(keys, others))

    def common(self, keys: KeyColumn, others: KeyColumn) -> Addresses:
        return _addresses(rows.column("at") for rows in self._compared(keys, others))

    def least_missing(self, keys: KeyColumn, others: KeyColumn) -> str | None:
        compared = self._compared(keys, others, common=False)
        return _least(rows.column("text") for rows in compared)

    def least_above(self, keys: KeyColumn, among: KeyColumn, bound: int) -> str | None:
        parts = self._parts(keys, among)
        return _least(_within(part.above(keys, bound), part.distinct(among)) for part in parts)

    def least_below(
        self, keys: KeyColumn, before: KeyColumn, among: KeyColumn, within: KeyColumn, bound: int
    ) -> str | None:
        return _least(
            _within(part.below(keys, before, among, bound), part.distinct(within))
            for part in self._parts(keys, before, among, within)
        )

    def _parts(self, *columns: KeyColumn) -> Iterator[_Part]:
        most = max(sum(s.rows for s in self._slices(keys)) for keys in columns)
        parts = -(-most // self._part_rows) or 1
        for part in range(parts):
            yield _Part(partial(self._rows, part, parts))

    def _compared(
        self, keys: KeyColumn, others: KeyColumn, *, common: bool = True
    ) -> Iterator[pa.Table]:
        """Rows whose key others have, too, or have not."""
        for part in self._parts(keys, others):
            known = part.distinct(others)
            for rows in part.rows(keys):
                hit = pc.is_in(rows.column("text"), known)
                yield rows.filter(hit if common else pc.invert(hit))

    def _rows(self, part: int, parts: int, keys: KeyColumn) -> Iterator[pa.Table]:
        """The keys of one part and the addresses of their rows, block by block."""
        return chunks(self._batches(part, parts, keys), BLOCK_ROWS)

    def _batches(self, part: int, parts: int, keys: KeyColumn) -> Iterator[pa.RecordBatch]:
        for part_slice in self._slices(keys):
            for batch in read_keys(part_slice, keys, self._options):
                known = batch.filter(batch.column("text").is_valid())
                mine = part_mask(pa.chunked_array([known.column("text")]), part, parts)
                yield known.filter(mine.combine_chunks())

    def _slices(self, keys: KeyColumn) -> list[TableSlice]:
        return key_slices(self._tables, self._root, keys, BLOCK_ROWS)


@dataclass(frozen=True)
class _Part:
    """All rows whose keys belong to one part."""

    rows: Callable[[KeyColumn], Iterator[pa.Table]]

    def counts(self, keys: KeyColumn) -> pa.Table:
        """Every text once: how many rows have it, and the first and the last of them."""
        numbers = [(name, pa.int64()) for name in ("n", "first", "last")]
        counts = pa.schema([("text", pa.string()), *numbers]).empty_table()
        for rows in self.rows(keys):
            text, at = rows.column("text"), rows.column("at")
            ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
            each = pa.table({"text": text, "n": ones, "first": at, "last": at})
            grouped = pa.concat_tables([counts, each]).group_by("text")
            counted = grouped.aggregate([("n", "sum"), ("first", "min"), ("last", "max")])
            columns = counted.select(["text", "n_sum", "first_min", "last_max"])
            counts = columns.rename_columns(counts.column_names)
        return counts

    def distinct(self, keys: KeyColumn) -> pa.ChunkedArray:
        return _once([rows.column("text").unique() for rows in self.rows(keys)])

    def repeated(self, keys: KeyColumn) -> pa.Table:
        return self.counts(keys).filter(pc.field("n") > 1)

    def above(self, keys: KeyColumn, bound: int) -> pa.ChunkedArray:
        return self.counts(keys).filter(pc.field("n") > bound).column("text")

    def below(
        self, keys: KeyColumn, before: KeyColumn, among: KeyColumn, bound: int
    ) -> pa.ChunkedArray:
        now, then = self.counts(keys), self.counts(before)
        fewer = then.filter(pc.greater(then.column("n"), _counted(then.column("text"), now)))
        touched = _once([*self.distinct(among).chunks, *fewer.column("text").chunks])
        return touched.filter(pc.less(_counted(touched, now), bound))

    def earlier(self, keys: KeyColumn) -> Iterator[pa.ChunkedArray]:
        repeated = self.repeated(keys)
        for rows in self.rows(keys) if repeated.num_rows else ():
            last = _looked_up(rows.column("text"), repeated, "last")
            yield rows.filter(pc.less(rows.column("at"), last)).column("at")


def _looked_up(keys: pa.ChunkedArray, counts: pa.Table, column: str) -> pa.ChunkedArray:
    """What a table of counts has for some keys; null for those that it has not."""
    return counts.column(column).take(pc.index_in(keys, counts.column("text")))


def _counted(keys: pa.ChunkedArray, counts: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(_looked_up(keys, counts, "n"), 0)


def _once(found: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Every text once."""
    return pa.chunked_array([pa.chunked_array(found, pa.string()).unique()])


def _within(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return keys.filter(pc.is_in(keys, others))


def _lowest(counts: pa.Table, column: str) -> pa.Table:
    """The row with the smallest number, if there is any."""
    return counts.filter(pc.equal(counts.column(column), pc.min(counts.column(column))))


def _least(found: Iterable[pa.ChunkedArray]) -> str | None:
    least = (pc.min(keys).as_py() for keys in found)
    return min((text for text in least if text is not None), default=None)


def _addresses(found: Iterable[pa.ChunkedArray]) -> Addresses:
    parts = [column.to_numpy() for column in found]
    joined: Addresses = np.concatenate([np.array([], np.int64), *parts]).astype(np.uint64)
    return joined
