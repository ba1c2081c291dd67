"""The keys of an order and what they demand of the rest.

The rules are docs/design/query-language.md#5-ordering and docs/design/query-language.md#6-search.
"""

from __future__ import annotations

from omnigraph.errors import did_you_mean
from omnigraph.query.check.check_expressions import check_expr, refuse_blob
from omnigraph.query.check.check_return import is_aggregated
from omnigraph.query.check.checked_query import CheckedItem
from omnigraph.query.check.type_compatibility import a_type
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import Bm25, Expr, Nearest, PropertyRef, Ranking, Rrf
from omnigraph.query.logical.logical_plan import OrderKey
from omnigraph.query.syntax.tree import IdentTree, KeyTree, ReadTree

_Items = tuple[CheckedItem, ...]


def check_order(
    scope: VariableScope, tree: ReadTree, items: _Items
) -> tuple[Ranking | None, tuple[OrderKey, ...]]:
    """The ranking call that leads the order, if any, and the other keys.

    The alias of a ranking call leads like the call itself; further back it sorts by its value.
    """
    found = [_expr(scope, key, items) for key in tree.keys]
    _check_limit(scope, tree, [expr for expr, _ in found])
    rank: Ranking | None = None
    keys: list[OrderKey] = []
    for position, (key, (expr, column)) in enumerate(zip(tree.keys, found, strict=True)):
        if is_aggregated(items):
            keys.append(_output_key(scope, key, expr, column, items))
        elif isinstance(expr, Nearest | Bm25 | Rrf) and (position == 0 or column is None):
            _check_ranking_key(scope, key, position, expr)
            rank = expr
        else:
            keys.append(_key(scope, key, expr, column))
    return rank, tuple(keys)


def _expr(scope: VariableScope, key: KeyTree, items: _Items) -> tuple[Expr, int | None]:
    """What a key sorts by, and the column it names when it is an alias."""
    if not isinstance(key.expr, IdentTree):
        expr = check_expr(scope, key.expr, "read")
        refuse_blob(scope, expr, key.expr)
        return expr, None
    named = [position for position, item in enumerate(items) if item.alias == key.expr.name]
    if not named:
        aliases = tuple(item.alias for item in items if item.alias is not None)
        close = did_you_mean(key.expr.name, aliases)
        raise scope.error(None, f"no column is called `{key.expr.name}`{close}", key.expr.span)
    if len(named) > 1:
        raise scope.error(None, f"several columns are called `{key.expr.name}`", key.expr.span)
    return items[named[0]].expr, named[0]


def _check_limit(scope: VariableScope, tree: ReadTree, exprs: list[Expr]) -> None:
    for key, expr in zip(tree.keys, exprs, strict=True):
        if isinstance(expr, Rrf) and tree.limit is None:
            raise scope.error("T21", "an order by rrf needs a `limit`", key.expr.span)
        if isinstance(expr, Nearest) and tree.limit is None:
            raise scope.error("T17", "an order by nearest needs a `limit`", key.expr.span)
    if any(isinstance(key.expr, IdentTree) for key in tree.keys):
        for key, expr in zip(tree.keys, exprs, strict=True):
            if isinstance(expr, Nearest) and not isinstance(key.expr, IdentTree):
                raise scope.error(
                    "T18", "`order by nearest` cannot be combined with an alias", key.expr.span
                )


def _check_ranking_key(scope: VariableScope, key: KeyTree, position: int, expr: Ranking) -> None:
    if position > 0:
        raise scope.error(None, "a ranking call can only be the first key", key.expr.span)
    if isinstance(expr, Nearest) and key.descending:
        raise scope.error(None, "nearest always puts the nearest first", key.expr.span)


def _output_key(
    scope: VariableScope, key: KeyTree, expr: Expr, column: int | None, items: _Items
) -> OrderKey:
    if column is None and isinstance(expr, PropertyRef):
        returned = (n for n, item in enumerate(items) if item.expr == expr and item.alias is None)
        column = next(returned, None)
    if column is None:
        raise scope.error(
            None,
            "beside an aggregate only a returned column can be a key: "
            "its alias, or a property that is returned without one",
            key.expr.span,
        )
    _check_sortable(scope, key, expr)
    return OrderKey(column, key.descending)


def _key(scope: VariableScope, key: KeyTree, expr: Expr, column: int | None) -> OrderKey:
    if column is None and not isinstance(expr, PropertyRef):
        raise scope.error(None, "a key is a property, an alias or a ranking call", key.expr.span)
    _check_sortable(scope, key, expr)
    return OrderKey(expr, key.descending)


def _check_sortable(scope: VariableScope, key: KeyTree, expr: Expr) -> None:
    if expr.type.is_list or expr.type.is_vector:
        raise scope.error("T7", f"{a_type(expr.type)} cannot be sorted by", key.expr.span)
