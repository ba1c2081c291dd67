"""The Arrow type of an expression, where that is easily told."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def first_type(others: Sequence[exp.Expr], context: RewriteContext) -> pa.DataType | None:
    """The type of the first expression that has a known one."""
    found = (type_of(other, context) for other in others)
    return next((type_ for type_ in found if type_ is not None), None)


def type_of(expression: exp.Expr, context: RewriteContext) -> pa.DataType | None:
    """The type of an expression; none where only the engine knows."""
    match expression:
        case exp.Column():
            return _column_type(expression, context)
        case exp.Paren() | exp.Neg() | exp.Alias() | exp.Distinct():
            return type_of(expression.this, context) if expression.this else None
        case exp.Cast():
            return arrow_type(expression.args["to"])
        case exp.Literal():
            return _literal_type(expression)
        case exp.Boolean():
            return pa.bool_()
        case exp.Array():
            item = first_type(expression.expressions, context)
            return pa.list_(item or pa.string())
        case exp.Count() | exp.Length() | exp.ArraySize():
            return pa.int64()
        case exp.Lower() | exp.Upper() | exp.Concat() | exp.Trim() | exp.Substring():
            return pa.string()
        case exp.Sum() | exp.Min() | exp.Max() | exp.Coalesce() | exp.Abs() | exp.Nullif():
            return type_of(expression.this, context)
        case exp.Avg() | exp.Stddev() | exp.Sqrt() | exp.Ln() | exp.Exp():
            return pa.float64()
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return _arithmetic_type(expression, context)
        case exp.CurrentDate() | exp.Date():
            return pa.date32()
        case exp.CurrentTimestamp():
            return pa.timestamp("us", "UTC")
    return None


def _column_type(column: exp.Column, context: RewriteContext) -> pa.DataType | None:
    source = context.sources.get(column.table.casefold())
    if source is None:
        return context.types.get(column.name.casefold())
    fields = {field.name.casefold(): field.type for field in source}
    return fields.get(column.name.casefold())


def _literal_type(literal: exp.Literal) -> pa.DataType:
    if literal.is_string:
        return pa.string()
    return pa.int64() if literal.name.isdigit() else pa.float64()


def _arithmetic_type(expression: exp.Binary, context: RewriteContext) -> pa.DataType | None:
    sides = [
        s for s in (expression.this, expression.expression) if not isinstance(s, exp.Parameter)
    ]
    types = [type_of(side, context) for side in sides]
    for type_ in types:
        if type_ is not None and (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
            return type_
    return next((type_ for type_ in types if type_ is not None), None)
