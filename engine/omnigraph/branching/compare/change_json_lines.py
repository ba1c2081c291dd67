"""Changed entities as JSON lines, made from whole batches of change rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_to_json import json_texts

_Parts = list[pa.Array | str]


def change_lines(batch: pa.RecordBatch) -> pa.Array:
    """`{kind, type: {id, name}, id, op, before?, after?}`: a change of a commit or of the feed."""
    type_id, type_name = json_texts(batch.column("type_id")), json_texts(batch.column("type_name"))
    return _lines(batch, [',"type":{"id":', type_id, ',"name":', type_name, "}"], [])


def diff_lines(batch: pa.RecordBatch) -> pa.Array:
    """`{kind, type_name, id, op, endpoints?, before?, after?}`: a change of a diff."""
    src, dst = batch.column("src"), batch.column("dst")
    endpoints = []
    if src.null_count < len(src):
        # Null where there is no edge: joining keeps it null.
        texts = [_null_or_json(src), ',"dst":', _null_or_json(dst), "}"]
        endpoints = [_joined(',"endpoints":{"src":', *texts)]
    return _lines(batch, [',"type_name":', json_texts(batch.column("type_name"))], endpoints)


def _lines(batch: pa.RecordBatch, type_: _Parts, endpoints: _Parts) -> pa.Array:
    states = [
        _joined(f',"{name}":', batch.column(name))
        for name in ("before", "after")
        if batch.column(name).null_count < batch.num_rows
    ]
    kind, id_, op = (json_texts(batch.column(name)) for name in ("kind", "id", "op"))
    parts = ['{"kind":', kind, *type_, ',"id":', id_, ',"op":', op, *endpoints, *states, "}"]
    return pc.binary_join_element_wise(*parts, "", null_handling="skip")


def _null_or_json(column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_null(), pa.scalar(None, pa.utf8()), json_texts(column))


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
