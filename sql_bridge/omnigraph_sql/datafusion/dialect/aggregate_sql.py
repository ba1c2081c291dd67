"""Aggregates."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph_sql.datafusion.dialect.expression_writer import (
    ExpressionWriter,
    named_call,
    template,
)


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


AGGREGATES: dict[type[exp.Expr], ExpressionWriter] = {
    exp.AnyValue: template("first_value({this}) FILTER (WHERE {this} IS NOT NULL)"),
    exp.ApproxDistinct: lambda self, e: f"CAST({self.func('approx_distinct', e.this)} AS BIGINT)",
    exp.ApproxQuantile: template(
        "approx_percentile_cont({quantile}) WITHIN GROUP (ORDER BY {this})"
    ),
    exp.ArgMax: template("first_value({this} ORDER BY {expression} DESC NULLS LAST)"),
    exp.ArgMin: template("first_value({this} ORDER BY {expression} ASC NULLS LAST)"),
    exp.BitwiseAndAgg: named_call("bit_and", "this"),
    exp.BitwiseOrAgg: named_call("bit_or", "this"),
    exp.BitwiseXorAgg: named_call("bit_xor", "this"),
    exp.CountIf: template("count(CASE WHEN {this} THEN 1 END)"),
    exp.First: named_call("first_value", "this"),
    exp.GroupConcat: _listed,
    exp.Last: named_call("last_value", "this"),
    exp.LogicalAnd: named_call("bool_and", "this"),
    exp.LogicalOr: named_call("bool_or", "this"),
    exp.Quantile: template("percentile_cont({quantile}) WITHIN GROUP (ORDER BY {this})"),
    # DataFusion's own is of a type that nothing else here has.
    exp.RegrCount: template(
        "count(CASE WHEN {this} IS NOT NULL AND {expression} IS NOT NULL THEN 1 END)"
    ),
    exp.Variance: named_call("var_samp", "this"),
    exp.VariancePop: named_call("var_pop", "this"),
}
