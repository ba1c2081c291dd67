"""`IS NOT DISTINCT FROM` between tables, in a form that DataFusion does not lose.

DataFusion joins by it as by `=`, and remembers that nulls are the same. It forgets that when it
puts several inner joins in another order, and rows of nulls are gone; or it takes the nulls of
other columns for the same, too, when their `=` becomes a part of the join.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from omnigraph_sql.frontend.conjuncts import conjuncts
from omnigraph_sql.frontend.tree_search import find_all
from omnigraph_sql.resolve.rewrite_context import RewriteContext


def rewrite_null_safe_joins(tree: exp.Expr, context: RewriteContext) -> exp.Expr:  # noqa: ARG001
    """Compare structs where sources are joined: these are equal if both hold null.

    SELECT p.name FROM person AS p JOIN item AS i ON p.city IS NOT DISTINCT FROM i.sku
    -> SELECT p.name FROM person AS p JOIN item AS i ON NAMED_STRUCT('value', p.city) =
    NAMED_STRUCT('value', i.sku)
    """
    for select in find_all(tree, exp.Select):
        if select.args.get("joins") or select.parent_select is not None:
            for same in list(_null_safe(select)):
                if same.find(exp.Query) is None and all(
                    side.find(exp.Column) for side in (same.this, same.expression)
                ):
                    same.replace(
                        exp.EQ(this=_in_struct(same.this), expression=_in_struct(same.expression))
                    )
    return tree


def _null_safe(select: exp.Select) -> Iterator[exp.Expr]:
    """The comparisons that are conditions of their own, of joins or of WHERE."""
    where = select.args.get("where")
    conditions = [join.args.get("on") for join in select.args.get("joins") or []]
    for condition in [*conditions, where.this if where else None]:
        for part in conjuncts(condition):
            inner = part.unnest()
            if isinstance(inner, exp.NullSafeEQ):
                yield inner


def _in_struct(side: exp.Expr) -> exp.Expr:
    return exp.func("named_struct", exp.Literal.string("value"), side.copy())
