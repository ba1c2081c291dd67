"""Export: one line per entity in envelope form, which any load mode reads back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_to_json import escaped, json_texts
from omnigraph.loading.line_framing import MIB
from omnigraph.loading.typed_batch import EntityType, row_width
from omnigraph.schema import EdgeType
from omnigraph.schema.model.arrow_schema import table_schema

_SLICE_BYTES = 16 * MIB


def export_ndjson(
    tables: Iterable[tuple[EntityType, Callable[[], Iterator[pa.RecordBatch]]]],
    out: BinaryIO,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Write every row of every table, in the order given, and return the number of rows.

    `on_progress` gets the number of rows written so far.
    """
    written = 0
    for type_, batches in tables:
        for batch in batches():
            for part in _slices(batch, type_):
                out.write(ndjson_lines(part, type_))
            written += batch.num_rows
            if on_progress is not None:
                on_progress(written)
    return written


def _slices(batch: pa.RecordBatch, type_: EntityType) -> Iterator[pa.RecordBatch]:
    """Parts whose text stays far below what 32-bit offsets can address."""
    names = sum(len(name) + 8 for name in batch.schema.names)
    per_row = names + row_width(table_schema(type_)) * 4 + batch.nbytes // max(1, batch.num_rows)
    rows = max(1, _SLICE_BYTES // per_row)
    for low in range(0, batch.num_rows, rows):
        yield from _halved(batch.slice(low, rows))


def _halved(part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """One row may be a thousand times the size of the next."""
    if part.num_rows > 1 and part.nbytes > 4 * _SLICE_BYTES:
        middle = part.num_rows // 2
        yield from _halved(part.slice(0, middle))
        yield from _halved(part.slice(middle))
    else:
        yield part


def ndjson_lines(batch: pa.RecordBatch, type_: EntityType) -> memoryview:
    """The lines of a batch, each with its line feed, as UTF-8."""
    if batch.num_rows == 0:
        return memoryview(b"")
    name = json.dumps(type_.name)
    if isinstance(type_, EdgeType):
        ends = ['{"edge":' + name + ',"from":"', '","to":"', '","data":{"id":"']
        parts = [ends[0], _inside(batch, "src"), ends[1], _inside(batch, "dst"), ends[2]]
    else:
        parts = ['{"type":' + name + ',"data":{"id":"']
    parts.append(_inside(batch, "id"))
    before = '"'
    for field in table_schema(type_):
        if field.name in ("id", "src", "dst") and field.name not in type_.by_name:
            continue
        parts += [f"{before},{json.dumps(field.name)}:", json_texts(_column(batch, field))]
        before = ""
    parts.append(before + "}}\n")
    return _bytes(pc.binary_join_element_wise(*parts, ""))


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    column = batch.column(field.name)
    return column if column.type == field.type else column.cast(field.type)


def _inside(batch: pa.RecordBatch, name: str) -> pa.Array:
    return escaped(_column(batch, pa.field(name, pa.utf8())))


def _bytes(texts: pa.Array) -> memoryview:
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset :]
    return memoryview(data)[bounds[0] : bounds[len(texts)]]
