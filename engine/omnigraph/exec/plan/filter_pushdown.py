"""Conditions that a table can evaluate itself, as SQL over its stored columns.

Only what means exactly the same there: the constant must be a value of the column's own type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from omnigraph.exec.columns.type_source import TypeSource
from omnigraph.exec.evaluate.comparison import MIRRORED
from omnigraph.exec.evaluate.evaluator import exact_values
from omnigraph.query.logical.expressions import (
    Compare,
    Condition,
    Expr,
    Literal,
    Param,
    PropertyRef,
)
from omnigraph.query.syntax.tree import Comparison
from omnigraph.storage.core.lance_filter import SMALLEST_WRITTEN


@dataclass(frozen=True)
class PushedFilter:
    """Some of several conditions as one of the table."""

    sql: str
    columns: tuple[str, ...]
    """The stored columns it is about."""
    rest: tuple[Condition, ...]
    """The conditions that it leaves to be tested."""


def pushed(
    source: TypeSource, conditions: Sequence[Condition], constant: Callable[[Expr], Any]
) -> PushedFilter | None:
    """What of the conditions a table can evaluate; none if nothing."""
    parts, columns, rest = [], [], []
    for condition in conditions:
        column = pushable(source, condition)
        part = None if column is None else _sql(source, condition, column, constant)
        if column is None or part is None:
            rest.append(condition)
        else:
            parts.append(part)
            columns.append(column)
    return PushedFilter(" AND ".join(parts), tuple(columns), tuple(rest)) if parts else None


def pushable(source: TypeSource, condition: Condition) -> str | None:
    """The stored column that a condition compares with a constant of its type, if that is all."""
    if not isinstance(condition, Compare):
        return None
    left, right, _ = _turned(condition)
    if not isinstance(left, PropertyRef) or not isinstance(right, Literal | Param):
        return None
    type_ = source.target(left.property)
    tests = (pa.types.is_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_date32)
    return source.stored(left.property) if any(test(type_) for test in tests) else None


def _turned(condition: Compare) -> tuple[Expr, Expr, Comparison]:
    """A comparison with the property on the left."""
    if isinstance(condition.right, PropertyRef):
        return condition.right, condition.left, MIRRORED[condition.operator]
    return condition.left, condition.right, condition.operator


def _sql(
    source: TypeSource, condition: Condition, column: str, constant: Callable[[Expr], Any]
) -> str | None:
    assert isinstance(condition, Compare)
    _, right, op = _turned(condition)
    text = _literal(constant(right), source.table.stored_type(column))
    return None if text is None else f"`{column}` {op} {text}"


def _literal(value: Any, type_: pa.DataType) -> str | None:  # noqa: ANN401
    if isinstance(value, str) and pa.types.is_string(type_):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower() if pa.types.is_boolean(type_) else None
    if isinstance(value, int | float) and pa.types.is_integer(type_):
        exact = exact_values([value], type_)
        return str(exact[0]) if exact and exact[0] >= SMALLEST_WRITTEN else None
    if isinstance(value, date) and not isinstance(value, datetime) and pa.types.is_date32(type_):
        return f"date '{value.isoformat()}'"
    return None
