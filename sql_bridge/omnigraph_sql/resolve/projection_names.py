"""What the columns of a result are called."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from omnigraph_sql.frontend.identifiers import quoted

AGAIN = "\x1f"
"""Stands between a name and its number where a name comes again; never shown."""


def shown(name: str) -> str:
    """A column's name without what makes it unique."""
    return name.partition(AGAIN)[0]


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


def named(projection: exp.Expr) -> exp.Expr:
    """A projection under the name of its result; a star, and what has an alias, as it is."""
    if projection.is_star or isinstance(projection, exp.Alias):
        return projection
    return exp.Alias(this=projection, alias=quoted(result_name(projection)))


def projection_called(key: exp.Expr, projections: Iterable[exp.Expr]) -> exp.Expr | None:
    """What the projection computes whose alias a sort or group key names."""
    if isinstance(key, exp.Column) and not key.table:
        for one in projections:
            if isinstance(one, exp.Alias) and one.alias.casefold() == key.name.casefold():
                computed: exp.Expr = one.this
                return computed
    return None


def keep_name(node: exp.Expr, select: exp.Select) -> None:
    """Keep the name of the result of a SELECT that a node is in, whatever replaces the node."""
    projection = node
    while projection.parent is not None and projection.parent is not select:
        projection = projection.parent
    if projection.arg_key == "expressions":
        results = [named(one) if one is projection else one for one in select.expressions]
        select.set("expressions", results)


def hide_from_stars(select: exp.Select, names: Iterable[str], table: str | None = None) -> None:
    """Leave columns that a pass added out of `*`, and out of `t.*` of their table."""
    hidden = list(names)
    for projection in select.expressions if hidden else []:
        star = projection.this if isinstance(projection, exp.Column) else projection
        of = projection.table.casefold() if isinstance(projection, exp.Column) else None
        if isinstance(star, exp.Star) and (of is None or of == (table or "").casefold()):
            star.set("except_", [*(star.args.get("except_") or []), *map(quoted, hidden)])


def projection_names(tree: exp.Expr) -> tuple[str, ...] | None:
    if not isinstance(tree, exp.Query) or any(s.is_star for s in tree.selects):
        return None
    names = tuple(shown(select.alias_or_name) for select in tree.selects)
    return names or None
