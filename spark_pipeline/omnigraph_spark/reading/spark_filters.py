"""Spark's filters as SQL conditions over a table's own columns.

Only for what means the same on both sides; Spark still tests every filter on the rows it gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

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

_OPERATORS = {
    EqualTo: "=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}


def condition_of(filters: Iterable[Filter], quote: str) -> str | None:
    """A condition that every wanted row satisfies; none if nothing can be said."""
    found = [text for f in filters if (text := _condition(f, quote)) is not None]
    return " AND ".join(found) or None


def _condition(found: Filter, quote: str) -> str | None:
    match found:
        case EqualTo() | GreaterThan() | GreaterThanOrEqual() | LessThan() | LessThanOrEqual():
            return _joined(found.attribute, _OPERATORS[type(found)], _literal(found.value), quote)
        case In():
            values = [_literal(value) for value in found.value if value is not None]
            known = [value for value in values if value is not None]
            if not known or len(known) < len(values):
                return None
            return _joined(found.attribute, "IN", f"({', '.join(known)})", quote)
        case IsNull():
            return _joined(found.attribute, "IS", "NULL", quote)
        case IsNotNull():
            return _joined(found.attribute, "IS NOT", "NULL", quote)
        case StringStartsWith() | StringContains():
            function = "starts_with" if isinstance(found, StringStartsWith) else "contains"
            name, value = _name(found.attribute, quote), _literal(found.value)
            return f"{function}({name}, {value})" if name and value else None
        case Not():
            inner = _condition(found.child, quote)
            return f"NOT ({inner})" if inner else None
        case _:
            return None


def _joined(attribute: tuple[str, ...], operator: str, value: str | None, quote: str) -> str | None:
    name = _name(attribute, quote)
    return f"{name} {operator} {value}" if name and value else None


def _name(attribute: tuple[str, ...], quote: str) -> str | None:
    plain = len(attribute) == 1 and quote not in attribute[0]
    return f"{quote}{attribute[0]}{quote}" if plain else None


def _literal(value: Any) -> str | None:  # noqa: ANN401
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
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            moment = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
            return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return None
