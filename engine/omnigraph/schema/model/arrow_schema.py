"""How types are stored, in Arrow terms.

See docs/design/schema-language.md#3-types-and-arrow-storage and
docs/design/schema-language.md#4-physical-tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.schema.model.catalog import EdgeType, NodeType, Property
from omnigraph.schema.model.default_values import stored_default
from omnigraph.schema.model.property_types import PropertyType, Scalar

BLOB_METADATA = {b"lance-encoding:blob": b"true"}
ROW_COLUMNS = frozenset(
    ["_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version"]
)
"""Columns the table format adds by itself."""

_SCALARS = {
    Scalar.STRING: pa.utf8(),
    Scalar.BOOL: pa.bool_(),
    Scalar.I32: pa.int32(),
    Scalar.I64: pa.int64(),
    Scalar.U32: pa.uint32(),
    Scalar.U64: pa.uint64(),
    Scalar.F32: pa.float32(),
    Scalar.F64: pa.float64(),
    Scalar.DATE: pa.date32(),
    Scalar.DATETIME: pa.timestamp("us", "UTC"),
    Scalar.BLOB: pa.large_binary(),
}


def arrow_type(type_: PropertyType) -> pa.DataType:
    element = _SCALARS[type_.scalar]
    if type_.is_vector:
        return pa.list_(pa.field("item", element, nullable=True), type_.dimension)
    if type_.is_list:
        return pa.list_(pa.field("item", element, nullable=True))
    return element


def arrow_field(prop: Property) -> pa.Field:
    metadata = BLOB_METADATA if prop.type.is_blob else None
    return pa.field(prop.name, arrow_type(prop.type), prop.nullable, metadata)


def table_schema(type_: NodeType | EdgeType) -> pa.Schema:
    """The columns of a type's table, in their order."""
    fixed = ("id", "src", "dst") if isinstance(type_, EdgeType) else ("id",)
    columns = [pa.field(name, pa.utf8(), nullable=False) for name in fixed]
    return pa.schema([*columns, *(arrow_field(prop) for prop in type_.properties)])


def integer_range(type_: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest number that an integer type holds."""
    bits = type_.bit_width
    if pa.types.is_unsigned_integer(type_):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def nearest_float(value: Any, type_: pa.DataType) -> float:  # noqa: ANN401
    """The number of a float type that is closest to a number; the largest, to those beyond it."""
    width = np.float32 if pa.types.is_float32(type_) else np.float64
    largest = float(np.finfo(width).max)
    if largest < abs(value) < math.inf:
        return largest if value > 0 else -largest
    return float(width(float(value)))


def exact_values(values: Sequence[Any], type_: pa.DataType) -> list[Any]:
    """Those constants that a value of the type can be equal to, as values of the type."""
    if pa.types.is_integer(type_):
        low, high = integer_range(type_)
        return [int(value) for value in values if low <= value <= high and int(value) == value]
    if pa.types.is_floating(type_):
        return [near for value in values if (near := nearest_float(value, type_)) == value]
    return list(values)


def default_scalar(prop: Property) -> pa.Scalar:
    """What existing rows get when the property is added: its default if required, else null."""
    type_ = arrow_type(prop.type)
    if prop.default is None or prop.nullable:
        return pa.scalar(None, type_)
    return pa.scalar(stored_default(prop.default, prop.type), type_)


def pattern_matches(values: pa.Array | pa.ChunkedArray, pattern: str) -> pa.Array | pa.ChunkedArray:
    """Where `@check` holds: the pattern is found somewhere in the value. Null stays null.

    RE2, so a pattern takes time linear in the text and no schema can stall a write.
    """
    return pc.match_substring_regex(values, pattern)


def pattern_problem(pattern: str) -> str | None:
    """Why `pattern_matches` would refuse the pattern, or nothing."""
    try:
        pattern_matches(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None
