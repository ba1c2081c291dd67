"""Rows of two sources brought together by ranges of ids, in memory bounded by one range.

Many rows are written once to a temporary folder, each into the file of its range. Ranges come in
the order of ids, so that what is sorted within each is sorted overall.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
        yield _gathered(schema, left.read(schema)), _gathered(schema, right.read(schema))
        return
    bounds = _bounds((left, right), rows, ranges)
    with TemporaryDirectory(prefix="omnigraph-") as name:
        folder = Path(name)
        _spill(schema, left, bounds, folder, "left")
        _spill(schema, right, bounds, folder, "right")
        for place in range(len(bounds) + 1):
            yield _spilled(folder, "left", place), _spilled(folder, "right", place)


def _gathered(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, schema=schema)


def _bounds(sources: Iterable[RangeInput], rows: int, ranges: int) -> list[str]:
    """Ids at which to cut, ascending, from an even sample of all ids."""
    step = max(rows // (ranges * SAMPLES), 1)
    only_id = pa.schema([pa.field("id", pa.utf8(), nullable=False)])
    sample: list[pa.Array] = []
    seen = 0
    for source in sources:
        for batch in source.read(only_id):
            places = np.arange(-seen % step, batch.num_rows, step)
            sample.append(batch.column("id").take(pa.array(places)))
            seen += batch.num_rows
    ids = pa.concat_arrays(sample)
    ids = ids.take(pc.sort_indices(ids))
    cuts = [ids[place * len(ids) // ranges].as_py() for place in range(1, ranges)] if ids else []
    return sorted(set(cuts), key=str.encode)


def _spill(
    schema: pa.Schema, source: RangeInput, bounds: list[str], folder: Path, side: str
) -> None:
    with ExitStack() as files:
        writers = [
            files.enter_context(pa.ipc.new_stream(_path(folder, side, place), schema))
            for place in range(len(bounds) + 1)
        ]
        for batch in source.read(schema):
            ids = batch.column("id")
            places = np.zeros(batch.num_rows, np.int64)
            for bound in bounds:
                places += pc.greater_equal(ids, bound).to_numpy(zero_copy_only=False)
            for place in np.unique(places).tolist():
                writers[place].write_batch(batch.filter(pa.array(places == place)))


def _spilled(folder: Path, side: str, place: int) -> pa.Table:
    path = _path(folder, side, place)
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        rows = reader.read_all()
    path.unlink()
    return rows


def _path(folder: Path, side: str, place: int) -> Path:
    return folder / f"{side}-{place}.arrows"
