"""Expressions to typed expressions, and filters to conditions."""

from __future__ import annotations

from typing import Literal as OneOf

from omnigraph.errors import QueryTypeError, did_you_mean
from omnigraph.query.check.check_search import check_bm25, check_nearest, check_rrf, check_text
from omnigraph.query.check.check_values import is_empty_list, literal
from omnigraph.query.check.type_compatibility import a_type, compatible, element, same_kind
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import (
    F64,
    I64,
    Aggregate,
    Compare,
    Condition,
    Contains,
    Expr,
    Membership,
    NodeRef,
    Now,
    Param,
    PropertyRef,
    Rrf,
    StartsWith,
)
from omnigraph.query.syntax.tree import (
    AggregateTree,
    Bm25Tree,
    ExprTree,
    FilterTree,
    IdentTree,
    ListTree,
    LiteralTree,
    NearestTree,
    NowTree,
    PropertyAccess,
    RrfTree,
    TextTree,
    VariableTree,
)
from omnigraph.schema.model.catalog import EdgeType, NodeType
from omnigraph.schema.model.property_types import PropertyType

# A filter and the arguments of a call take values; items, keys and aggregates read what is bound.
ClausePosition = OneOf["value", "read"]


def check_expr(scope: VariableScope, tree: ExprTree, position: ClausePosition) -> Expr:
    """The expression with its type."""
    match tree:
        case LiteralTree() | ListTree():
            return literal(scope, tree)
        case NowTree():
            return Now()
        case VariableTree():
            return check_variable(scope, tree, position)
        case PropertyAccess():
            return check_property(scope, tree)
        case TextTree():
            return check_text(scope, tree, check_argument)
        case NearestTree():
            return check_nearest(scope, tree, check_argument)
        case Bm25Tree():
            return check_bm25(scope, tree, check_argument)
        case RrfTree():
            return check_rrf(scope, tree, check_argument)
        case AggregateTree():
            return check_aggregate(scope, tree)
        case IdentTree():
            raise _no_value(scope, tree, position)


def _no_value(scope: VariableScope, tree: IdentTree, position: ClausePosition) -> QueryTypeError:
    problem = f"`{tree.name}` is neither a variable nor a literal; write `${tree.name}` or "
    problem += f'`"{tree.name}"`'
    if tree.name == "null":
        problem = "there is no `null` literal, and null equals nothing"
    return scope.error("T7" if position == "value" else None, problem, tree.span)


def check_argument(scope: VariableScope, tree: ExprTree) -> Expr:
    return check_expr(scope, tree, "value")


def value_type(expr: Expr) -> PropertyType | None:
    """The type of a value; None for a node or an aggregate, which is none."""
    return None if isinstance(expr, NodeRef | Aggregate) else expr.type


# --------------------------------------------------------------------------- variables


def check_variable(
    scope: VariableScope, tree: VariableTree, position: ClausePosition
) -> Param | NodeRef:
    if tree.name in scope.params:
        return Param(tree.name, scope.params[tree.name])
    info = scope.find(tree.name)
    if info is None:
        close = did_you_mean(tree.name, scope.names())
        if position == "value":
            raise scope.error(
                "T14", f"`${tree.name}` is not a declared parameter{close}", tree.span
            )
        raise scope.error("T6", f"`${tree.name}` is not bound{close}", tree.span)
    if info.kind == "edge":
        raise scope.error(
            "T23",
            f"`${tree.name}` is an edge and cannot be used by itself; "
            f"name one of its properties, as in `${tree.name}.property`",
            tree.span,
        )
    return NodeRef(tree.name, info.type_name)


def check_property(scope: VariableScope, tree: PropertyAccess) -> PropertyRef:
    variable = tree.variable.name
    info = scope.find(variable)
    if info is None:
        if variable in scope.params:
            problem = f"`${variable}` is a parameter and has no properties"
        else:
            problem = f"`${variable}` is not bound{did_you_mean(variable, scope.names())}"
        raise scope.error("T6", problem, tree.variable.span)
    types = scope.catalog.nodes if info.kind == "node" else scope.catalog.edges
    owner = types[info.type_name]
    prop = owner.by_name.get(tree.property.text)
    if prop is None:
        raise scope.error("T6", _no_property(owner, tree), tree.property.span)
    if prop.type.is_blob:
        raise scope.error(
            "T24", f"Blob property `{owner.name}.{prop.name}` cannot be read here", tree.span
        )
    return PropertyRef(variable, prop.name, prop.type)


