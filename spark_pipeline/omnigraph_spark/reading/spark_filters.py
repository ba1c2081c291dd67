"""Spark's filters as predicates, and as conditions of Lance or of a server's SQL.

A condition may select more rows than the filters do: Spark tests every filter on the rows it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)

from omnigraph.tables import (
    AllOf,
    AnyOf,
    ColumnCompare,
    ColumnContains,
    ColumnIn,
    ColumnIsNull,
    ColumnStartsWith,
    CompareOperator,
    Negated,
    NotExpressible,
    Predicate,
    lance_filter,
    text_literal,
)
from omnigraph_spark.server_connection import quoted

_OPERATORS: dict[type[Filter], CompareOperator] = {
    EqualTo: "=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}


def lance_condition(filters: Iterable[Filter], schema: pa.Schema) -> str | None:
    """A filter of Lance that every row Spark wants passes; none if nothing can be said."""
    return _conjunction(filters, lambda predicate: lance_filter(predicate, schema))


def sql_condition(filters: Iterable[Filter]) -> str | None:
    """The same as a condition of SQL."""
    return _conjunction(filters, _sql)


def _conjunction(filters: Iterable[Filter], write: Callable[[Predicate], str]) -> str | None:
    conditions = []
    for each in filters:
        try:
            conditions.append(write(_predicate(each)))
        except NotExpressible:
            continue
    return " AND ".join(conditions) or None


def _predicate(test: Filter) -> Predicate:
    match test:
        case EqualTo() | GreaterThan() | GreaterThanOrEqual() | LessThan() | LessThanOrEqual():
            return ColumnCompare(_column(test.attribute), _OPERATORS[type(test)], test.value)
        case In():
            return ColumnIn(_column(test.attribute), test.value)
        case IsNull():
            return ColumnIsNull(_column(test.attribute))
        case IsNotNull():
            return Negated(ColumnIsNull(_column(test.attribute)))
        case StringStartsWith():
            return ColumnStartsWith(_column(test.attribute), test.value)
        case StringContains():
            return ColumnContains(_column(test.attribute), test.value)
        case Not():
            return Negated(_predicate(test.child))
    raise NotExpressible


def _column(attribute: tuple[str, ...]) -> str:
    if len(attribute) != 1:
        raise NotExpressible
    return attribute[0]


def _sql(predicate: Predicate) -> str:
    match predicate:
        case ColumnCompare():
            return f"{quoted(predicate.column)} {predicate.operator} {_literal(predicate.value)}"
        case ColumnIn():
            known = [_literal(value) for value in predicate.values if value is not None]
            if not known:
                raise NotExpressible
            return f"{quoted(predicate.column)} IN ({', '.join(known)})"
        case ColumnIsNull():
            return f"{quoted(predicate.column)} IS NULL"
        case ColumnStartsWith():
            return f"starts_with({quoted(predicate.column)}, {text_literal(predicate.prefix)})"
        case ColumnContains():
            return f"contains({quoted(predicate.column)}, {text_literal(predicate.part)})"
        case Negated():
            return f"NOT ({_sql(predicate.operand)})"
        case AllOf() | AnyOf():
            word = " AND " if isinstance(predicate, AllOf) else " OR "
            return f"({word.join(map(_sql, predicate.operands))})"


def _literal(value: Any) -> str:  # noqa: ANN401
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float() if value == value and abs(value) != float("inf"):
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal() if value == value.to_integral_value():
            return str(int(value))
        case str():
            return text_literal(value)
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
            return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
    raise NotExpressible
