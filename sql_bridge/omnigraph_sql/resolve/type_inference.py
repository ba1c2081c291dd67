"""The type of an expression where it is certain, because its columns are followed to a table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.resolve.column_sources import columns_of, query_of_with, sources_of
from omnigraph_sql.resolve.expression_types import type_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_TELLING = (
    exp.Cast,
    exp.Literal,
    exp.Count,
    exp.Length,
    exp.ArraySize,
    exp.CurrentDate,
    exp.CurrentTimestamp,
    exp.Date,
)
"""What has a type of its own, whatever it is made of."""
_KEEPING = (
    *(exp.Paren, exp.Neg, exp.Alias, exp.Abs, exp.Nullif),
    *(exp.Min, exp.Max, exp.Filter, exp.Window, exp.IgnoreNulls, exp.RespectNulls),
    *(exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue),
)
"""What has the type of its first part."""


class TypeInference:
    """The types of a statement's expressions, each told once, while it is read by one pass.

    A pass may change the tree as long as an expression keeps its type.
    """

    def __init__(self, context: RewriteContext) -> None:
        self._context = context
        self._told: dict[int, tuple[exp.Expr, pa.DataType | None]] = {}
        self._columns: dict[tuple[int, str, str], pa.DataType | None] = {}

    def of(self, expression: exp.Expr) -> pa.DataType | None:
        """The type of an expression; none where it is not certain."""
        told = self._told.get(id(expression))
        if told is None:
            # The expression is kept as well: another one must not get its id.
            told = self._told[id(expression)] = expression, self._tell(expression)
        return told[1]

    def _tell(self, expression: exp.Expr) -> pa.DataType | None:
        match expression:
            case exp.Column():
                select = expression.find_ancestor(exp.Select)
                table, name = expression.table.casefold(), expression.name.casefold()
                return self._column(select, table, name) if select is not None else None
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Div():
                return self._computed(expression)
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._agreed([expression.this, *expression.expressions])
            case exp.Case():
                results = [one.args["true"] for one in expression.args["ifs"]]
                return self._agreed([*results, expression.args.get("default") or exp.null()])
            case exp.Subquery():
                return self._at(expression, 0)
        if isinstance(expression, _KEEPING):
            return self.of(expression.this)
        return type_of(expression, self._context) if isinstance(expression, _TELLING) else None

    def _agreed(self, parts: Sequence[exp.Expr]) -> pa.DataType | None:
        return _agreed([self.of(part) for part in parts if not isinstance(part, exp.Null)])

    def _computed(self, expression: exp.Binary) -> pa.DataType | None:
        left, right = self.of(expression.this), self.of(expression.expression)
        if isinstance(expression, exp.Div) and not expression.args.get("typed"):
            return None  # a dialect in which integers have a quotient with a fraction
        if left == pa.date32() and isinstance(expression.expression, exp.Interval):
            return left
        integers = left in INTEGERS and right in INTEGERS
        return _agreed([left, right]) if integers else None

    def _column(self, select: exp.Select, table: str, name: str) -> pa.DataType | None:
        """The type of a column as the one source that has it says."""
        key = id(select), table, name
        if key not in self._columns:
            self._columns[key] = None  # what a recursion asks for is not certain
            self._columns[key] = self._in_sources(select, table, name)
        return self._columns[key]

    def _in_sources(self, select: exp.Select, table: str, name: str) -> pa.DataType | None:
        sources = sources_of(select)
        if table:
            owners = [s for s in sources if s.alias_or_name.casefold() == table]
        elif len(sources) == 1:
            owners = sources
        else:
            known = [(source, columns_of(source, self._context)) for source in sources]
            if any(columns is None for _, columns in known):
                return None
            owners = [source for source, columns in known if columns and name in columns]
        return self._in_source(owners[0], name) if len(owners) == 1 else None

    def _in_source(self, source: exp.Expr, name: str) -> pa.DataType | None:
        alias = source.args.get("alias")
        named = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
        schema = (
            self._context.registered.get(source.name) if isinstance(source, exp.Table) else None
        )
        if source.args.get("pivots") or source.args.get("joins"):
            return None
        if schema is not None:
            found = [f.type for f in schema if f.name.casefold() == name]
            return found[0] if len(found) == 1 and not named else None
        query = query_of_with(source) if isinstance(source, exp.Table) else source.this
        if not isinstance(query, exp.Query):
            return None
        if named:
            places = [i for i, column in enumerate(named) if column.name.casefold() == name]
            return self._at(query, places[0]) if len(places) == 1 else None
        return self._in_query(query, name)

    def _in_query(self, query: exp.Expr, name: str) -> pa.DataType | None:
        while isinstance(query, exp.Subquery):
            query = query.this
        if not isinstance(query, exp.Query):
            return None
        names = [one.alias_or_name.casefold() for one in query.selects]
        if names.count(name) == 1:
            place = names.index(name)
            if isinstance(query, exp.Select):
                return self.of(query.selects[place])
            return self._at(query, place)
        stars = [one for one in query.selects if one.is_star]
        if name in names or len(stars) != 1 or not isinstance(query, exp.Select):
            return None
        (star,) = stars
        said, table = star, ""
        if isinstance(star, exp.Column):
            said, table = star.this, star.table.casefold()
        if any(said.args.get(k) for k in ("except_", "replace", "rename")):
            return None
        return self._column(query, table, name)

    def _at(self, query: exp.Expr, place: int) -> pa.DataType | None:
        """The type of the column at a place."""
        while isinstance(query, exp.Subquery):
            query = query.this
        if isinstance(query, exp.SetOperation):
            return _agreed([self._at(side, place) for side in (query.this, query.expression)])
        if not isinstance(query, exp.Select) or any(one.is_star for one in query.selects):
            return None
        return self.of(query.selects[place]) if place < len(query.selects) else None


def _agreed(types: Sequence[pa.DataType | None]) -> pa.DataType | None:
    """What the engine makes of several types: one that all have, or the widest integer."""
    if types and all(type_ in INTEGERS for type_ in types):
        return max(types, key=INTEGERS.index)
    return types[0] if len(set(types)) == 1 else None
