"""Shapes that the engine lacks, in shapes that it has."""

from __future__ import annotations

import re

from sqlglot import exp

from omnigraph_sql.scope import Scope

_MONTH_FIRST = re.compile(r"^(\d\d)/(\d\d)/(\d{4})")
_SHORT_OFFSET = re.compile(r"(:\d\d(?:\.\d+)?[+-])(\d)$")


def plain_shapes(tree: exp.Expr, scope: Scope) -> exp.Expr:
    """Columns of recursive WITHs, ORDER BY ALL, FETCH, texts of times, texts added with `+`."""
    for cte in list(tree.find_all(exp.CTE)):
        _push_columns(cte)
    for order in list(tree.find_all(exp.Order)):
        _order_by_all(order)
    for fetch in list(tree.find_all(exp.Fetch)):
        _limit(fetch)
    for cast in tree.find_all(exp.Cast):
        _plain_time(cast, scope)
    if scope.dialect == "tsql":
        for add in list(tree.find_all(exp.Add)):
            if _is_text(add.this) or _is_text(add.expression):
                add.replace(exp.DPipe(this=add.this.copy(), expression=add.expression.copy()))
    return tree


def _push_columns(cte: exp.CTE) -> None:
    """`WITH t(n) AS (SELECT 1 …)` is `WITH t AS (SELECT 1 AS n …)`: recursion needs it so."""
    alias = cte.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return
    columns, first = alias.args.get("columns"), cte.this
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not columns or not isinstance(first, exp.Select) or len(first.expressions) != len(columns):
        return
    if any(projection.is_star for projection in first.expressions):
        return
    named = [
        exp.alias_(projection.unalias(), column.copy())
        for projection, column in zip(first.expressions, columns, strict=True)
    ]
    first.set("expressions", named)
    alias.set("columns", None)


def _plain_time(cast: exp.Cast, scope: Scope) -> None:
    """`-0` at the end is the offset -00; Postgres reads 09/30/2023 as month, day and year."""
    text = cast.this
    if not cast.to.is_type(*exp.DataType.TEMPORAL_TYPES) or not isinstance(text, exp.Literal):
        return
    plain = _SHORT_OFFSET.sub(r"\g<1>0\g<2>", text.name)
    if scope.dialect == "postgres":
        plain = _MONTH_FIRST.sub(r"\g<3>-\g<1>-\g<2>", plain)
    text.set("this", plain)


def _order_by_all(order: exp.Order) -> None:
    select = order.parent
    if len(order.expressions) != 1 or not isinstance(select, exp.Select):
        return
    (key,) = order.expressions
    name = key.this if isinstance(key, exp.Ordered) else key
    if not isinstance(name, exp.Var | exp.Column) or name.name.upper() != "ALL":
        return
    keys = []
    for place in range(1, len(select.expressions) + 1):
        one = key.copy()
        one.set("this", exp.Literal.number(place))
        keys.append(one)
    order.set("expressions", keys)


def _limit(fetch: exp.Fetch) -> None:
    options = fetch.args.get("limit_options")
    special = options is not None and (options.args.get("percent") or options.args.get("with_ties"))
    if fetch.parent is not None and not special:
        count = fetch.args.get("count") or exp.Literal.number(1)
        fetch.parent.set("limit", exp.Limit(expression=count.copy()))


def _is_text(expression: exp.Expr) -> bool:
    return (isinstance(expression, exp.Literal) and expression.is_string) or isinstance(
        expression, exp.DPipe | exp.Concat
    )
