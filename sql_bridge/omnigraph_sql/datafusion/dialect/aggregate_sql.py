"""Aggregates."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph_sql.datafusion.dialect.string_sql import named_call
from omnigraph_sql.datafusion.dialect.temporal_sql import ExpressionWriter


def _listed(self: generator.Generator, expression: exp.GroupConcat) -> str:
    value = expression.this
    order = ""
    distinct = ""
    if isinstance(value, exp.Order):
        order = f" {self.sql(exp.Order(expressions=value.expressions)).strip()}"
        value = value.this
    if isinstance(value, exp.Distinct):
        distinct = "DISTINCT "
        value = value.expressions[0]
    separator = expression.args.get("separator") or exp.Literal.string(",")
    text = f"CAST({self.sql(value)} AS VARCHAR)"
    return f"string_agg({distinct}{text}, {self.sql(separator)}{order})"


def _picked(descending: bool) -> ExpressionWriter:
    """The value where another one is the greatest, or the least."""

    def write(self: generator.Generator, expression: exp.Expr) -> str:
        value, by = self.sql(expression, "this"), self.sql(expression, "expression")
        order = "DESC NULLS LAST" if descending else "ASC NULLS LAST"
        return f"first_value({value} ORDER BY {by} {order})"

    return write


def _any_value(self: generator.Generator, expression: exp.AnyValue) -> str:
    value = self.sql(expression, "this")
    return f"first_value({value}) FILTER (WHERE {value} IS NOT NULL)"


AGGREGATES: dict[type[exp.Expr], ExpressionWriter] = {
    exp.AnyValue: lambda self, e: (
        f"first_value({self.sql(e, 'this')}) FILTER (WHERE {self.sql(e, 'this')} IS NOT NULL)"
    ),
    exp.ApproxDistinct: lambda self, e: f"CAST({self.func('approx_distinct', e.this)} AS BIGINT)",
    exp.ApproxQuantile: lambda self, e: (
        f"approx_percentile_cont({self.sql(e, 'quantile')}) "
        f"WITHIN GROUP (ORDER BY {self.sql(e, 'this')})"
    ),
    exp.ArgMax: _picked(True),
    exp.ArgMin: _picked(False),
    exp.BitwiseAndAgg: named_call("bit_and", "this"),
    exp.BitwiseOrAgg: named_call("bit_or", "this"),
    exp.BitwiseXorAgg: named_call("bit_xor", "this"),
    exp.CountIf: lambda self, e: f"count(CASE WHEN {self.sql(e, 'this')} THEN 1 END)",
    exp.First: named_call("first_value", "this"),
    exp.GroupConcat: _listed,
    exp.Last: named_call("last_value", "this"),
    exp.LogicalAnd: named_call("bool_and", "this"),
    exp.LogicalOr: named_call("bool_or", "this"),
    exp.Quantile: lambda self, e: (
        f"percentile_cont({self.sql(e, 'quantile')}) WITHIN GROUP (ORDER BY {self.sql(e, 'this')})"
    ),
    # The engine's own is of a type that nothing else here has.
    exp.RegrCount: lambda self, e: (
        f"count(CASE WHEN {self.sql(e, 'this')} IS NOT NULL "
        f"AND {self.sql(e, 'expression')} IS NOT NULL THEN 1 END)"
    ),
    exp.Variance: named_call("var_samp", "this"),
    exp.VariancePop: named_call("var_pop", "this"),
}
