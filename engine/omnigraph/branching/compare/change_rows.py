"""Changed entities as rows of one shape, whatever their type; images are JSON texts.

An image is `{"properties": {…}, "endpoints"?: {"from", "to"}}`, with values as an export has them.
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


def entry_batches(
    changes: Changes, type_name: str, ops: Iterable[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """What differs of a type, by id, in batches of bounded size."""
    rows = _Rows.of(changes, frozenset(OPS if ops is None else ops))
    for start in range(0, len(rows.order), BATCH_ROWS):
        yield from _batches(rows, type_name, rows.order[start : start + BATCH_ROWS])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The changed rows of a type: all states before, all states after, and where each entity is."""

    layout: PairedColumns
    before: pa.Table
    after: pa.Table
    ids: pa.ChunkedArray
    ops: pa.Array
    place_before: pa.Array
    place_after: pa.Array
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
            changes.layout,
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
    places = (rows.place_before.take(chosen), rows.place_after.take(chosen))
    before, after = rows.before.take(places[0].drop_null()), rows.after.take(places[1].drop_null())
    if len(chosen) > 1 and before.nbytes + after.nbytes > BATCH_BYTES:
        middle = len(chosen) // 2
        yield from _batches(rows, type_name, chosen[:middle])
        yield from _batches(rows, type_name, chosen[middle:])
        return
    count = len(chosen)
    type_ = rows.layout.type
    at_before, at_after = _spread(places[0]), _spread(places[1])
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
        _images(before, rows.layout, after=False).take(at_before),
        _images(after, rows.layout, after=True).take(at_after),
    ]
    yield pa.RecordBatch.from_arrays(columns, schema=CHANGE_SCHEMA)


def _spread(places: pa.Array) -> pa.Array:
    """Where each row is among those that are not null."""
    present = places.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(np.cumsum(present) - 1, pa.int64(), mask=~present)


def _one(rows: pa.Table, name: str) -> pa.Array:
    return rows.column(name).combine_chunks()


def _images(rows: pa.Table, layout: PairedColumns, *, after: bool) -> pa.Array:
    """The image of every row as JSON, with the properties that the side has."""
    if not rows.num_rows:
        return pa.array([], pa.utf8())
    stored = layout.stored(after=after)
    parts: list[pa.Array | str] = []
    text = '{"properties":{'
    for place, name in enumerate(c.name for c in layout.columns if c.name in stored):
        text += f"{',' if place else ''}{json.dumps(name)}:"
        parts += [text, json_texts(_one(rows, name))]
        text = ""
    text += "}"
    if isinstance(layout.type, EdgeType):
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
