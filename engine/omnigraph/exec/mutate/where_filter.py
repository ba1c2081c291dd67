"""`where property operator value` as a filter on the table.

Numbers compare by value across widths. The filter compares within the property's own width, so a
value that the width cannot hold is replaced by the neighbour that decides the same rows, and
nothing depends on how the store would convert it.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from omnigraph.exec.mutate.statement_values import StatementValues
from omnigraph.query.logical.logical_plan import Where
from omnigraph.query.syntax.tree import Comparison
from omnigraph.schema.model.catalog import EdgeType, NodeType
from omnigraph.schema.model.property_types import INTEGER_RANGES, PropertyType, Scalar
from omnigraph.storage.core.lance_filter import SMALLEST_WRITTEN, in_condition

_OPERATORS: dict[Comparison, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def where_condition(
    type_: NodeType | EdgeType, where: Where, values: StatementValues
) -> str | None:
    """The filter, or none when no row can match. Null never matches anything."""
    value = values.of(where.value)
    if value is None:
        return None
    if _is_key(type_, where) and isinstance(value, str):
        return in_condition("id", pa.array([value], pa.string()))
    column = where.end or f"`{where.property}`"
    return _condition(column, where.type, where.operator, value)


def _is_key(type_: NodeType | EdgeType, where: Where) -> bool:
    """Whether the id says it all: ids are indexed, and a text key is its own id."""
    key = type_.key
    return key is not None and key.members == (where.property,) and where.operator == "="


def _condition(column: str, type_: PropertyType, op: Comparison, value: Any) -> str | None:  # noqa: ANN401
    if type_.is_integer:
        return _integer(column, type_.scalar, op, value)
    if type_.is_float:
        return _float(column, type_.scalar, op, value)
    if type_.is_bool:
        texts = [str(b).lower() for b in (False, True) if _OPERATORS[op](b, value)]
        return f"{column} IN ({', '.join(texts)})" if texts else None
    return f"{column} {op} {_literal(value)}"


def _literal(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat(timespec='microseconds').removesuffix('+00:00')}Z'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    return "'" + str(value).replace("'", "''") + "'"


def _any(column: str) -> str:
    return f"{column} IS NOT NULL"


def _integer(column: str, scalar: Scalar, op: Comparison, value: int | float) -> str | None:
    low, high = INTEGER_RANGES[scalar]
    if isinstance(value, float) and not value.is_integer():
        if op in ("=", "!="):
            return None if op == "=" else _any(column)
        below = low - 1 if value < low else high if value > high else math.floor(value)
        return _up_to(column, op in ("<", "<="), below, low, high)
    whole = int(value)
    if op in ("=", "!="):
        if not low <= whole <= high:
            return None if op == "=" else _any(column)
        if whole < SMALLEST_WRITTEN:
            return _up_to(column, op == "=", whole, low, high)
        return f"{column} {op} {whole}"
    last = whole if op in ("<=", ">") else whole - 1
    return _up_to(column, op in ("<", "<="), last, low, high)


def _up_to(column: str, wanted: bool, last: int, low: int, high: int) -> str | None:
    """Values up to and with `last`, or all others."""
    if last < low or last >= high:
        return _any(column) if wanted == (last >= high) else None
    if last < SMALLEST_WRITTEN:
        return f"{column} {'<' if wanted else '>='} {last + 1}"
    return f"{column} {'<=' if wanted else '>'} {last}"


def _float(column: str, scalar: Scalar, op: Comparison, value: int | float) -> str | None:
    near = _nearest(scalar, value)
    if math.isinf(near):
        return _any(column) if _OPERATORS[op](0.0, near) else None
    if near == value:
        return _exact_float(column, op, near)
    if op in ("=", "!="):
        return None if op == "=" else _any(column)
    if op in ("<", "<="):
        return _exact_float(column, "<" if near > value else "<=", near)
    return _exact_float(column, ">=" if near > value else ">", near)


def _nearest(scalar: Scalar, value: int | float) -> float:
    """The closest number of the width; infinite beyond the largest."""
    try:
        number = float(value)
        return (
            float(struct.unpack("<f", struct.pack("<f", number))[0])
            if (scalar is Scalar.F32)
            else number
        )
    except OverflowError:
        return math.copysign(math.inf, value)


def _exact_float(column: str, op: Comparison, value: float) -> str:
    """There are two zeros, and an index may order them."""
    if value != 0:
        return f"{column} {op} {value!r}"
    if op in ("=", "!="):
        return f"{column} {'IN' if op == '=' else 'NOT IN'} (0.0, -0.0)"
    return f"{column} {op} {'-0.0' if op in ('<', '>=') else '0.0'}"
