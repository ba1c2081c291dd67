"""Columns at addresses where Lance, DataFusion and Arrow may read them.

Arrow that came over the wire may begin anywhere; Lance aborts when values do not begin at a
multiple of their own size.
"""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

WIDE, USUAL = 16, 8

Aligned = TypeVar("Aligned", pa.Table, pa.RecordBatch, pa.RecordBatchReader)


def align(rows: Aligned) -> Aligned:
    """The same rows; only columns that begin at a wrong address are copied."""
    if isinstance(rows, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(rows.schema, map(align, rows))
    columns = [_aligned(column) for column in rows.columns]
    return type(rows).from_arrays(columns, schema=rows.schema)


def _aligned(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_aligned(chunk) for chunk in column.chunks], column.type)
    unit = WIDE if _is_wide(column.type) else USUAL
    if all(buffer is None or buffer.address % unit == 0 for buffer in column.buffers()):
        return column
    # Arrow copies when it concatenates arrays, and only then.
    return pa.concat_arrays([column, column.slice(0, 0)])


def _is_wide(type_: pa.DataType) -> bool:
    if pa.types.is_decimal(type_) or pa.types.is_interval(type_):
        return True
    return any(_is_wide(type_.field(n).type) for n in range(type_.num_fields))
