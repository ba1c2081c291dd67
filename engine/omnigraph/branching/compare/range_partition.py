"""Rows of two sources brought together by ranges of ids, in memory bounded by one range.

Many rows are written once to the disk of this machine, each into the file of its range. Ranges
come in the order of ids, so that what is sorted within each is sorted overall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.column_pairing import PairedColumns
from omnigraph.common.spilled_rows import SpillingRows, TempFile
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows, with_blobs

ADDRESS = pa.field("_rowaddr", pa.uint64())

RANGE_ROWS = 1 << 20
RANGE_BYTES = 256 << 20
"""How much one range should hold, on both sides together."""
MOST_RANGES = 256
SAMPLES = 128
"""Ids looked at per range to find out where to cut."""


class RangeInput:
    """Rows of one version, in paired columns, that can be read twice: by their ids, and whole."""

    def __init__(
        self, tables: TableStore, paired: PairedColumns, rows: RowSet | None, *, after: bool
    ) -> None:
        self._tables = tables
        self._stored = paired.stored(after=after)
        blobs = [c.name for c in paired.columns if c.type.is_blob and c.name in self._stored]
        self._set = rows and with_blobs(tables, rows, [self._stored[name] for name in blobs])
        self.rows, self.bytes = (self._set.rows, self._set.bytes) if self._set else (0, 0)

    def read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows, with just these columns."""
        if self._set is None:
            return
        names = [self._stored[name] for name in schema.names if name in self._stored]
        addressed = ADDRESS in schema
        for batch in read_rows(self._tables, self._set, names, addresses=addressed):
            columns = [self._column(batch, field) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _column(self, batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
        stored = field.name if field == ADDRESS else self._stored.get(field.name)
        if stored is None:
            return pa.nulls(batch.num_rows, field.type)
        column = batch.column(stored)
        return column if column.type == field.type else column.cast(field.type)


def by_ranges(
    schema: pa.Schema, left: RangeInput, right: RangeInput
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The rows of both sources with ids in one range after the other; few make a single range."""
    rows, size = left.rows + right.rows, left.bytes + right.bytes
    ranges = min(max(-(-rows // RANGE_ROWS), -(-size // RANGE_BYTES), 1), MOST_RANGES)
    if ranges == 1:
        one, other = (pa.Table.from_batches(s.read(schema), schema) for s in (left, right))
        yield one, other
        return
    bounds = _bounds((left, right), rows, ranges)
    sides = [_spill(schema, source, bounds) for source in (left, right)]
    for _ in range(len(bounds) + 1):
        one, other = (side.popleft().table() for side in sides)
        yield one, other


def _bounds(sources: Iterable[RangeInput], rows: int, ranges: int) -> list[str]:
    """Ids at which to cut, ascending, from an even sample of all ids."""
    step = max(rows // (ranges * SAMPLES), 1)
    only_id = pa.schema([pa.field("id", pa.utf8(), nullable=False)])
    sample: list[pa.Array] = []
    seen = 0
    for source in sources:
        for batch in source.read(only_id):
            positions = np.arange(-seen % step, batch.num_rows, step)
            sample.append(batch.column("id").take(pa.array(positions)))
            seen += batch.num_rows
    ids = pa.concat_arrays(sample)
    ids = ids.take(pc.sort_indices(ids))
    cuts = [ids[number * len(ids) // ranges].as_py() for number in range(1, ranges)] if ids else []
    return sorted(set(cuts), key=str.encode)


def _spill(schema: pa.Schema, source: RangeInput, bounds: list[str]) -> deque[SpillingRows]:
    """The rows of a source, those of each range in a file of their own."""
    ranges = deque(SpillingRows(schema, TempFile(schema), 0) for _ in range(len(bounds) + 1))
    for batch in source.read(schema):
        ids = batch.column("id")
        range_of_row = np.zeros(batch.num_rows, np.int64)
        for bound in bounds:
            range_of_row += pc.greater_equal(ids, bound).to_numpy(zero_copy_only=False)
        for number in np.unique(range_of_row).tolist():
            chosen = batch.filter(pa.array(range_of_row == number))
            ranges[number].append(pa.Table.from_batches([chosen]))
    for rows in ranges:
        rows.finish()
    return ranges
