"""Unnamed results get a name: unique for the engine, telling for people."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from omnigraph_sql.resolve.rewrite_context import Scope, quoted

AGAIN = "\x1f"
"""Stands between a name and its number where a name comes again; never shown."""


def name_projections(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Name the projections of every SELECT; remember the names of the result."""
    for select in list(tree.find_all(exp.Select)):
        _name(select)
    scope.names = _names(tree)
    return tree


def shown(name: str) -> str:
    """A column's name without what makes it unique."""
    return name.partition(AGAIN)[0]


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


def result_name(expression: exp.Expr) -> str:
    """What the result of an expression is called."""
    match expression:
        case exp.Column() | exp.Dot():
            return expression.name
        case exp.Cast() | exp.Paren() | exp.AtTimeZone():
            return result_name(expression.this)
        case exp.Window() | exp.Filter() | exp.IgnoreNulls() | exp.WithinGroup() | exp.Bracket():
            return result_name(expression.this)
        case exp.Case() | exp.If():
            return "case"
        case exp.Exists():
            return "exists"
        case exp.Array():
            return "array"
        case exp.Subquery():
            first = expression.this.selects[:1] if isinstance(expression.this, exp.Query) else []
            if first and isinstance(first[0], exp.Alias):
                return shown(first[0].alias)
            return result_name(first[0]) if first else "?column?"
        case exp.Anonymous():
            return str(expression.this).lower()
        case exp.Binary() | exp.Unary():
            return "?column?"
        case exp.Func():
            return expression.sql_name().lower()
    return "?column?"


def _names(tree: exp.Expr) -> tuple[str, ...] | None:
    if not isinstance(tree, exp.Query) or any(s.is_star for s in tree.selects):
        return None
    names = tuple(shown(select.alias_or_name) for select in tree.selects)
    return names or None
