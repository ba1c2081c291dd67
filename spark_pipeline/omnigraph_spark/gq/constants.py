"""Constants of a query: their values, and how they stand in Spark SQL.

Values travel as arguments beside the text, so nothing a user writes becomes SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlglot import exp

from omnigraph.query.logical import Expr, Literal, Now, Param
from omnigraph.schema import PropertyType, arrow_type
from omnigraph_spark.spark_types import spark_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def is_constant(expr: object) -> bool:
    """Whether an expression has one value for the whole run."""
    return isinstance(expr, Literal | Param | Now)


def sql_type(type_: PropertyType) -> exp.DataType:
    """The Spark type of a property type."""
    return exp.DataType.build(spark_type(arrow_type(type_)).simpleString(), dialect="spark")


def call(name: str, *arguments: exp.Expr) -> exp.Expr:
    """A call of a Spark function under exactly that name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


class Constants:
    """The parameter values and the instant of one run, and the arguments its SQL needs."""

    def __init__(self, params: Mapping[str, Any], now: datetime) -> None:
        self._params = params
        self._now = now
        self.arguments: dict[str, Any] = {}

    def value(self, expr: Expr) -> Any:  # noqa: ANN401
        """The value of a literal, a parameter or `now()`."""
        match expr:
            case Literal():
                return list(expr.value) if isinstance(expr.value, tuple) else expr.value
            case Param():
                return self._params[expr.name]
            case _:
                return self._now

    def typed(self, expr: Expr) -> exp.Expr:
        """A constant as a column of its own type."""
        value = self.value(expr)
        if isinstance(value, list):
            return exp.cast(
                exp.Array(expressions=[self.sql(v) for v in value]), sql_type(expr.type)
            )
        return exp.cast(self.sql(value), sql_type(expr.type))

    def sql(self, value: Any) -> exp.Expr:  # noqa: ANN401
        """One value as SQL."""
        match value:
            case None:
                return exp.null()
            case bool():
                return exp.Boolean(this=value)
            case int():
                return exp.cast(self._argument(value), "bigint")
            case float():
                return exp.cast(self._argument(value), "double")
            case datetime():
                micros = (value - _EPOCH) // _MICROSECOND
                return call("TIMESTAMP_MICROS", exp.cast(self._argument(micros), "bigint"))
            case date():
                days = (value - _EPOCH.date()).days
                return call("DATE_FROM_UNIX_DATE", exp.cast(self._argument(days), "int"))
            case _:
                return self._argument(value)

    def _argument(self, value: Any) -> exp.Expr:  # noqa: ANN401
        name = f"p{len(self.arguments)}"
        self.arguments[name] = value
        return exp.Placeholder(this=name)
