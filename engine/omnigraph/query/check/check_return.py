"""The items of a return (docs/design/query-language.md#4-returning)."""

from __future__ import annotations

from omnigraph.query.check.check_expressions import check_expr, refuse_blob
from omnigraph.query.check.checked_query import CheckedItem
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import Aggregate, NodeRef, PropertyRef
from omnigraph.query.syntax.tree import ItemTree


def check_return(scope: VariableScope, trees: tuple[ItemTree, ...]) -> tuple[CheckedItem, ...]:
    items = tuple(_item(scope, tree) for tree in trees)
    if is_aggregated(items):
        _check_keys(scope, trees, items)
    return items


def is_aggregated(items: tuple[CheckedItem, ...]) -> bool:
    return any(isinstance(item.expr, Aggregate) for item in items)


def _item(scope: VariableScope, tree: ItemTree) -> CheckedItem:
    expr = check_expr(scope, tree.expr, "read")
    refuse_blob(scope, expr, tree.expr)
    return CheckedItem(expr, None if tree.alias is None else tree.alias.text)


def _check_keys(
    scope: VariableScope, trees: tuple[ItemTree, ...], items: tuple[CheckedItem, ...]
) -> None:
    for tree, item in zip(trees, items, strict=True):
        if not isinstance(item.expr, Aggregate | PropertyRef | NodeRef):
            raise scope.error(
                "T9",
                "beside an aggregate only properties and nodes can be returned, as group keys",
                tree.expr.span,
            )
