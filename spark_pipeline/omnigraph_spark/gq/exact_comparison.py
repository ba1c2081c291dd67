"""Numbers compared by value across widths, where Spark would round one of them first."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from omnigraph.query.logical import MIRRORED, Comparison
from omnigraph.schema import PropertyType, Scalar

OPERATORS: dict[Comparison, type[exp.Binary]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_PYTHON: dict[Comparison, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EXACT = 2**53
_TWO_63 = 2.0**63

Sql = Callable[[Any], exp.Expr]
"""A value as SQL."""


def compare(op: Comparison, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The comparison in Spark SQL."""
    return OPERATORS[op](this=left.copy(), expression=right.copy())


def holds(op: Comparison, left: Any, right: Any) -> bool:  # noqa: ANN401
    """The comparison of two values, neither of which is null."""
    return _PYTHON[op](left, right)


def number_to_constant(
    op: Comparison, column: exp.Expr, type_: PropertyType, value: int | float, sql: Sql
) -> exp.Expr:
    """A numeric column against a number, exactly."""
    if type_.scalar in (Scalar.F32, Scalar.F64):
        return _float_to_constant(op, column, value, sql)
    if isinstance(value, int) or value.is_integer():
        return _whole_to_constant(op, column, int(value), sql)
    match op:
        case "<" | "<=":
            return _whole_to_constant("<=", column, math.floor(value), sql)
        case ">" | ">=":
            return _whole_to_constant(">=", column, math.ceil(value), sql)
        case _:
            return known(column, op == "!=")


def _whole_to_constant(op: Comparison, column: exp.Expr, value: int, sql: Sql) -> exp.Expr:
    if -(2**63) <= value < 2**63:
        return compare(op, column, sql(value))
    if 0 <= value < 2**64:
        return compare(op, column, exp.cast(exp.Literal.string(str(value)), "decimal(20,0)"))
    return known(column, holds(op, 0, value))


def known(column: exp.Expr, answer: bool) -> exp.Expr:
    """One answer for every value, and none for null."""
    return exp.Is(this=column.copy(), expression=exp.null()).not_() if answer else exp.false()


def _float_to_constant(op: Comparison, column: exp.Expr, value: int | float, sql: Sql) -> exp.Expr:
    if isinstance(value, float) or abs(value) <= _EXACT or int(float(value)) == value:
        return compare(op, exp.cast(column, "double"), sql(float(value)))
    near = float(value)
    below = near if near < value else math.nextafter(near, -math.inf)
    match op:
        case "<" | "<=":
            return compare("<=", exp.cast(column, "double"), sql(below))
        case ">" | ">=":
            return compare(">", exp.cast(column, "double"), sql(below))
        case _:
            return known(column, op == "!=")


def numbers(
    op: Comparison,
    left: exp.Expr,
    left_type: PropertyType,
    right: exp.Expr,
    right_type: PropertyType,
) -> exp.Expr:
    """Two numeric columns, exactly."""
    floats = tuple(t.scalar in (Scalar.F32, Scalar.F64) for t in (left_type, right_type))
    if floats == (False, True):
        return _whole_to_float(op, left, right)
    if floats == (True, False):
        return _whole_to_float(MIRRORED[op], right, left)
    return compare(op, left, right)


def _whole_to_float(op: Comparison, whole: exp.Expr, number: exp.Expr) -> exp.Expr:
    """-1, 0 or 1 as the integer is below, at or above the float, compared with 0."""
    number = exp.cast(number, "double")
    whole = exp.cast(whole, "decimal(20,0)")
    floor = _floor(number)
    below, above = exp.Literal.number("-1"), exp.Literal.number("1")
    sign = (
        exp.Case()
        .when(compare(">=", number, _double(2.0**64)), below)
        .when(compare("<", number, _double(-_TWO_63)), above)
        .when(compare("<", whole, floor), below)
        .when(compare(">", whole, floor), above)
        .when(compare(">", number, exp.cast(floor, "double")), below)
        .else_(exp.Literal.number("0"))
    )
    known_operands = exp.and_(
        *(exp.Is(this=side.copy(), expression=exp.null()).not_() for side in (whole, number))
    )
    return exp.and_(known_operands, compare(op, sign, exp.Literal.number("0")))


def _floor(number: exp.Expr) -> exp.Expr:
    """The integer at or below a float between -2**63 and 2**64, with all its digits.

    A cast to a decimal goes through the shortest decimal text of a float and loses digits; a cast
    to a long does not, so what is above the longs is cast in two parts.
    """

    def whole(value: exp.Expr) -> exp.Expr:
        return exp.cast(exp.func("FLOOR", value), "decimal(20,0)")

    above = exp.Add(
        this=whole(exp.Sub(this=number.copy(), expression=_double(_TWO_63))),
        expression=exp.cast(exp.Literal.string(str(2**63)), "decimal(20,0)"),
    )
    return (
        exp.Case()
        .when(compare("<", number, _double(_TWO_63)), whole(number.copy()))
        .else_(exp.cast(above, "decimal(20,0)"))
    )


def _double(value: float) -> exp.Expr:
    return exp.cast(exp.Literal.string(repr(value)), "double")
