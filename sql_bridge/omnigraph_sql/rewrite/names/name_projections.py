"""Unnamed results get a name: unique for DataFusion, telling for people."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.projection_names import AGAIN, projection_names, result_name
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def name_projections(tree: exp.Expr, context: RewriteContext) -> exp.Expr:
    """Name the projections of every SELECT; remember the names of the result.

    SELECT name, COUNT(*), MAX(age) + 1 FROM person AS p GROUP BY 1
    -> SELECT name, COUNT(*) AS "count", MAX(age) + 1 AS "?column?" FROM person AS p GROUP BY 1
    """
    for select in list(find_all(tree, exp.Select)):
        _name(select)
    context.names = projection_names(tree)
    return tree


def _name(select: exp.Select) -> None:
    seen: Counter[str] = Counter()
    named = []
    for projection in select.expressions:
        name = _given_name(projection)
        if name is None:
            name = result_name(projection)
            projection = exp.Alias(this=projection, alias=quoted(name))
        again = seen[name.casefold()]
        seen[name.casefold()] += 1
        if again and name:
            alias = quoted(f"{name}{AGAIN}{again}")
            projection = exp.Alias(this=projection.unalias(), alias=alias)
        named.append(projection)
    select.set("expressions", named)


def _given_name(projection: exp.Expr) -> str | None:
    """The name a projection has already; empty for a star."""
    if projection.is_star or isinstance(projection, exp.Aliases):
        return ""
    if isinstance(projection, exp.Alias):
        return projection.alias
    return projection.name if isinstance(projection, exp.Column) else None
