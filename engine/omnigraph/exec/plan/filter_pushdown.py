"""Conditions that a table evaluates itself, as a filter on its stored columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.exec.columns.type_source import TypeSource
from omnigraph.query.logical.expressions import (
    MIRRORED,
    Compare,
    Condition,
    Expr,
    Literal,
    Param,
    PropertyRef,
)
from omnigraph.storage.core.lance_filter import ColumnCompare, NotExpressible, lance_filter


@dataclass(frozen=True)
class PushedFilter:
    """Some of several conditions as one filter of the table."""

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
        if column is None or not isinstance(condition, Compare):
            rest.append(condition)
            continue
        right, op = condition.right, condition.operator
        if isinstance(right, PropertyRef):
            right, op = condition.left, MIRRORED[op]
        try:
            test = ColumnCompare(column, op, constant(right))
            parts.append(lance_filter(test, source.table.schema))
            columns.append(column)
        except NotExpressible:
            rest.append(condition)
    return PushedFilter(" AND ".join(parts), tuple(columns), tuple(rest)) if parts else None


def pushable(source: TypeSource, condition: Condition) -> str | None:
    """The stored column that a condition compares with a constant, if that is all.

    Columns of floats are compared in memory.
    """
    match condition:
        case (
            Compare(left=PropertyRef(property=name), right=Literal() | Param())
            | Compare(left=Literal() | Param(), right=PropertyRef(property=name))
        ):
            type_ = source.target(name)
            tests = (
                pa.types.is_string,
                pa.types.is_boolean,
                pa.types.is_integer,
                pa.types.is_date32,
            )
            return source.stored(name) if any(test(type_) for test in tests) else None
        case _:
            return None
