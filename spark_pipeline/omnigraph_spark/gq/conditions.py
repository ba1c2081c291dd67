"""Conditions of a query as Spark SQL: true, false, or null because an operand is null."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.query.logical import (
    MIRRORED,
    Aggregate,
    Bm25,
    Compare,
    Condition,
    Contains,
    Expr,
    Membership,
    Nearest,
    NodeRef,
    PropertyRef,
    Rrf,
    StartsWith,
    TextMatch,
)
from omnigraph.schema import PropertyType, arrow_type, exact_values, scalar_type
from omnigraph_spark.gq import exact_comparison
from omnigraph_spark.gq.constants import Constants, call, is_constant

Columns = Callable[[PropertyRef | NodeRef], exp.Expr]
"""Where the value of a property, or the id of a node, is found."""


def refuse_search(name: str) -> InvalidInput:
    """The error of a call that needs an index of the whole graph."""
    return InvalidInput(
        f"{name}() needs the search indexes of the graph, which Spark does not have",
        hint="Run the query with Graph.query or `omnigraph query`.",
        details={"function": name},
    )


def value_sql(expr: Expr, columns: Columns, constants: Constants) -> exp.Expr:
    """The value of an expression in a row."""
    match expr:
        case PropertyRef() | NodeRef():
            return columns(expr)
        case TextMatch():
            raise refuse_search(expr.kind)
        case Nearest() | Bm25() | Rrf():
            raise refuse_search(type(expr).__name__.lower())
        case Aggregate():
            raise AssertionError("an aggregate has no value in a row")
        case _:
            return constants.typed(expr)


def condition_sql(condition: Condition, columns: Columns, constants: Constants) -> exp.Expr:
    """Whether a condition holds in a row."""
    match condition:
        case Compare():
            return _compare(condition, columns, constants)
        case Contains():
            return _text("CONTAINS", condition.text, condition.part, columns, constants)
        case StartsWith():
            return _text("STARTSWITH", condition.text, condition.prefix, columns, constants)
        case Membership():
            return _membership(condition, columns, constants)
        case TextMatch():
            raise refuse_search(condition.kind)


def _text(
    function: str, text: Expr, part: Expr, columns: Columns, constants: Constants
) -> exp.Expr:
    operands = [_operand(side, columns, constants) for side in (text, part)]
    return call(function, *operands)


def _operand(expr: Expr, columns: Columns, constants: Constants) -> exp.Expr:
    if not is_constant(expr):
        return value_sql(expr, columns, constants)
    value = constants.value(expr)
    return exp.cast(exp.null(), "string") if value is None else constants.sql(value)


def _compare(condition: Compare, columns: Columns, constants: Constants) -> exp.Expr:
    left, right, op = condition.left, condition.right, condition.operator
    if is_constant(left) and not is_constant(right):
        left, right, op = right, left, MIRRORED[op]
    if not is_constant(right):
        first, second = (value_sql(side, columns, constants) for side in (left, right))
        if left.type.is_numeric:
            return exact_comparison.numbers(op, first, left.type, second, right.type)
        return exact_comparison.compare(op, first, second)
    value = constants.value(right)
    if value is None or (is_constant(left) and constants.value(left) is None):
        return exp.false()
    if is_constant(left):
        return exp.Boolean(this=exact_comparison.holds(op, constants.value(left), value))
    column = value_sql(left, columns, constants)
    return _column_to_constant(op, column, left.type, value, constants)


def _column_to_constant(
    op: Any,  # noqa: ANN401
    column: exp.Expr,
    type_: PropertyType,
    value: Any,  # noqa: ANN401
    constants: Constants,
) -> exp.Expr:
    if type_.is_numeric:
        return exact_comparison.number_to_constant(op, column, type_, value, constants.sql)
    return exact_comparison.compare(op, column, constants.sql(value))


# --------------------------------------------------------------------------- lists


def _membership(condition: Membership, columns: Columns, constants: Constants) -> exp.Expr:
    if is_constant(condition.list):
        return _in_constant(condition, columns, constants)
    values = value_sql(condition.list, columns, constants)
    element = scalar_type(condition.list.type.scalar)
    each = exp.column("x")
    if is_constant(condition.item):
        value = constants.value(condition.item)
        if value is None:
            return exp.false()
        test = _column_to_constant("=", each, element, value, constants)
    else:
        item = value_sql(condition.item, columns, constants)
        test = (
            exact_comparison.numbers("=", each, element, item, condition.item.type)
            if element.is_numeric
            else exact_comparison.compare("=", each, item)
        )
    check = exp.Lambda(this=test, expressions=[exp.to_identifier("x")])
    return call("EXISTS", values, check)


def _in_constant(condition: Membership, columns: Columns, constants: Constants) -> exp.Expr:
    values = [v for v in constants.value(condition.list) or () if v is not None]
    if is_constant(condition.item):
        item = constants.value(condition.item)
        return exp.Boolean(this=item is not None and item in values)
    type_: pa.DataType = arrow_type(condition.item.type)
    known = exact_values(values, type_)
    if not known:
        return exp.false()
    column = value_sql(condition.item, columns, constants)
    return exp.In(this=column, expressions=[constants.sql(value) for value in known])
