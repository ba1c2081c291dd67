"""Rows of two sources brought together by ranges of ids, in memory bounded by one range.

Many rows are written once to the disk of this machine, each into the file of its range. Ranges
come in the order of ids, so that what is sorted within each is sorted overall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.spilled_rows import SpillingRows, TempFile

RANGE_ROWS = 1 << 20
RANGE_BYTES = 256 << 20
"""How much one range should hold, on both sides together."""
MOST_RANGES = 256
SAMPLES = 128
"""Ids looked at per range to find out where to cut."""


class RangeInput(Protocol):
    """Rows that can be read twice: their ids alone, and all of them."""

    rows: int
    bytes: int

    def read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows, with just these columns."""


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
