"""Predicates over the columns of a table, and the filter text that Lance reads.

Values compare exactly, whatever their width: a constant that a column cannot hold is replaced by
the neighbour that decides the same rows, so that nothing depends on how Lance would convert it.
Both zeros are equal. As in PostgreSQL and Spark, NaN equals itself and is above every other number.
Null makes a predicate neither true nor false, and only rows for which it is true are selected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from omnigraph.schema.model.arrow_schema import exact_values, integer_range, nearest_float

CompareOperator = Literal["=", "!=", "<", "<=", ">", ">="]

NO_ROW = "false"
"""The filter that selects nothing."""

DEEPEST = 10
"""How often conjunctions and disjunctions may be nested: Lance's parser takes a few more."""

_SMALLEST_WRITTEN = -(2**63) + 1
"""Lance reads a minus sign and then a number, which must fit 63 bits."""

_FLOATS = (pa.float32(), pa.float64())
_TIMESTAMPS = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
_NEGATED: dict[CompareOperator, CompareOperator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}


class NotExpressible(Exception):  # noqa: N818
    """Lance has no filter that selects exactly the rows of a predicate."""


@dataclass(frozen=True, slots=True)
class ColumnCompare:
    """`column operator value`; true for no row where the value is None."""

    column: str
    operator: CompareOperator
    value: Any


@dataclass(frozen=True, slots=True)
class ColumnIn:
    """Whether a column equals one of some values."""

    column: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class ColumnIsNull:
    column: str


@dataclass(frozen=True, slots=True)
class ColumnStartsWith:
    column: str
    prefix: str


@dataclass(frozen=True, slots=True)
class ColumnContains:
    column: str
    part: str


@dataclass(frozen=True, slots=True)
class Negated:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class AllOf:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    operands: tuple[Predicate, ...]


Predicate: TypeAlias = (
    ColumnCompare
    | ColumnIn
    | ColumnIsNull
    | ColumnStartsWith
    | ColumnContains
    | Negated
    | AllOf
    | AnyOf
)


def lance_filter(predicate: Predicate, schema: pa.Schema) -> str:
    """The filter that selects exactly the rows of a predicate from a table with these columns.

    Raises `NotExpressible` where there is none; `NO_ROW` where no row can be selected.
    """
    return _filter(predicate, schema, False, 0)


def text_literal(text: str) -> str:
    """A text as Lance's filters, and SQL, write it."""
    return "'" + text.replace("'", "''") + "'"


def in_condition(column: str, texts: pa.Array) -> str:
    """The filter for rows whose text column has one of the values: what a look-up asks for."""
    return f"`{column}` IN ({', '.join(map(text_literal, texts.to_pylist()))})"


def _filter(predicate: Predicate, schema: pa.Schema, negated: bool, depth: int) -> str:
    """Negations are moved inwards: `NOT false` would select the rows where a column is null."""
    match predicate:
        case ColumnCompare():
            column, type_ = _column(predicate.column, schema)
            op = _NEGATED[predicate.operator] if negated else predicate.operator
            return _compare(column, type_, op, predicate.value)
        case Negated():
            return _filter(predicate.operand, schema, not negated, depth)
        case AllOf() | AnyOf():
            if depth == DEEPEST:
                raise NotExpressible
            word = " AND " if isinstance(predicate, AllOf) != negated else " OR "
            parts = (_filter(part, schema, negated, depth + 1) for part in predicate.operands)
            return f"({word.join(parts)})"
        case ColumnIn():
            column, type_ = _column(predicate.column, schema)
            known = [value for value in predicate.values if value is not None]
            if negated and len(known) < len(predicate.values):
                return NO_ROW  # nothing is known to differ from an unknown value
            return _in(column, [text for v in known for text in _literals(type_, v)], negated)
        case ColumnIsNull():
            column, _ = _column(predicate.column, schema)
            return f"{column} IS {'NOT ' if negated else ''}NULL"
        case ColumnStartsWith():
            return _text_test("starts_with", predicate.column, predicate.prefix, schema, negated)
        case ColumnContains():
            return _text_test("contains", predicate.column, predicate.part, schema, negated)


def _column(name: str, schema: pa.Schema) -> tuple[str, pa.DataType]:
    place = schema.get_field_index(name)
    if place < 0 or "`" in name or "." in name:
        raise NotExpressible
    return f"`{name}`", schema.field(place).type


