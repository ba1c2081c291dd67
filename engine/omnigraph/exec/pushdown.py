"""Conditions that a table can evaluate itself, as SQL over its stored columns.

Only what means exactly the same there: the constant must be a value of the column's own type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from omnigraph.exec.compare import MIRRORED, is_number
from omnigraph.exec.evaluate import exact_values
from omnigraph.exec.source import TypeSource
from omnigraph.query.expressions import Compare, Condition, Expr, Literal, Param, PropertyRef


def pushed(
    source: TypeSource, conditions: Sequence[Condition], constant: Callable[[Expr], Any]
) -> str | None:
    """A condition that every wanted row satisfies; none if nothing can be pushed down."""
    parts = [_compare(source, c, constant) for c in conditions if isinstance(c, Compare)]
    found = [part for part in parts if part is not None]
    return " AND ".join(found) or None


def _compare(source: TypeSource, condition: Compare, constant: Callable[[Expr], Any]) -> str | None:
    left, right, op = condition.left, condition.right, condition.operator
    if isinstance(right, PropertyRef):
        left, right, op = right, left, MIRRORED[op]
    if not isinstance(left, PropertyRef) or not isinstance(right, Literal | Param):
        return None
    text = _sql(constant(right), source.target(left.property))
    return None if text is None else f"`{source.stored(left.property)}` {op} {text}"


def _sql(value: Any, type_: pa.DataType) -> str | None:  # noqa: ANN401
    if isinstance(value, str) and pa.types.is_string(type_):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and pa.types.is_integer(type_) and is_number(type_):
        exact = exact_values([value], type_)
        return str(exact[0]) if exact else None
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"date '{value.isoformat()}'"
    return None
