"""Insert, update and delete against the schema.

The rules are docs/design/query-language.md#7-mutations.

A mutation has no scopes and no inference, so its checked form is its plan.
"""

from __future__ import annotations

from omnigraph.common.lexical import NameNode
from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.query.check.check_values import assigned, where_value
from omnigraph.query.check.variable_scope import VariableScope
from omnigraph.query.logical.expressions import STRING
from omnigraph.query.logical.logical_plan import (
    Assignment,
    DeleteEdges,
    DeleteNodes,
    End,
    InsertEdge,
    InsertNode,
    MutationPlan,
    MutationStatement,
    UpdateNodes,
    Where,
)
from omnigraph.query.syntax.tree import (
    DeleteTree,
    InsertTree,
    MutationTree,
    PairTree,
    PredicateTree,
    StatementTree,
    UpdateTree,
)
from omnigraph.schema.model.catalog import EdgeType, NodeType, Property

_ENDS: dict[str, End] = {"from": "src", "to": "dst"}


def check_mutation(scope: VariableScope, tree: MutationTree) -> MutationPlan:
    statements = tuple(_statement(scope, statement) for statement in tree.statements)
    deletes = [isinstance(s, DeleteNodes | DeleteEdges) for s in statements]
    if any(deletes) and not all(deletes):
        raise InvalidInput(
            "a query either inserts and updates or deletes, never both (rule D2)",
            hint="Write two queries.",
        )
    return MutationPlan(statements)


def _statement(scope: VariableScope, tree: StatementTree) -> MutationStatement:
    match tree:
        case InsertTree():
            return _insert(scope, tree)
        case UpdateTree():
            return _update(scope, tree)
        case DeleteTree():
            return _delete(scope, tree)


# --------------------------------------------------------------------------- statements


def _insert(scope: VariableScope, tree: InsertTree) -> InsertNode | InsertEdge:
    target = _target(scope, tree.type, [pair.property.text for pair in tree.sets])
    _check_names(scope, tree.type, tree.sets)
    if isinstance(target, EdgeType):
        ends = {_ENDS[p.property.text]: p for p in tree.sets if p.property.text in _ENDS}
        rest = tuple(p for p in tree.sets if p.property.text not in _ENDS)
        assignments = _assignments(scope, target, rest)
        values = {
            end: assigned(scope, pair.value, STRING, pair.property.text)
            for end, pair in ends.items()
        }
        _check_required(scope, tree, target, {p.property.text for p in tree.sets})
        return InsertEdge(target.name, values["src"], values["dst"], assignments)
    assignments = _assignments(scope, target, tree.sets)
    embeds = _check_required(scope, tree, target, {a.property for a in assignments})
    return InsertNode(target.name, assignments, embeds)


def _update(scope: VariableScope, tree: UpdateTree) -> UpdateNodes:
    node = scope.catalog.nodes.get(tree.type.text)
    if node is None:
        edge = _target(scope, tree.type, [])
        raise scope.error(
            "T16",
            f"{edge.name} is an edge type, and edges are not updated; delete and insert",
            tree.type.span,
        )
    _check_names(scope, tree.type, tree.sets)
    assignments = _assignments(scope, node, tree.sets)
    where = _where(scope, node, tree.where)
    for pair in tree.sets:
        if node.key is not None and pair.property.text in node.key.members:
            raise InvalidInput(
                f"`{pair.property.text}` is part of the key of {node.name} and cannot be updated",
                hint="Delete the node and insert it under its new key.",
                details={"type_name": node.name, "property": pair.property.text},
            )
    return UpdateNodes(node.name, assignments, where)


def _delete(scope: VariableScope, tree: DeleteTree) -> DeleteNodes | DeleteEdges:
    target = _target(scope, tree.type, [tree.where.property.text])
    where = _where(scope, target, tree.where)
    if isinstance(target, EdgeType):
        return DeleteEdges(target.name, where)
    return DeleteNodes(target.name, where)


# --------------------------------------------------------------------------- targets


def _target(scope: VariableScope, name: NameNode, used: list[str]) -> NodeType | EdgeType:
    """The type a statement changes.

    A node and an edge may share a name; the node is meant unless the statement speaks of ends that
    only the edge has.
    """
    node = scope.catalog.nodes.get(name.text)
    if node and not any(word in _ENDS and word not in node.by_name for word in used):
        return node
    try:
        return scope.catalog.edge(name.text)
    except NotFound:
        if node is not None:
            return node
        known = (*scope.catalog.nodes, *scope.catalog.edges)
        raise scope.error(
            "T10", f"unknown type {name.text!r}{did_you_mean(name.text, known)}", name.span
        ) from None


# --------------------------------------------------------------------------- assignments


def _check_names(scope: VariableScope, type_: NameNode, sets: tuple[PairTree, ...]) -> None:
    if not sets:
        raise scope.error("T10", "at least one property must be given", type_.span)
    seen: set[str] = set()
    for pair in sets:
        if pair.property.text in seen:
            raise scope.error(
                "T13", f"`{pair.property.text}` is assigned twice", pair.property.span
            )
        seen.add(pair.property.text)


def _assignments(
    scope: VariableScope, owner: NodeType | EdgeType, sets: tuple[PairTree, ...]
) -> tuple[Assignment, ...]:
    assignments = []
    for pair in sets:
        prop = _property(scope, owner, pair.property)
        value = assigned(scope, pair.value, prop.type, prop.name)
        assignments.append(Assignment(prop.name, prop.type, value))
    return tuple(assignments)


def _check_required(
    scope: VariableScope, tree: InsertTree, owner: NodeType | EdgeType, given: set[str]
) -> tuple[str, ...]:
    """Refuse a missing value; return the vectors that are left to an embedder."""
    if isinstance(owner, EdgeType):
        for end in _ENDS:
            if end not in given:
                raise scope.error("T12", f"{owner.name} needs `{end}`", tree.span)
    embeds = []
    for prop in owner.properties:
        if prop.name in given:
            continue
        if prop.embed is not None and prop.embed.source in given:
            embeds.append(prop.name)
        elif not prop.nullable:
            source = f" or `{prop.embed.source}`, which it is computed from" if prop.embed else ""
            raise scope.error("T12", f"{owner.name} needs `{prop.name}`{source}", tree.span)
    return tuple(embeds)


# --------------------------------------------------------------------------- where


def _where(scope: VariableScope, owner: NodeType | EdgeType, tree: PredicateTree) -> Where:
    name = tree.property.text
    if isinstance(owner, EdgeType) and name in _ENDS:
        value = where_value(scope, tree, STRING)
        return Where(name, STRING, tree.operator, value, end=_ENDS[name])
    type_ = _property(scope, owner, tree.property).type
    return Where(name, type_, tree.operator, where_value(scope, tree, type_))


def _property(scope: VariableScope, owner: NodeType | EdgeType, name: NameNode) -> Property:
    if name.text in owner.by_name:
        return owner.by_name[name.text]
    ends = _ENDS if isinstance(owner, EdgeType) else ()
    close = did_you_mean(name.text, (*owner.by_name, *ends))
    raise scope.error("T11", f"{owner.name} has no property {name.text!r}{close}", name.span)