def _text_test(function: str, name: str, text: str, schema: pa.Schema, negated: bool) -> str:
    column, type_ = _column(name, schema)
    if not _is_text(type_):
        raise NotExpressible
    return f"{'NOT ' if negated else ''}{function}({column}, {text_literal(text)})"


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _compare(column: str, type_: pa.DataType, op: CompareOperator, value: Any) -> str:  # noqa: ANN401
    if value is None:
        return NO_ROW
    if op in ("=", "!="):
        return _in(column, _literals(type_, value), op == "!=")
    if pa.types.is_integer(type_) and _is_number(value):
        return _compare_integer(column, type_, op, value)
    if pa.types.is_floating(type_) and _is_number(value):
        return _compare_float(column, type_, op, value)
    (literal,) = _literals(type_, value)
    return f"{column} {op} {literal}"


def _in(column: str, literals: Sequence[str], negated: bool) -> str:
    """Whether a column equals one of some literals, or none of them."""
    smallest = str(_SMALLEST_WRITTEN - 1)
    if smallest in literals:
        others = [text for text in literals if text != smallest]
        bound = f"{column} {'>=' if negated else '<'} {_SMALLEST_WRITTEN}"
        if not others:
            return bound
        return f"({bound} {'AND' if negated else 'OR'} {_in(column, others, negated)})"
    if not literals:
        return f"{column} IS NOT NULL" if negated else NO_ROW
    if len(literals) == 1:
        return f"{column} {'!=' if negated else '='} {literals[0]}"
    return f"{column} {'NOT IN' if negated else 'IN'} ({', '.join(literals)})"


def _literals(type_: pa.DataType, value: Any) -> list[str]:  # noqa: ANN401
    """How Lance writes the values of a column that equal a value: none, one, or both zeros."""
    if _is_text(type_) and isinstance(value, str):
        return [text_literal(value)]
    if pa.types.is_boolean(type_) and isinstance(value, bool):
        return [str(value).lower()]
    if pa.types.is_date32(type_) and isinstance(value, date) and not isinstance(value, datetime):
        return [f"date '{value.isoformat()}'"]
    if isinstance(value, datetime) and type_ in _TIMESTAMPS:
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return [f"timestamp '{moment.isoformat(timespec='microseconds').removesuffix('+00:00')}Z'"]
    if not _is_number(value):
        raise NotExpressible
    if pa.types.is_integer(type_):
        return [str(number) for number in exact_values([value], type_)]
    if type_ in _FLOATS:
        if value == 0:
            return ["0.0", "-0.0"]
        return [repr(number) for number in exact_values([value], type_)]
    if pa.types.is_decimal(type_):
        return [_decimal(type_, value)]
    raise NotExpressible


def _is_number(value: Any) -> bool:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return isinstance(value, int) or math.isfinite(value)


def _decimal(type_: pa.DataType, value: float | Decimal) -> str:
    """A whole number that the column can hold; Lance reads no other as a decimal."""
    if value == int(value) and abs(value) < min(10 ** (type_.precision - type_.scale), 2**63):
        return str(int(value))
    raise NotExpressible


def _compare_integer(
    column: str, type_: pa.DataType, op: CompareOperator, value: float | Decimal
) -> str:
    """Numbers up to and with a last one, or all others."""
    low, high = integer_range(type_)
    up_to = op in ("<", "<=")
    last = math.floor(value) if op in ("<=", ">") else math.ceil(value) - 1
    if last < low or last >= high:
        return f"{column} IS NOT NULL" if up_to == (last >= high) else NO_ROW
    if last < _SMALLEST_WRITTEN:
        return f"{column} {'<' if up_to else '>='} {last + 1}"
    return f"{column} {'<=' if up_to else '>'} {last}"


def _compare_float(
    column: str, type_: pa.DataType, op: CompareOperator, value: float | Decimal
) -> str:
    if type_ not in _FLOATS:
        raise NotExpressible
    near = nearest_float(value, type_)
    if near != value and op in ("<", "<="):
        op = "<" if near > value else "<="
    elif near != value:
        op = ">=" if near > value else ">"
    if near == 0:  # there are two zeros, and an index may order them
        return f"{column} {op} {'-0.0' if op in ('<', '>=') else '0.0'}"
    return f"{column} {op} {near!r}"