def _no_property(owner: NodeType | EdgeType, tree: PropertyAccess) -> str:
    name = tree.property.text
    if name == "id" and isinstance(owner, NodeType):
        return f"the id of a node is not a property; return `${tree.variable.name}` to get it"
    return f"{owner.name} has no property {name!r}{did_you_mean(name, tuple(owner.by_name))}"


# --------------------------------------------------------------------------- aggregates


def check_aggregate(scope: VariableScope, tree: AggregateTree) -> Aggregate:
    argument = check_expr(scope, tree.argument, "read")
    refuse_blob(scope, argument, tree.argument)
    type_ = value_type(argument)
    if isinstance(argument, Aggregate):
        raise scope.error("T8", "an aggregate cannot hold another aggregate", tree.argument.span)
    if tree.function == "count":
        # An aggregate can be null as far as its description goes, count included.
        return Aggregate("count", argument, I64.with_nullable(True))
    if tree.function in ("sum", "avg"):
        if type_ is None or not type_.is_numeric:
            raise scope.error(
                "T8", f"{tree.function} needs a number, not {described(argument)}", tree.span
            )
        return Aggregate(tree.function, argument, F64.with_nullable(True))
    if type_ is None or not (type_.is_numeric or type_.is_text):
        raise scope.error(
            "T8",
            f"{tree.function} needs a number or a String, not {described(argument)}",
            tree.span,
        )
    return Aggregate(tree.function, argument, type_.with_nullable(True))


def refuse_blob(scope: VariableScope, expr: Expr, tree: ExprTree) -> None:
    """A Blob can be given to a mutation, but not come out of a read."""
    if isinstance(expr, Param) and expr.type.is_blob:
        raise scope.error("T24", f"Blob parameter `${expr.name}` cannot be read", tree.span)


def described(expr: Expr) -> str:
    """The kind of an expression in a message."""
    if isinstance(expr, NodeRef):
        return f"a node {expr.type_name}"
    return "an aggregate" if isinstance(expr, Aggregate) else f"{a_type(expr.type)}"


# --------------------------------------------------------------------------- filters


def check_filter(scope: VariableScope, tree: FilterTree) -> Condition:
    left = check_expr(scope, tree.left, "value")
    right = check_expr(scope, tree.right, "value")
    left_type, right_type = value_type(left), value_type(right)
    if left_type is None or right_type is None:
        raise scope.error(
            "T7", f"{described(left)} cannot be compared with {described(right)}", tree.span
        )
    if isinstance(left, Rrf) or isinstance(right, Rrf):
        raise scope.error("T21", "rrf ranks a result and cannot filter it", tree.span)
    if left_type.is_blob or right_type.is_blob:
        raise scope.error("T7", "a Blob cannot be compared", tree.span)
    if tree.operator == "contains":
        return _contains(scope, tree, left, right)
    if tree.operator == "starts_with":
        _need_texts(scope, tree, left_type, right_type)
        return StartsWith(left, right)
    for type_ in (left_type, right_type):
        if type_.is_list:
            raise scope.error(
                "T7", f"{a_type(type_)} cannot be compared; use `contains`", tree.span
            )
        if type_.is_vector:
            raise scope.error("T7", f"{a_type(type_)} cannot be compared", tree.span)
    if not compatible(left_type, right_type):
        raise scope.error(
            "T7", f"{a_type(left_type)} cannot be compared with {a_type(right_type)}", tree.span
        )
    return Compare(tree.operator, left, right)


def _contains(scope: VariableScope, tree: FilterTree, left: Expr, right: Expr) -> Condition:
    if left.type.is_text:
        _need_texts(scope, tree, left.type, right.type)
        return Contains(left, right)
    if not left.type.is_list:
        raise scope.error(
            "T7",
            f"`contains` needs a list or a String on its left, not {described(left)}",
            tree.span,
        )
    if right.type.is_list or right.type.is_vector:
        raise scope.error("T7", "`contains` takes a single value on its right", tree.span)
    fits = is_empty_list(left) or same_kind(element(left.type).scalar, right.type.scalar)
    if not fits:
        raise scope.error("T7", f"{a_type(left.type)} cannot contain {described(right)}", tree.span)
    return Membership(left, right)


def _need_texts(
    scope: VariableScope, tree: FilterTree, left: PropertyType, right: PropertyType
) -> None:
    for type_ in (left, right):
        if not type_.is_text:
            raise scope.error(
                "T7", f"`{tree.operator}` compares Strings, not {a_type(type_)}", tree.span
            )
