"""The correlated subqueries of a SELECT, and which of them DataFusion runs itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from omnigraph_sql.frontend.conjuncts import conjuncts
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.column_sources import is_outer, may_own, sources_of
from omnigraph_sql.resolve.rewrite_context import RewriteContext
from omnigraph_sql.rewrite.subqueries.lift_above_aggregation import is_aggregated

SubqueryKind = Literal["scalar", "quantified", "exists", "source"]


@dataclass(frozen=True)
class CorrelatedSubquery:
    """A query inside a SELECT that needs the SELECT's row."""

    kind: SubqueryKind
    query: exp.Query
    holder: exp.Expr
    """What stands in the SELECT for the query: a Subquery, an EXISTS, a join."""
    outer: tuple[exp.Column, ...]
    """The columns of the SELECT in it."""


def correlated_subqueries(select: exp.Select, context: RewriteContext) -> list[CorrelatedSubquery]:
    """The queries in the expressions of a SELECT that need its row."""
    subqueries: list[CorrelatedSubquery] = []
    for node in select.walk(
        prune=lambda n: n is not select and isinstance(n, exp.Select | exp.SetOperation)
    ):
        if node is select or not isinstance(node, exp.Select | exp.SetOperation):
            continue
        holder: exp.Expr = node
        while isinstance(holder.parent, exp.Subquery | exp.Paren) and not holder.parent.alias:
            holder = holder.parent
        kind: SubqueryKind
        match holder.parent:
            case exp.Exists():
                kind, holder = "exists", holder.parent
            case exp.In() | exp.Any() | exp.All():
                kind = "quantified"
            case exp.From() | exp.Join() | exp.Lateral() | exp.CTE() | exp.SetOperation() | None:
                continue
            case _ if isinstance(holder, exp.Subquery) and not holder.alias:
                kind = "scalar"
            case _:
                continue
        outer = _outer_columns(node, select, context)
        if outer:
            subqueries.append(CorrelatedSubquery(kind, node, holder, tuple(outer)))
    return subqueries


def correlated_sources(select: exp.Select, context: RewriteContext) -> list[CorrelatedSubquery]:
    """The joined queries that need rows of the sources before them."""
    sources: list[CorrelatedSubquery] = []
    for join in select.args.get("joins") or []:
        source = join.this
        lateral = isinstance(source, exp.Lateral)
        derived = source.this if lateral else source
        if not isinstance(derived, exp.Subquery) or not isinstance(derived.this, exp.Query):
            continue
        outer = _outer_columns(derived.this, select, context)
        if not lateral:
            outer = [column for column in outer if column.table in context.domains]
        subquery = CorrelatedSubquery("source", derived.this, join, tuple(outer))
        if outer and not (lateral and runs_natively(subquery, select)):
            sources.append(subquery)
    return sources


def _outer_columns(
    query: exp.Expr, select: exp.Select, context: RewriteContext
) -> list[exp.Column]:
    """The columns in a query that are the SELECT's; none where some are of a query further out."""
    columns: list[exp.Column] = []
    sources = sources_of(select)
    for column in find_all(query, exp.Column):
        sorting = column.find_ancestor(exp.Order, exp.Select)
        if isinstance(sorting, exp.Order) and isinstance(sorting.parent, exp.SetOperation):
            continue
        if not is_outer(column, query, context) or _is_alias(column, query):
            continue
        if not any(may_own(source, column, context) for source in sources):
            return []
        columns.append(column)
    return columns


def _is_alias(column: exp.Column, query: exp.Expr) -> bool:
    """Whether a name is that of a result of a SELECT it stands in."""
    inside = column.find_ancestor(exp.Select) if not column.table else None
    while inside is not None:
        if any(
            isinstance(one, exp.Alias) and one.alias.casefold() == column.name.casefold()
            for one in inside.expressions
        ):
            return True
        inside = inside.find_ancestor(exp.Select) if inside is not query else None
    return False


def has_always_a_row(query: exp.Expr) -> bool:
    """Whether a query gives a row whatever its tables hold: an aggregate of all rows does."""
    return isinstance(query, exp.Select) and is_aggregated(query) and not limits_rows(query)


def limits_rows(query: exp.Expr) -> bool:
    """Whether a query groups its rows, or leaves some out behind WHERE."""
    clauses = ("group", "having", "limit", "offset", "qualify")
    return any(query.args.get(clause) for clause in clauses)


def runs_natively(subquery: CorrelatedSubquery, select: exp.Select) -> bool:
    """Whether DataFusion runs a subquery as it stands."""
    query = subquery.query
    if not isinstance(query, exp.Select) or limits_rows(query):
        return False
    if any(one.find(exp.Window) for one in query.selects):
        return False
    where = query.args.get("where")
    if where is None or not all(
        column.find_ancestor(exp.Where, exp.Select) is where and column.parent_select is query
        for column in subquery.outer
    ):
        return False
    aggregated = is_aggregated(query)
    if subquery.kind == "exists":
        # Without one, DataFusion loops over both sides and mixes up which columns it needs.
        return any(_equalities(subquery))
    if subquery.kind == "quantified":
        return not aggregated or all(_equalities(subquery))
    if subquery.kind == "source" and not aggregated:
        return True
    inside = subquery.holder.find_ancestor(exp.Order, exp.AggFunc, exp.Filter, exp.Select)
    return (
        aggregated
        and (subquery.kind == "source" or inside is select)
        and all(_equalities(subquery))
    )


def _equalities(subquery: CorrelatedSubquery) -> Iterator[bool]:
    """Of every condition on outer columns, whether it says that something is `=` to them."""
    where = subquery.query.args["where"]
    for part in conjuncts(where.this):
        mine = [
            column for column in find_all(part, exp.Column) if _is_one_of(column, subquery.outer)
        ]
        if not mine:
            continue
        if not isinstance(part, exp.EQ):
            yield False
            continue
        sides = [
            [_is_one_of(c, mine) for c in find_all(side, exp.Column)]
            for side in (part.this, part.expression)
        ]
        yield any(s and all(s) for s in sides) and any(s and not any(s) for s in sides)


def _is_one_of(node: exp.Expr, nodes: Sequence[exp.Expr]) -> bool:
    return any(node is one for one in nodes)
