"""Arrays, series and structs."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph_sql.datafusion.dialect.expression_writer import ExpressionWriter, named_call


def _array(self: generator.Generator, expression: exp.Array) -> str:
    return f"[{self.expressions(expression, flat=True)}]"


def _series(self: generator.Generator, expression: exp.Expr) -> str:
    name = "range" if expression.args.get("is_end_exclusive") else "generate_series"
    parts = [expression.args.get(key) for key in ("start", "end", "step")]
    return self.func(name, *(part for part in parts if part is not None))


ARRAYS: dict[type[exp.Expr], ExpressionWriter] = {
    exp.Array: _array,
    exp.ArrayConcat: lambda self, e: self.func("array_concat", e.this, *e.expressions),
    exp.ArrayContains: named_call("array_has", "this", "expression"),
    exp.ArrayContainsAll: named_call("array_has_all", "this", "expression"),
    exp.ArrayOverlaps: named_call("array_has_any", "this", "expression"),
    exp.ArrayPrepend: named_call("array_prepend", "expression", "this"),
    exp.ArraySize: lambda self, e: f"CAST({self.func('array_length', e.this)} AS BIGINT)",
    exp.ArrayToString: named_call("array_to_string", "this", "expression"),
    exp.Explode: named_call("unnest", "this"),
    exp.ExplodingGenerateSeries: _series,
    exp.GenerateSeries: _series,
    exp.StructExtract: named_call("get_field", "this", "expression"),
}
