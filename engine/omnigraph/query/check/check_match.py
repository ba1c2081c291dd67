"""The clauses of a match, read from left to right: types, directions, scopes.

The rules are docs/design/query-language.md#3-matching.
"""

from __future__ import annotations

from omnigraph.errors import NotFound, QueryTypeError, did_you_mean
from omnigraph.query.check.check_expressions import check_argument, check_filter
from omnigraph.query.check.check_search import check_text
from omnigraph.query.check.check_values import binding_predicate
from omnigraph.query.check.checked_query import CheckedMatch
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import Condition
from omnigraph.query.logical.logical_plan import Direction, Expand, VariableInfo
from omnigraph.query.syntax.tree import (
    ANONYMOUS,
    BindingTree,
    ClauseTree,
    FilterTree,
    NegationTree,
    TextTree,
    TraversalTree,
    VariableTree,
)
from omnigraph.schema.model.catalog import EdgeType


def check_match(scope: VariableScope, clauses: tuple[ClauseTree, ...]) -> CheckedMatch:
    """Check a block of clauses; afterwards the scope knows every variable the block binds."""
    predicates: list[tuple[str, Condition]] = []
    expands: list[Expand] = []
    filters: list[Condition] = []
    negations: list[CheckedMatch] = []
    for clause in clauses:
        match clause:
            case BindingTree():
                predicates += _binding(scope, clause)
            case TraversalTree():
                expands.append(_traversal(scope, clause))
            case FilterTree():
                filters.append(check_filter(scope, clause))
            case TextTree():
                filters.append(check_text(scope, clause, check_argument))
            case NegationTree():
                negations.append(_negation(scope, clause))
    return CheckedMatch(
        variables=dict(scope.own),
        mentioned=dict(scope.mentioned),
        predicates=tuple(predicates),
        expands=tuple(expands),
        filters=tuple(filters),
        negations=tuple(negations),
    )


# --------------------------------------------------------------------------- bindings


def _binding(scope: VariableScope, tree: BindingTree) -> list[tuple[str, Condition]]:
    node = scope.catalog.nodes.get(tree.type.text)
    if node is None:
        raise _unknown_node(scope, tree)
    for pair in tree.pairs:
        if pair.property.text not in node.by_name:
            close = did_you_mean(pair.property.text, tuple(node.by_name))
            raise scope.error(
                "T2",
                f"{node.name} has no property {pair.property.text!r}{close}",
                pair.property.span,
            )
    name = _bound(scope, tree.variable, node.name)
    return [
        (name, binding_predicate(scope, name, pair, node.by_name[pair.property.text]))
        for pair in tree.pairs
    ]


def _bound(scope: VariableScope, variable: VariableTree, type_name: str) -> str:
    info = None if variable.name == ANONYMOUS else scope.find(variable.name)
    if info is None:
        return scope.bind_node(variable, type_name)
    if info.kind == "edge":
        raise scope.error(
            "T23",
            f"`${variable.name}` is an edge {info.type_name} and cannot be a node too",
            variable.span,
        )
    if info.type_name != type_name:
        raise scope.rebound(variable, info.type_name, type_name)
    return variable.name


def _unknown_node(scope: VariableScope, tree: BindingTree) -> QueryTypeError:
    name, catalog = tree.type.text, scope.catalog
    if name in catalog.interfaces:
        problem = f"{name} is an interface; bind one of the node types that implement it"
    else:
        problem = f"unknown node type {name!r}{did_you_mean(name, tuple(catalog.nodes))}"
    return scope.error("T1", problem, tree.type.span)


# --------------------------------------------------------------------------- traversals


