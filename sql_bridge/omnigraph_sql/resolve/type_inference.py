"""The Arrow type of an expression: the one inference that every pass asks.

A type is known where DataFusion certainly gives it: columns are followed to the table they come
from, and what is computed from known types is known where DataFusion's rule is. Elsewhere it is
not known (None). A pass for which a likely type does (a cast that is rounded, the type of a
parameter) infers with `guess=True`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.sql_types import arrow_type
from omnigraph_sql.resolve.column_sources import alias_columns, cte_of, owner_of, query_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_DIGITS = 19
"""With so many, a number may be more than 64 bits hold."""
_TYPE_OF_FIRST = (
    *(exp.Paren, exp.Neg, exp.Alias, exp.Abs, exp.Min, exp.Max),
    *(exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue),
)
"""What has the type of its first part."""
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Div)


class TypeInference:
    """The types of a statement's expressions, each inferred once, while one pass reads it.

    A pass may change the tree as long as an expression keeps its type. With `guess`, an expression
    whose type is not known has the likely one: a column that of any table's column of its name,
    an operation that of an operand.
    """

    def __init__(self, context: RewriteContext, *, guess: bool = False) -> None:
        self._context = context
        self._guess = guess
        self._inferred: dict[int, tuple[exp.Expr, pa.DataType | None]] = {}
        self._columns: dict[tuple[int, str, str], pa.DataType | None] = {}

    def of(self, expression: exp.Expr) -> pa.DataType | None:
        """The type of an expression; none where it is not known."""
        inferred = self._inferred.get(id(expression))
        if inferred is None:
            type_ = self._infer(expression)
            if type_ is None and self._guess:
                type_ = self._likely(expression)
            # The expression is kept as well: another one must not get its id.
            inferred = self._inferred[id(expression)] = expression, type_
        return inferred[1]

    def first(self, expressions: Iterable[exp.Expr]) -> pa.DataType | None:
        """The type of the first expression that has a known one."""
        types = (self.of(expression) for expression in expressions)
        return next((type_ for type_ in types if type_ is not None), None)

    # ----------------------------------------------------------------------- expressions

    def _infer(self, expression: exp.Expr) -> pa.DataType | None:
        match expression:
            case exp.Column():
                select = expression.find_ancestor(exp.Select)
                table, name = expression.table.casefold(), expression.name.casefold()
                return self._column(select, table, name) if select is not None else None
            case exp.Null():
                return pa.null()
            case exp.Boolean():
                return pa.bool_()
            case exp.Literal() if expression.is_string:
                return pa.string()
            case exp.Literal() if expression.is_int and len(expression.name) < _DIGITS:
                return pa.int64()
            case exp.Cast():
                return arrow_type(expression.args["to"])
            case exp.Count() | exp.ArraySize():
                return pa.int64()
            case exp.CurrentDate() | exp.Date():
                return pa.date32()
            case exp.CurrentTimestamp():
                return pa.timestamp("us", "UTC")
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._unified([expression.this, *expression.expressions])
            case exp.Nullif():
                return self._unified([expression.this, expression.expression])
            case exp.Case():
                results = [branch.args["true"] for branch in expression.args["ifs"]]
                return self._unified([*results, expression.args.get("default") or exp.null()])
            case exp.Subquery():
                return self._at(expression, 0)
        if isinstance(expression, _ARITHMETIC):
            return self._computed(expression)
        return self.of(expression.this) if isinstance(expression, _TYPE_OF_FIRST) else None

    def _unified(self, parts: Sequence[exp.Expr]) -> pa.DataType | None:
        return unified([self.of(part) for part in parts])

    def _computed(self, expression: exp.Binary) -> pa.DataType | None:
        left, right = self.of(expression.this), self.of(expression.expression)
        if isinstance(expression, exp.Div) and not expression.args.get("typed"):
            return None  # a dialect in which integers have a quotient with a fraction
        if left == pa.date32() and isinstance(expression.expression, exp.Interval):
            return left
        integers = left in INTEGERS and right in INTEGERS
        return unified([left, right]) if integers else None

    def _likely(self, expression: exp.Expr) -> pa.DataType | None:
        match expression:
            case exp.Column():
                return self._named_so(expression)
            case exp.Literal():
                return pa.int64() if expression.name.isdigit() else pa.float64()
            case exp.Array():
                return pa.list_(self.first(expression.expressions) or pa.string())
            case exp.Length():
                return pa.int64()
            case exp.Lower() | exp.Upper() | exp.Concat() | exp.Trim() | exp.Substring():
                return pa.string()
            case exp.Sum() | exp.Coalesce() | exp.Nullif():
                return self.of(expression.this)
            case exp.Avg():
                type_ = self.of(expression.this)
                return type_ if type_ and pa.types.is_decimal(type_) else pa.float64()
            case exp.Stddev() | exp.Sqrt() | exp.Ln() | exp.Exp():
                return pa.float64()
        if not isinstance(expression, _ARITHMETIC):
            return None
        sides = [s for s in expression.iter_expressions() if not isinstance(s, exp.Parameter)]
        types = [type_ for type_ in map(self.of, sides) if type_ is not None]
        fractions = [t for t in types if pa.types.is_floating(t) or pa.types.is_decimal(t)]
        return next(iter([*fractions, *types]), None)

    # ----------------------------------------------------------------------- columns

    def _named_so(self, column: exp.Column) -> pa.DataType | None:
        """The type of a column of that alias, or of that name, anywhere in the statement."""
        name, schema = column.name.casefold(), self._context.sources.get(column.table.casefold())
        if schema is None:
            return self._context.types.get(name)
        return next((field.type for field in schema if field.name.casefold() == name), None)

    def _column(self, select: exp.Select, table: str, name: str) -> pa.DataType | None:
        """The type of a column as the one source that has it says."""
        key = id(select), table, name
        if key not in self._columns:
            self._columns[key] = None  # within its own recursion it is not known
            source = owner_of(name, table, select, self._context)
            self._columns[key] = None if source is None else self._in_source(source, name)
        return self._columns[key]

    def _in_source(self, source: exp.Expr, name: str) -> pa.DataType | None:
        if source.args.get("pivots") or source.args.get("joins"):
            return None
        query, named = query_of(source), alias_columns(source)
        if isinstance(source, exp.Table) and not named:
            schema = self._context.registered.get(source.name)
            if schema is not None:
                types = [field.type for field in schema if field.name.casefold() == name]
                return types[0] if len(types) == 1 else None
            cte = cte_of(source)
            named = alias_columns(cte) if cte is not None else []
        if query is None or not named:
            return self._in_query(query, name)
        positions = [position for position, column in enumerate(named) if column.casefold() == name]
        return self._at(query, positions[0]) if len(positions) == 1 else None

    def _in_query(self, query: exp.Expr | None, name: str) -> pa.DataType | None:
        while isinstance(query, exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Query):
            return None
        names = [one.alias_or_name.casefold() for one in query.selects]
        if names.count(name) == 1:
            return self._at(query, names.index(name), stars=isinstance(query, exp.Select))
        stars = [one for one in query.selects if one.is_star]
        if name in names or len(stars) != 1 or not isinstance(query, exp.Select):
            return None
        table = stars[0].table.casefold() if isinstance(stars[0], exp.Column) else ""
        star = stars[0].this if isinstance(stars[0], exp.Column) else stars[0]
        hidden = (column.name.casefold() for column in star.args.get("except_") or [])
        if star.args.get("replace") or star.args.get("rename") or name in hidden:
            return None
        return self._column(query, table, name)

    def _at(self, query: exp.Expr, position: int, *, stars: bool = False) -> pa.DataType | None:
        """The type of the column at a position; behind a star, only where it is counted as one."""
        while isinstance(query, exp.Subquery):
            query = query.this
        if isinstance(query, exp.SetOperation):
            return unified([self._at(side, position) for side in (query.this, query.expression)])
        if isinstance(query, exp.Values):
            return self._unified([row.expressions[position] for row in query.expressions])
        if not isinstance(query, exp.Select) or position >= len(query.selects):
            return None
        if not stars and any(one.is_star for one in query.selects):
            return None
        return self.of(query.selects[position])


def unified(types: Sequence[pa.DataType | None]) -> pa.DataType | None:
    """What DataFusion makes of several types: one that all have, or the widest integer.

    A null has any type.
    """
    distinct = set(types) - {pa.null()}
    if distinct and distinct <= set(INTEGERS):
        return max(distinct, key=INTEGERS.index)
    return distinct.pop() if len(distinct) == 1 else None
