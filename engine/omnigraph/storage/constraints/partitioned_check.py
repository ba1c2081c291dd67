"""A survey by this process alone: part by part, so that memory does not grow with the rows.

Equal texts belong to the same part, and every question is about equal texts, so the answer for all
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
from omnigraph.storage.tables.tables import TableStore

BLOCK_ROWS = 4 << 20
"""How many rows are looked at together: a set of texts is built anew for each block."""


class PartitionedChecker:
    """Answers the questions of a bulk write (see `surveys`), holding some million texts."""

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

    def first_repeated(self, texts: KeyColumn) -> str | None:
        found = [part.repeated(texts) for part in self._parts(texts)]
        firsts = pa.concat_tables(_lowest(counts, "first") for counts in found)
        least = _lowest(firsts, "first").column("text").to_pylist()
        return least[0] if least else None

    def least_repeated(self, texts: KeyColumn) -> str | None:
        return _least(part.repeated(texts).column("text") for part in self._parts(texts))

    def earlier(self, texts: KeyColumn) -> Addresses:
        return _addresses(part.earlier(texts) for part in self._parts(texts))

    def least_common(self, texts: KeyColumn, others: KeyColumn) -> str | None:
        parts = self._parts(texts, others)
        return _least(part.held(texts, others) for part in parts)

    def common(self, texts: KeyColumn, others: KeyColumn) -> Addresses:
        return _addresses(part.common(texts, others) for part in self._parts(texts, others))

    def least_missing(self, texts: KeyColumn, others: KeyColumn) -> str | None:
        parts = self._parts(texts, others)
        return _least(part.held(texts, others, missing=True) for part in parts)

    def least_above(self, texts: KeyColumn, among: KeyColumn, bound: int) -> str | None:
        parts = self._parts(texts, among)
        return _least(_within(part.above(texts, bound), part.distinct(among)) for part in parts)

    def least_below(
        self, texts: KeyColumn, before: KeyColumn, among: KeyColumn, within: KeyColumn, bound: int
    ) -> str | None:
        return _least(
            _within(part.below(texts, before, among, bound), part.distinct(within))
            for part in self._parts(texts, before, among, within)
        )

    def _parts(self, *asked: KeyColumn) -> Iterator[_Part]:
        most = max(
            sum(piece.rows for piece in key_slices(self._tables, self._root, texts, BLOCK_ROWS))
            for texts in asked
        )
        parts = -(-most // self._part_rows) or 1
        for part in range(parts):
            yield _Part(partial(self._rows, part, parts))

    def _rows(self, part: int, parts: int, texts: KeyColumn) -> Iterator[pa.Table]:
        """The texts of one part and the addresses of their rows, block by block."""
        return chunks(self._batches(part, parts, texts), BLOCK_ROWS)

    def _batches(self, part: int, parts: int, texts: KeyColumn) -> Iterator[pa.RecordBatch]:
        for piece in key_slices(self._tables, self._root, texts, BLOCK_ROWS):
            for batch in read_keys(piece, texts, self._options):
                known = batch.filter(batch.column("text").is_valid())
                mine = part_mask(pa.chunked_array([known.column("text")]), part, parts)
                yield known.filter(mine.combine_chunks())


@dataclass(frozen=True)
class _Part:
    """All rows whose texts belong to one part."""

    rows: Callable[[KeyColumn], Iterator[pa.Table]]

    def counts(self, texts: KeyColumn) -> pa.Table:
        """Every text once: how many rows have it, and the first and the last of them."""
        held = pa.table(
            {
                "text": pa.array([], pa.string()),
                **{name: pa.array([], pa.int64()) for name in ("n", "first", "last")},
            }
        )
        for rows in self.rows(texts):
            text, at = rows.column("text"), rows.column("at")
            ones = pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows)
            each = pa.table({"text": text, "n": ones, "first": at, "last": at})
            grouped = pa.concat_tables([held, each]).group_by("text")
            counted = grouped.aggregate([("n", "sum"), ("first", "min"), ("last", "max")])
            held = counted.select(["text", "n_sum", "first_min", "last_max"]).rename_columns(
                held.column_names
            )
        return held

    def distinct(self, texts: KeyColumn) -> pa.ChunkedArray:
        found = [rows.column("text").unique() for rows in self.rows(texts)]
        return _once(found)

    def held(
        self, texts: KeyColumn, others: KeyColumn, *, missing: bool = False
    ) -> pa.ChunkedArray:
        """The texts that others have, or that they have not."""
        known = self.distinct(others)
        keep = _without if missing else _within
        return _once([keep(rows.column("text"), known).unique() for rows in self.rows(texts)])

    def repeated(self, texts: KeyColumn) -> pa.Table:
        return self.counts(texts).filter(pc.field("n") > 1)

    def above(self, texts: KeyColumn, bound: int) -> pa.ChunkedArray:
        return self.counts(texts).filter(pc.field("n") > bound).column("text")

    def below(
        self, texts: KeyColumn, before: KeyColumn, among: KeyColumn, bound: int
    ) -> pa.ChunkedArray:
        left, had = self.counts(texts), self.counts(before)
        fewer = had.filter(pc.greater(had.column("n"), _counted(had.column("text"), left)))
        touched = _once([*self.distinct(among).chunks, *fewer.column("text").chunks])
        return touched.filter(pc.less(_counted(touched, left), bound))

    def earlier(self, texts: KeyColumn) -> Iterator[pa.ChunkedArray]:
        repeated = self.repeated(texts)
        for rows in self.rows(texts) if repeated.num_rows else ():
            last = _looked_up(rows.column("text"), repeated, "last")
            yield rows.filter(pc.less(rows.column("at"), last)).column("at")

    def common(self, texts: KeyColumn, others: KeyColumn) -> Iterator[pa.ChunkedArray]:
        held = self.distinct(others)
        for rows in self.rows(texts):
            yield rows.filter(pc.is_in(rows.column("text"), held)).column("at")


def _looked_up(texts: pa.ChunkedArray, counts: pa.Table, column: str) -> pa.ChunkedArray:
    """What a table of counts has for some texts; null for those that it has not."""
    return counts.column(column).take(pc.index_in(texts, counts.column("text")))


def _counted(texts: pa.ChunkedArray, counts: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(_looked_up(texts, counts, "n"), 0)


def _once(found: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Every text once."""
    return pa.chunked_array([pa.chunked_array(found, pa.string()).unique()])


def _within(texts: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts.filter(pc.is_in(texts, others))


def _without(texts: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts.filter(pc.invert(pc.is_in(texts, others)))


def _lowest(counts: pa.Table, column: str) -> pa.Table:
    """The row with the smallest number, if there is any."""
    return counts.filter(pc.equal(counts.column(column), pc.min(counts.column(column))))


def _least(found: Iterable[pa.ChunkedArray]) -> str | None:
    least = (pc.min(texts).as_py() for texts in found)
    return min((text for text in least if text is not None), default=None)


def _addresses(found: Iterable[Iterable[pa.ChunkedArray]]) -> Addresses:
    parts = [column.to_numpy() for columns in found for column in columns]
    joined: Addresses = np.concatenate([np.array([], np.int64), *parts]).astype(np.uint64)
    return joined
