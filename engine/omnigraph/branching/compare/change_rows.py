"""Changed entities as change rows of one schema, whatever their type; row states are JSON texts.

A row state is `{"properties": {…}, "endpoints"?: {"from", "to"}}`, with values as an export has
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.change_filter import OPS
from omnigraph.branching.compare.column_pairing import PairedColumns
from omnigraph.branching.compare.table_diff import Changes
from omnigraph.common.arrow_to_json import escaped, json_texts
from omnigraph.schema.model.catalog import EdgeType

CHANGE_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.utf8(), nullable=False),
        pa.field("type_id", pa.int64()),
        pa.field("type_name", pa.utf8(), nullable=False),
        pa.field("id", pa.utf8(), nullable=False),
        pa.field("op", pa.utf8(), nullable=False),
        pa.field("src", pa.utf8()),
        pa.field("dst", pa.utf8()),
        pa.field("before", pa.utf8()),
        pa.field("after", pa.utf8()),
    ]
)
BATCH_ROWS = 4096
BATCH_BYTES = 32 << 20
"""Stored bytes that become one batch; their texts stay far below what 32-bit offsets address."""


def change_batches(
    changes: Changes, type_name: str, ops: Iterable[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """What differs of a type, by id, in batches of bounded size."""
    rows = _Rows.of(changes, frozenset(OPS if ops is None else ops))
    for start in range(0, len(rows.order), BATCH_ROWS):
        yield from _batches(rows, type_name, rows.order[start : start + BATCH_ROWS])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The changed rows of a type: all states before and after, and each entity's row in them."""

    columns: PairedColumns
    before: pa.Table
    after: pa.Table
    ids: pa.ChunkedArray
    ops: pa.Array
    row_before: pa.Array
    row_after: pa.Array
    order: pa.Array

    @classmethod
    def of(cls, changes: Changes, ops: frozenset[str]) -> _Rows:
        tables = [
            table if op in ops else table.slice(0, 0)
            for op, table in (
                ("insert", changes.inserted),
                ("update", changes.updated_before),
                ("update", changes.updated_after),
                ("delete", changes.deleted),
            )
        ]
        inserted, updated_before, updated_after, deleted = tables
        before = pa.concat_tables([updated_before, deleted])
        after = pa.concat_tables([inserted, updated_after])
        sizes = [inserted.num_rows, updated_after.num_rows, deleted.num_rows]
        ids = pa.chunked_array(
            [c for t in (inserted, updated_after, deleted) for c in t.column("id").chunks],
            pa.utf8(),
        )
        return cls(
            changes.columns,
            before,
            after,
            ids,
            pa.array(np.repeat(np.array(OPS), sizes), pa.utf8()),
            pa.concat_arrays([pa.nulls(sizes[0], pa.int64()), _numbers(before.num_rows)]),
            pa.concat_arrays([_numbers(after.num_rows), pa.nulls(sizes[2], pa.int64())]),
            pc.sort_indices(ids),
        )


def _numbers(count: int) -> pa.Array:
    return pa.array(np.arange(count, dtype=np.int64))


def _batches(rows: _Rows, type_name: str, chosen: pa.Array) -> Iterator[pa.RecordBatch]:
    row_before, row_after = rows.row_before.take(chosen), rows.row_after.take(chosen)
    before, after = rows.before.take(row_before.drop_null()), rows.after.take(row_after.drop_null())
    if len(chosen) > 1 and before.nbytes + after.nbytes > BATCH_BYTES:
        middle = len(chosen) // 2
        yield from _batches(rows, type_name, chosen[:middle])
        yield from _batches(rows, type_name, chosen[middle:])
        return
    count = len(chosen)
    type_ = rows.columns.type
    at_before, at_after = _dense_positions(row_before), _dense_positions(row_after)
    ends = [pa.nulls(count, pa.utf8())] * 2
    if isinstance(type_, EdgeType):
        ends = [
            pc.coalesce(_one(after, end).take(at_after), _one(before, end).take(at_before))
            for end in ("src", "dst")
        ]
    columns = [
        pa.repeat(type_.kind, count),
        pa.repeat(pa.scalar(type_.identity, pa.int64()), count),
        pa.repeat(type_name, count),
        rows.ids.take(chosen).combine_chunks(),
        rows.ops.take(chosen),
        *ends,
        _states(before, rows.columns, after=False).take(at_before),
        _states(after, rows.columns, after=True).take(at_after),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=CHANGE_SCHEMA)


def _dense_positions(rows: pa.Array) -> pa.Array:
    """The position of each value among those that are not null."""
    present = rows.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(np.cumsum(present) - 1, pa.int64(), mask=~present)


def _one(rows: pa.Table, name: str) -> pa.Array:
    return rows.column(name).combine_chunks()


def _states(rows: pa.Table, columns: PairedColumns, *, after: bool) -> pa.Array:
    """Every row as JSON, with the properties that the side has."""
    if not rows.num_rows:
        return pa.array([], pa.utf8())
    stored = columns.stored(after=after)
    parts: list[pa.Array | str] = []
    text = '{"properties":{'
    for position, name in enumerate(c.name for c in columns.columns if c.name in stored):
        text += f"{',' if position else ''}{json.dumps(name)}:"
        parts += [text, json_texts(_one(rows, name))]
        text = ""
    text += "}"
    if isinstance(columns.type, EdgeType):
        parts += [text + ',"endpoints":{"from":"', escaped(_one(rows, "src")), '","to":"']
        parts += [escaped(_one(rows, "dst")), '"}}']
    else:
        parts.append(text + "}")
    if all(isinstance(part, str) for part in parts):
        return pa.repeat("".join(map(str, parts)), rows.num_rows)
    return pc.binary_join_element_wise(*parts, "")


def plain_batch(changed: Iterable[tuple[str, str]]) -> pa.RecordBatch:
    """Plain tables and views that changed, each as a whole: its name, and the operation."""
    return pa.RecordBatch.from_pylist(
        [
            {"kind": "table", "type_name": name, "id": name, "op": op, **dict.fromkeys(_REST)}
            for name, op in changed
        ],
        schema=CHANGE_SCHEMA,
    )


_REST = ("type_id", "src", "dst", "before", "after")
