"""The dialect itself: names as they are, casts by Arrow's types, functions by their tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlglot import exp, generator
from sqlglot.dialects.dialect import Dialect

from omnigraph_sql.datafusion.dialect.aggregate_sql import AGGREGATES
from omnigraph_sql.datafusion.dialect.array_sql import ARRAYS
from omnigraph_sql.datafusion.dialect.expression_writer import ExpressionWriter, template
from omnigraph_sql.datafusion.dialect.json_sql import JSONS
from omnigraph_sql.datafusion.dialect.string_sql import TEXTS
from omnigraph_sql.datafusion.dialect.temporal_sql import DATES
from omnigraph_sql.frontend.sql_types import arrow_name, arrow_type, cast_name

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
_Generator = generator.Generator


class DataFusion(Dialect):
    """DataFusion 54's SQL.

    sqlglot's own generator writes it, with a table of functions for what DataFusion writes
    otherwise: a subclass of the generator works in the interpreted build of sqlglot only, not in
    the compiled one (`sqlglotc`).
    """

    INDEX_OFFSET = 1
    TYPED_DIVISION = True
    CONCAT_COALESCE = True
    NULL_ORDERING = "nulls_are_large"
    NORMALIZE_FUNCTIONS = False

    def generator(self, **options: Any) -> generator.Generator:  # noqa: ANN401
        """A generator for one statement."""
        found = generator.Generator(dialect=self, **options)
        casts = _CastWriter()
        # A generator looks up here how to write a node, and nowhere else; its own methods call
        # `cast_sql` only for the two nodes below.
        found._dispatch = {  # noqa: SLF001
            **found._dispatch,  # noqa: SLF001
            **AGGREGATES,
            **ARRAYS,
            **DATES,
            **JSONS,
            **TEXTS,
            **_OPERATORS,
            exp.Cast: casts.write,
            exp.JSONCast: casts.write,
            exp.TryCast: casts.write,
        }
        return found


class _CastWriter:
    """Writes the casts of one statement."""

    def __init__(self) -> None:
        self._grouping: dict[int, tuple[exp.Select, bool]] = {}
        """Which SELECTs compute groups, by id; each is looked through once."""

    def write(self, writer: generator.Generator, expression: exp.Cast) -> str:
        type_ = arrow_type(expression.args["to"])
        name = cast_name(type_)
        inner = expression.this
        if isinstance(inner, exp.JSONExtract) and inner.args.get("requires_json"):
            # A variant that is cast is the value that the JSON holds.
            inner = exp.JSONExtractScalar(this=inner.this, expression=inner.expression)
        value = writer.sql(inner)
        safe = "TRY_" if isinstance(expression, exp.TryCast) else ""
        interval = pa.types.is_interval(type_)
        if name is not None and (interval or not self._is_among_groups(expression)):
            return f"{safe}CAST({value} AS {name})"
        arrow = writer.sql(exp.Literal.string(arrow_name(type_)))
        return f"arrow_{safe.lower()}cast({value}, {arrow})"

    def _is_among_groups(self, node: exp.Expr) -> bool:
        """Whether a SELECT that groups rows or has windows computes an expression.

        DataFusion calls an expression and its cast by one name, and refuses both there; a function
        has another.
        """
        select = node.find_ancestor(exp.Select)
        if select is None:
            return False
        if id(select) not in self._grouping:
            self._grouping[id(select)] = select, _computes_groups(select)
        return self._grouping[id(select)][1]


def _computes_groups(select: exp.Select) -> bool:
    """Whether a SELECT groups rows or has windows."""
    return bool(select.args.get("group")) or any(
        one.find(exp.AggFunc, exp.Window) for one in select.expressions
    )


# --------------------------------------------------------------------------- operators


def _window(self: generator.Generator, expression: exp.Window) -> str:
    # DataFusion ranks rows without a sign, and makes decimals of ranks beside integers.
    written = _Generator.window_sql(self, expression)
    ranks = isinstance(expression.this, _RANKS) and expression.args.get("over")
    return f"CAST({written} AS BIGINT)" if ranks else written


def _div(self: generator.Generator, expression: exp.Div) -> str:
    # A quotient of decimals would keep four digits of the fraction.
    for side in ("this", "expression"):
        value = expression.args[side]
        if _has_fraction(value):
            expression.set(side, exp.cast(value.copy(), "double"))
    return _Generator.div_sql(self, expression)


def _has_fraction(node: exp.Expr) -> bool:
    """Whether a number with a fraction is written out in what is computed."""
    if isinstance(node, exp.Literal):
        return not node.is_string and "." in node.name
    if isinstance(node, exp.Paren | exp.Neg | exp.Add | exp.Sub | exp.Mul):
        return any(_has_fraction(part) for part in node.iter_expressions())
    return False


def _dot(self: generator.Generator, expression: exp.Dot) -> str:
    # DataFusion reads `name.field`, but no field of anything that is computed.
    base = expression.this
    while isinstance(base, exp.Dot):
        base = base.this
    if isinstance(base, exp.Column | exp.Identifier):
        return _Generator.dot_sql(self, expression)
    name = self.sql(exp.Literal.string(expression.expression.name))
    return f"get_field({self.sql(expression, 'this')}, {name})"


def _struct(self: generator.Generator, expression: exp.Struct) -> str:
    parts: list[str] = []
    for position, member in enumerate(expression.expressions):
        name = member.name if isinstance(member, exp.PropertyEQ | exp.Alias) else ""
        value = member.expression if isinstance(member, exp.PropertyEQ) else member.unalias()
        parts.append(self.sql(exp.Literal.string(name or f"c{position}")))
        parts.append(self.sql(value))
    return f"named_struct({', '.join(parts)})"


def _is(self: generator.Generator, expression: exp.Is) -> str:
    # DataFusion loses track of whether its own IS TRUE can be null.
    truth = expression.expression
    if not isinstance(truth, exp.Boolean) or expression.args.get("negate"):
        return _Generator.is_sql(self, expression)
    known = f"coalesce({self.sql(expression, 'this')}, {'false' if truth.this else 'true'})"
    return known if truth.this else f"(NOT {known})"


def _in(self: generator.Generator, expression: exp.In) -> str:
    # DataFusion takes a list with a null for one without when it simplifies.
    values = [value for value in expression.expressions if not isinstance(value, exp.Null)]
    if len(values) == len(expression.expressions):
        return _Generator.in_sql(self, expression)
    unknown = "CAST(NULL AS BOOLEAN)"
    if not values:
        return unknown
    rest = exp.In(this=expression.this.copy(), expressions=[v.copy() for v in values])
    return f"({_Generator.in_sql(self, rest)} OR {unknown})"


def _decode(self: generator.Generator, expression: exp.DecodeCase) -> str:
    subject, *rest = expression.expressions
    found = exp.Case()
    while len(rest) >= 2:
        key, value, *rest = rest
        same = exp.NullSafeEQ(this=subject.copy(), expression=key.copy())
        found = found.when(same, value.copy())
    return self.sql(found.else_(rest[0].copy()) if rest else found)


def _binary(operator: str) -> ExpressionWriter:
    return lambda self, expression: self.binary(expression, operator)


def _distinct(operator: str) -> ExpressionWriter:
    # Unless it ends with a parenthesis, DataFusion reads `a … FROM b AND c` as `b AND c`.
    return lambda self, expression: f"({self.binary(expression, operator)})"


_OPERATORS: dict[type[exp.Expr], ExpressionWriter] = {
    exp.BitwiseNot: template("(-1 - ({this}))"),
    exp.BitwiseXor: _binary("^"),
    exp.CurrentDate: template("current_date()"),
    exp.CurrentTimestamp: template("arrow_cast(now(), 'Timestamp(Microsecond, Some(\"UTC\"))')"),
    exp.DecodeCase: _decode,
    exp.Div: _div,
    exp.Dot: _dot,
    exp.EqualNull: template("({this} IS NOT DISTINCT FROM {expression})"),
    exp.In: _in,
    exp.IntDiv: template("CAST(trunc(CAST({this} AS DOUBLE) / {expression}) AS BIGINT)"),
    exp.Is: _is,
    exp.Mod: _binary("%"),
    exp.NullSafeEQ: _distinct("IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: _distinct("IS DISTINCT FROM"),
    exp.Parameter: template("${this}"),
    exp.Pow: template("power({this}, {expression})"),
    exp.SafeDivide: template("(CAST({this} AS DOUBLE) / NULLIF({expression}, 0))"),
    exp.Struct: _struct,
    exp.Window: _window,
}
