"""What the loading tests share: schemas, and reading a text to plain rows."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from omnigraph.errors import LoadError, OmniGraphError
from omnigraph.loading import Limits, TypedBatch, read_ndjson
from omnigraph.schema import Catalog, compile_schema

GARDEN = compile_schema(
    """
    node Plant { tag: String @key  latin: String  height: F32?  planted: Date?
                 bed: enum(north, south)?  labels: [String]?  code: String? @unique
                 @range(height, 0..900) }
    node Visit { note: String }
    edge Near: Plant -> Plant { metres: F64? }
    edge Seen: Plant -> Visit @card(0..2)
    """
)

EVERYTHING = compile_schema(
    """
    node Every { b: Bool?  blob: Blob?  d: Date?  e: enum(x, y)?  f32: F32?  f64: F64?
                 i32: I32?  i64: I64?  s: String?  t: DateTime?  u32: U32?  u64: U64?
                 v: Vector(3)?
                 lb: [Bool]?  ld: [Date]?  lf32: [F32]?  lf64: [F64]?  li32: [I32]?  li64: [I64]?
                 ls: [String]?  lt: [DateTime]?  lu32: [U32]?  lu64: [U64]? }
    node Strict { n: I64 @key  s: String }
    node Pair { a: I32  b: String  @key(a, b) }
    edge Link: Every -> Strict { w: F64? }
    edge Bare: Every -> Every
    """
)


def batches(text: str | bytes, catalog: Catalog = GARDEN, **limits: int) -> list[TypedBatch]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_ndjson(io.BytesIO(data), catalog, Limits(**limits)))


def rows(text: str | bytes, type_name: str, catalog: Catalog = GARDEN) -> list[dict[str, Any]]:
    """The rows of one type as plain values."""
    return [
        row
        for typed in batches(text, catalog)
        if typed.type.name == type_name
        for row in plain(typed.batch)
    ]


def plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows with days and microseconds as integers, so that any stored value can be shown."""
    names = batch.schema.names
    columns = [_integers(column).to_pylist() for column in batch.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _integers(column: pa.Array) -> pa.Array:
    type_ = column.type
    if pa.types.is_list(type_) and pa.types.is_temporal(type_.value_type):
        return column.cast(pa.list_(_integer_type(type_.value_type)))
    return column.cast(_integer_type(type_)) if pa.types.is_temporal(type_) else column


def _integer_type(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if pa.types.is_date(type_) else pa.int64()


def refusal(text: str | bytes, catalog: Catalog = GARDEN) -> LoadError:
    """The LoadError that reading the text raises."""
    try:
        batches(text, catalog)
    except LoadError as error:
        return error
    raise AssertionError(f"accepted: {text!r}")


def outcome(text: bytes, catalog: Catalog, **limits: int) -> object:
    """What reading the text comes to, in a form that compares: rows without ULIDs, or an error."""
    try:
        found = batches(text, catalog, **limits)
    except OmniGraphError as error:
        return type(error).__name__, str(error), repr(error.details)
    tables: dict[str, list[str]] = {}
    for typed in found:
        typed.batch.validate(full=True)
        tables.setdefault(typed.type.table_key, []).extend(
            repr(row | {"id": "fresh" if len(row["id"]) == 26 else row["id"]})
            for row in plain(typed.batch)
        )
    return tables
