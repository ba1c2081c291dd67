"""Columns at addresses where Lance may read them.

Arrow that came over the wire may begin anywhere; Lance aborts when values do not begin at a
multiple of their own size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

WIDE, USUAL = 16, 8


def aligned(rows: pa.Table | pa.RecordBatchReader) -> pa.Table | pa.RecordBatchReader:
    """The same rows; only columns in a wrong place are copied."""
    if isinstance(rows, pa.Table):
        columns = [
            pa.chunked_array([_placed(chunk) for chunk in column.chunks], column.type)
            for column in rows.columns
        ]
        return pa.Table.from_arrays(columns, schema=rows.schema)
    return pa.RecordBatchReader.from_batches(rows.schema, _batches(rows))


def _batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [_placed(column) for column in batch.columns]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _placed(column: pa.Array) -> pa.Array:
    unit = WIDE if _is_wide(column.type) else USUAL
    if all(buffer is None or buffer.address % unit == 0 for buffer in column.buffers()):
        return column
    # Arrow copies when it puts arrays together, and only then.
    return pa.concat_arrays([column, column.slice(0, 0)])


def _is_wide(type_: pa.DataType) -> bool:
    if pa.types.is_decimal(type_) or pa.types.is_interval(type_):
        return True
    return any(_is_wide(type_.field(n).type) for n in range(type_.num_fields))
