"""Search and ranking calls.

Their arguments are expressions again, so the checker of those comes as an argument.
"""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.query.check.check_values import vector_literal
from omnigraph.query.check.type_compatibility import a_type
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import (
    DEFAULT_FUZZY_DISTANCE,
    DEFAULT_RRF_K,
    F64,
    I64,
    Aggregate,
    Bm25,
    Expr,
    Literal,
    Nearest,
    NodeRef,
    Param,
    PropertyRef,
    Rrf,
    TextMatch,
)
from omnigraph.query.syntax.tree import (
    Bm25Tree,
    ExprTree,
    ListTree,
    NearestTree,
    PropertyAccess,
    RrfTree,
    TextTree,
)

CheckExpr = Callable[[VariableScope, ExprTree], Expr]


def check_text(scope: VariableScope, tree: TextTree, check: CheckExpr) -> TextMatch:
    code = "T20" if tree.kind == "match_text" else "T19"
    field = _text_field(scope, tree.field, tree.kind, code, check)
    query = _text_query(scope, tree.query, tree.kind, code, check)
    if tree.kind != "fuzzy":
        return TextMatch(tree.kind, field, query)
    distance: Literal | Param = Literal(DEFAULT_FUZZY_DISTANCE, I64)
    if tree.distance is not None:
        distance = _integer(scope, tree.distance, code, "the distance of fuzzy", 0, check)
    return TextMatch("fuzzy", field, query, distance)


def check_bm25(scope: VariableScope, tree: Bm25Tree, check: CheckExpr) -> Bm25:
    field = _text_field(scope, tree.field, "bm25", "T20", check)
    query = _text_query(scope, tree.query, "bm25", "T20", check)
    if not isinstance(query, Literal | Param):
        raise scope.error(
            "T20", "bm25 ranks by one text, a literal or a parameter", tree.query.span
        )
    return Bm25(field, query)


def check_nearest(scope: VariableScope, tree: NearestTree, check: CheckExpr) -> Nearest:
    _refuse_edge(scope, tree.field, "nearest")
    field = check(scope, tree.field)
    if not isinstance(field, PropertyRef) or not field.type.is_vector:
        raise scope.error(
            "T15", f"nearest needs a Vector property, not {a_type(field.type)}", tree.field.span
        )
    query = _vector_query(scope, tree.query, field, check)
    nullable = field.type.nullable or query.type.nullable
    return Nearest(field, query, F64.with_nullable(nullable))


def check_rrf(scope: VariableScope, tree: RrfTree, check: CheckExpr) -> Rrf:
    def arm(part: ExprTree) -> Nearest | Bm25:
        if isinstance(part, NearestTree):
            return check_nearest(scope, part, check)
        if isinstance(part, Bm25Tree):
            return check_bm25(scope, part, check)
        raise scope.error("T21", "rrf fuses nearest(…) and bm25(…) only", part.span)

    first, second = arm(tree.first), arm(tree.second)
    if first.field.variable != second.field.variable:
        raise scope.error(
            "T21",
            f"both arms of rrf must rank the same variable, not `${first.field.variable}` "
            f"and `${second.field.variable}`",
            tree.span,
        )
    k: Literal | Param = Literal(DEFAULT_RRF_K, I64)
    if tree.k is not None:
        k = _integer(scope, tree.k, "T21", "the k of rrf", 1, check)
    return Rrf(first, second, k)


def _integer(
    scope: VariableScope, tree: ExprTree, code: str, what: str, least: int, check: CheckExpr
) -> Literal | Param:
    value = check(scope, tree)
    if not isinstance(value, Literal | Param) or not value.type.is_integer:
        raise scope.error(code, f"{what} is a whole number", tree.span)
    if isinstance(value, Literal) and isinstance(value.value, int) and value.value < least:
        raise scope.error(code, f"{what} is {least} or more", tree.span)
    return value


def _vector_query(
    scope: VariableScope, tree: ExprTree, field: PropertyRef, check: CheckExpr
) -> Expr:
    vector = vector_literal(scope, tree) if isinstance(tree, ListTree) else None
    query = vector or check(scope, tree)
    # A ranking is one order of entities: what it measures from cannot differ from row to row.
    fits = isinstance(query, Literal | Param) and (query.type.is_vector or query.type.is_text)
    if not fits:
        raise scope.error(
            "T15",
            f"nearest searches for {a_type(field.type)} or a String, a literal or a parameter",
            tree.span,
        )
    if query.type.is_vector and query.type.dimension != field.type.dimension:
        raise scope.error(
            "T15",
            f"`{field.property}` is {a_type(field.type)}, the query {a_type(query.type)}",
            tree.span,
        )
    return query


def _text_field(
    scope: VariableScope, tree: ExprTree, call: str, code: str, check: CheckExpr
) -> PropertyRef:
    _refuse_edge(scope, tree, call)
    field = check(scope, tree)
    if not isinstance(field, PropertyRef) or not field.type.is_text:
        raise scope.error(code, f"{call} searches a String property of a node", tree.span)
    return field


def _text_query(
    scope: VariableScope, tree: ExprTree, call: str, code: str, check: CheckExpr
) -> Expr:
    query = check(scope, tree)
    if isinstance(query, NodeRef | Aggregate) or not query.type.is_text:
        raise scope.error(code, f"{call} searches for a String", tree.span)
    return query


def _refuse_edge(scope: VariableScope, tree: ExprTree, call: str) -> None:
    if not isinstance(tree, PropertyAccess):
        return
    info = scope.find(tree.variable.name)
    if info is not None and info.kind == "edge":
        raise scope.error(
            "T23", f"{call} searches nodes, and `${tree.variable.name}` is an edge", tree.span
        )
