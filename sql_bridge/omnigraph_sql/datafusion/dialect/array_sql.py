"""Arrays, series and structs."""

from __future__ import annotations

from sqlglot import exp, generator

from omnigraph_sql.datafusion.dialect.string_sql import _named
from omnigraph_sql.datafusion.dialect.temporal_sql import Writer


def _array(self: generator.Generator, expression: exp.Array) -> str:
    return f"[{self.expressions(expression, flat=True)}]"


def _series(self: generator.Generator, expression: exp.Expr) -> str:
    name = "range" if expression.args.get("is_end_exclusive") else "generate_series"
    parts = [expression.args.get(key) for key in ("start", "end", "step")]
    return self.func(name, *(part for part in parts if part is not None))


ARRAYS: dict[type[exp.Expr], Writer] = {
    exp.Array: _array,
    exp.ArrayConcat: lambda self, e: self.func("array_concat", e.this, *e.expressions),
    exp.ArrayContains: _named("array_has", "this", "expression"),
    exp.ArrayContainsAll: _named("array_has_all", "this", "expression"),
    exp.ArrayOverlaps: _named("array_has_any", "this", "expression"),
    exp.ArrayPrepend: _named("array_prepend", "expression", "this"),
    exp.ArraySize: lambda self, e: f"CAST({self.func('array_length', e.this)} AS BIGINT)",
    exp.ArrayToString: _named("array_to_string", "this", "expression"),
    exp.Explode: _named("unnest", "this"),
    exp.ExplodingGenerateSeries: _series,
    exp.GenerateSeries: _series,
    exp.StructExtract: _named("get_field", "this", "expression"),
}