def _traversal(scope: VariableScope, tree: TraversalTree) -> Expand:
    edge = _edge(scope, tree)
    low, high = _hops(scope, tree)
    if tree.undirected and edge.src != edge.dst:
        raise scope.error(
            "T22",
            f"`<{tree.edge.text}>` needs an edge between nodes of one type, "
            f"and {edge.name} goes from {edge.src} to {edge.dst}",
            tree.edge.span,
        )
    binding = _edge_binding(scope, tree)
    direction = _direction(scope, tree, edge)
    left_type, right_type = edge.src, edge.dst
    if direction == "reverse":
        left_type, right_type = right_type, left_type
    left = _endpoint(scope, tree.left, left_type, edge)
    right = _endpoint(scope, tree.right, right_type, edge)
    name = binding and scope.bind(binding, VariableInfo("edge", edge.name))
    # An edge between two types cannot follow itself, so one hop is all there is.
    high = high if edge.src == edge.dst else 1
    return Expand(left, edge.name, direction, low, high, right, name)


def _edge(scope: VariableScope, tree: TraversalTree) -> EdgeType:
    try:
        return scope.catalog.edge(tree.edge.text)
    except NotFound:
        names = {name.lower(): name for name in scope.catalog.edges}
        close = did_you_mean(tree.edge.text.lower(), tuple(names))
        raise scope.error("T4", f"unknown edge {tree.edge.text!r}{close}", tree.edge.span) from None


def _hops(scope: VariableScope, tree: TraversalTree) -> tuple[int, int]:
    bounds = tree.bounds
    if bounds is None:
        return 1, 1
    if bounds.high is None:
        raise scope.error("T15", "hop bounds need an upper bound, as in `{1,3}`", bounds.span)
    if bounds.low < 1:
        raise scope.error("T15", "the lower hop bound is 1 or more", bounds.span)
    if bounds.high < bounds.low:
        raise scope.error("T15", "the upper hop bound is below the lower one", bounds.span)
    return bounds.low, bounds.high


def _edge_binding(scope: VariableScope, tree: TraversalTree) -> str | None:
    binding = tree.binding
    if binding is None or binding.name == ANONYMOUS:
        return None
    if tree.bounds is not None:
        raise scope.error(
            "T23",
            f"`${binding.name}` stands for one edge and cannot go with hop bounds",
            binding.span,
        )
    bound = scope.find(binding.name) or scope.reserved.get(binding.name)
    if bound is not None or binding.name in (tree.left.name, tree.right.name):
        raise scope.error(
            "T23",
            f"`${binding.name}` is already bound; give the edge another variable",
            binding.span,
        )
    return binding.name


def _direction(scope: VariableScope, tree: TraversalTree, edge: EdgeType) -> Direction:
    """Which way the edge runs, from what is known of the left variable, else of the right."""
    if tree.undirected:
        return "undirected"
    left, right = _node_type(scope, tree.left), _node_type(scope, tree.right)
    starts_at_dst = left == edge.dst or (left is None and right == edge.src)
    return "reverse" if starts_at_dst and edge.src != edge.dst else "forward"


def _node_type(scope: VariableScope, variable: VariableTree) -> str | None:
    info = None if variable.name == ANONYMOUS else scope.find(variable.name)
    if info is not None and info.kind == "edge":
        raise scope.error(
            "T23",
            f"`${variable.name}` is an edge and cannot be an endpoint of another",
            variable.span,
        )
    return None if info is None else info.type_name


def _endpoint(scope: VariableScope, variable: VariableTree, type_name: str, edge: EdgeType) -> str:
    known = _node_type(scope, variable)
    if known is None:
        return scope.bind_node(variable, type_name)
    if known != type_name:
        raise scope.error(
            "T5",
            f"`${variable.name}` has type {known}, but {edge.name} needs {type_name} at this end",
            variable.span,
        )
    return variable.name


# --------------------------------------------------------------------------- negations


def _negation(scope: VariableScope, tree: NegationTree) -> CheckedMatch:
    inner = scope.inner()
    block = check_match(inner, tree.clauses)
    if not any(name in inner.outer for name in inner.mentioned):
        raise scope.error(
            "T9", "this `not` block mentions no variable that is bound before it", tree.span
        )
    for name, info in inner.mentioned.items():
        if name in inner.outer:
            scope.mentioned[name] = info
        elif not info.anonymous:
            scope.reserve(name, info)
    for name, uses in inner.reserved.items():
        if name not in inner.own:
            scope.reserve(name, *uses)
    return block
