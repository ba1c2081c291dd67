"""Changed entities as lines of JSON, made from whole batches of entries."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_to_json import json_texts


def change_lines(batch: pa.RecordBatch) -> pa.Array:
    """`{kind, type: {id, name}, id, op, before?, after?}`: an entry of a commit or of the feed."""
    return _objects(
        ['{"kind":', json_texts(batch.column("kind"))],
        [',"type":{"id":', json_texts(batch.column("type_id"))],
        [',"name":', json_texts(batch.column("type_name")), "}"],
        [',"id":', json_texts(batch.column("id"))],
        [',"op":', json_texts(batch.column("op"))],
        *_images(batch),
    )


def diff_texts(batch: pa.RecordBatch) -> pa.Array:
    """`{kind, type_name, id, op, endpoints?, before?, after?}`: an entry of a diff."""
    return _objects(
        ['{"kind":', json_texts(batch.column("kind"))],
        [',"type_name":', json_texts(batch.column("type_name"))],
        [',"id":', json_texts(batch.column("id"))],
        [',"op":', json_texts(batch.column("op"))],
        _ends(batch),
        *_images(batch),
    )


def _ends(batch: pa.RecordBatch) -> list[pa.Array | str]:
    src, dst = batch.column("src"), batch.column("dst")
    if src.null_count == len(src):
        return [""]
    # Null where there is no edge: joining keeps it null.
    return [_joined([',"endpoints":{"src":', _texts(src), ',"dst":', _texts(dst), "}"])]


def _images(batch: pa.RecordBatch) -> list[list[pa.Array | str]]:
    return [
        [_joined([f',"{name}":', batch.column(name)])]
        for name in ("before", "after")
        if batch.column(name).null_count < batch.num_rows
    ]


def _texts(column: pa.Array) -> pa.Array:
    return pc.if_else(column.is_null(), pa.scalar(None, pa.utf8()), json_texts(column))


def _joined(parts: list[pa.Array | str]) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _objects(*members: list[pa.Array | str]) -> pa.Array:
    parts = [part for member in members for part in member]
    return pc.binary_join_element_wise(*parts, "}", "", null_handling="skip")
