"""The dialect itself: names as they are, casts by Arrow's types, functions by their tables."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp, generator
from sqlglot.dialects.dialect import Dialect

from omnigraph_sql.datafusion.dialect.aggregate_sql import AGGREGATES
from omnigraph_sql.datafusion.dialect.array_sql import ARRAYS
from omnigraph_sql.datafusion.dialect.json_sql import JSONS
from omnigraph_sql.datafusion.dialect.string_sql import TEXTS
from omnigraph_sql.datafusion.dialect.temporal_sql import DATES
from omnigraph_sql.frontend.sql_types import arrow_name, arrow_type, cast_name

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)


def _has_fraction(node: exp.Expr) -> bool:
    """Whether a number with a fraction is written out in what is computed."""
    if isinstance(node, exp.Literal):
        return not node.is_string and "." in node.name
    if isinstance(node, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Mul):
        return any(_has_fraction(part) for part in node.iter_expressions())
    return False


def _computes_groups(select: exp.Select) -> bool:
    """Whether a SELECT groups rows or has windows."""
    return bool(select.args.get("group")) or any(
        one.find(exp.AggFunc, exp.Window) for one in select.expressions
    )


class DataFusion(Dialect):
    """DataFusion 54's SQL."""

    INDEX_OFFSET = 1
    TYPED_DIVISION = True
    CONCAT_COALESCE = True
    NULL_ORDERING = "nulls_are_large"
    NORMALIZE_FUNCTIONS = False

    class Generator(generator.Generator):
        """Writes it."""

        TRANSFORMS = {
            **generator.Generator.TRANSFORMS,
            **AGGREGATES,
            **ARRAYS,
            **DATES,
            **JSONS,
            **TEXTS,
        }

        _grouping: dict[int, tuple[exp.Select, bool]] | None = None
        """Which SELECTs compute groups, by id; each is looked through once."""

        def _is_among_groups(self, node: exp.Expr) -> bool:
            """Whether a SELECT that groups rows or has windows computes an expression.

            The engine calls an expression and its cast by one name, and refuses both there; a
            function has another.
            """
            select = node.find_ancestor(exp.Select)
            if select is None:
                return False
            if self._grouping is None:
                self._grouping = {}
            if id(select) not in self._grouping:
                self._grouping[id(select)] = select, _computes_groups(select)
            return self._grouping[id(select)][1]

        def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
            declared = expression.args["to"]
            type_ = arrow_type(declared)
            name = cast_name(type_)
            inner = expression.this
            if isinstance(inner, exp.JSONExtract) and inner.args.get("requires_json"):
                # A variant that is cast is the value that the JSON holds.
                inner = exp.JSONExtractScalar(this=inner.this, expression=inner.expression)
            value = self.sql(inner)
            safe = safe_prefix or ("TRY_" if isinstance(expression, exp.TryCast) else "")
            interval = pa.types.is_interval(type_)
            if name is not None and (interval or not self._is_among_groups(expression)):
                return f"{safe}CAST({value} AS {name})"
            arrow = self.sql(exp.Literal.string(arrow_name(type_)))
            return f"arrow_{'try_' if safe else ''}cast({value}, {arrow})"

        def window_sql(self, expression: exp.Window) -> str:
            # The engine counts places without a sign, and makes decimals of them beside integers.
            found = super().window_sql(expression)
            ranks = isinstance(expression.this, _RANKS) and expression.args.get("over")
            return f"CAST({found} AS BIGINT)" if ranks else found

        def parameter_sql(self, expression: exp.Parameter) -> str:
            return f"${self.sql(expression, 'this')}"

        def mod_sql(self, expression: exp.Mod) -> str:
            return self.binary(expression, "%")

        def intdiv_sql(self, expression: exp.IntDiv) -> str:
            left, right = self.sql(expression, "this"), self.sql(expression, "expression")
            return f"CAST(trunc(CAST({left} AS DOUBLE) / {right}) AS BIGINT)"

        def div_sql(self, expression: exp.Div) -> str:
            # A quotient of decimals would keep four digits of the fraction.
            for side in ("this", "expression"):
                value = expression.args[side]
                if _has_fraction(value):
                    expression.set(side, exp.cast(value.copy(), "double"))
            return super().div_sql(expression)

        def bitwisenot_sql(self, expression: exp.BitwiseNot) -> str:
            return f"(-1 - ({self.sql(expression, 'this')}))"

        def bitwisexor_sql(self, expression: exp.BitwiseXor) -> str:
            return self.binary(expression, "^")

        def pow_sql(self, expression: exp.Pow) -> str:
            return self.func("power", expression.this, expression.expression)

        def safedivide_sql(self, expression: exp.SafeDivide) -> str:
            left, right = self.sql(expression, "this"), self.sql(expression, "expression")
            return f"(CAST({left} AS DOUBLE) / NULLIF({right}, 0))"

        def dot_sql(self, expression: exp.Dot) -> str:
            # The engine reads `name.field`, but no field of anything that is computed.
            base = expression.this
            while isinstance(base, exp.Dot):
                base = base.this
            if isinstance(base, exp.Column | exp.Identifier):
                return super().dot_sql(expression)
            name = self.sql(exp.Literal.string(expression.expression.name))
            return f"get_field({self.sql(expression, 'this')}, {name})"

        def struct_sql(self, expression: exp.Struct) -> str:
            parts: list[str] = []
            for place, member in enumerate(expression.expressions):
                name = member.name if isinstance(member, exp.PropertyEQ | exp.Alias) else ""
                value = (
                    member.expression if isinstance(member, exp.PropertyEQ) else member.unalias()
                )
                parts.append(self.sql(exp.Literal.string(name or f"c{place}")))
                parts.append(self.sql(value))
            return f"named_struct({', '.join(parts)})"

        def currentdate_sql(self, expression: exp.CurrentDate) -> str:
            return "current_date()"

        def currenttimestamp_sql(self, expression: exp.CurrentTimestamp) -> str:
            return "arrow_cast(now(), 'Timestamp(Microsecond, Some(\"UTC\"))')"

        def is_sql(self, expression: exp.Is) -> str:
            # The engine loses track of whether its own IS TRUE can be null.
            wanted = expression.expression
            if not isinstance(wanted, exp.Boolean) or expression.args.get("negate"):
                return super().is_sql(expression)
            known = (
                f"coalesce({self.sql(expression, 'this')}, {'false' if wanted.this else 'true'})"
            )
            return known if wanted.this else f"(NOT {known})"

        def in_sql(self, expression: exp.In) -> str:
            # The engine takes a list with a null for one without when it simplifies.
            values = [value for value in expression.expressions if not isinstance(value, exp.Null)]
            if len(values) == len(expression.expressions):
                return super().in_sql(expression)
            unknown = "CAST(NULL AS BOOLEAN)"
            if not values:
                return unknown
            rest = exp.In(this=expression.this.copy(), expressions=[v.copy() for v in values])
            return f"({super().in_sql(rest)} OR {unknown})"

        def equalnull_sql(self, expression: exp.EqualNull) -> str:
            same = exp.NullSafeEQ(this=expression.this, expression=expression.expression)
            return self.sql(same)

        def nullsafeeq_sql(self, expression: exp.NullSafeEQ) -> str:
            # Unless it ends with a parenthesis, the engine reads `a … FROM b AND c` as `b AND c`.
            return f"({self.binary(expression, 'IS NOT DISTINCT FROM')})"

        def nullsafeneq_sql(self, expression: exp.NullSafeNEQ) -> str:
            return f"({self.binary(expression, 'IS DISTINCT FROM')})"

        def decodecase_sql(self, expression: exp.DecodeCase) -> str:
            subject, *rest = expression.expressions
            found = exp.Case()
            while len(rest) >= 2:
                wanted, value, *rest = rest
                same = exp.NullSafeEQ(this=subject.copy(), expression=wanted.copy())
                found = found.when(same, value.copy())
            return self.sql(found.else_(rest[0].copy()) if rest else found)
