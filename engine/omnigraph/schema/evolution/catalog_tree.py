"""A catalog as a tree of plain values, by identity; and back.

Names of other declarations become their identities, so that renames touch one place only. What
can be added or dropped alone (a property, a constraint, an enum value) has a key of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from omnigraph.schema.compiler.assign_identities import in_identity_order
from omnigraph.schema.model.catalog import (
    Annotation,
    Catalog,
    EdgeType,
    Embed,
    Interface,
    Kind,
    NodeType,
    Property,
    TypeDeclaration,
)
from omnigraph.schema.model.constraints import Cardinality, Index, Key, PatternCheck, Range, Unique
from omnigraph.schema.model.property_types import PropertyType

Tree = dict[Any, Any]
_ENDS = ("src", "dst")


class Dangling(Exception):
    """A declaration of a tree refers to one that is not in it."""

    def __init__(self, kind: Kind, identity: int, name: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.identity = identity
        self.name = name
        self.what = what


def tree_of(catalog: Catalog) -> Tree:
    """Per kind and identity everything that is declared; rename hints are history."""
    return {
        "interface": {i.identity: _type_tree(catalog, i) for i in catalog.interfaces.values()},
        "node": {n.identity: _type_tree(catalog, n) for n in catalog.nodes.values()},
        "edge": {e.identity: _type_tree(catalog, e) for e in catalog.edges.values()},
    }


def _type_tree(catalog: Catalog, type_: TypeDeclaration) -> Tree:
    def identity(member: str) -> int | str:
        return member if member in _ENDS else type_.by_name[member].identity

    implied = type_.key and Index(type_.key.members)
    tree: Tree = {
        "name": type_.name,
        "properties": {p.identity: _property_tree(type_, p) for p in type_.properties},
        "key": tuple(identity(m) for m in type_.key.members) if type_.key else None,
        "uniques": {frozenset(map(identity, u.members)): True for u in type_.uniques},
        "indexes": {
            frozenset(map(identity, i.members)): True for i in type_.indexes if i != implied
        },
        "ranges": _grouped((identity(r.prop), (r.lo, r.hi)) for r in type_.ranges),
        "checks": _grouped((identity(c.prop), c.pattern) for c in type_.checks),
        "description": type_.description,
        "instruction": type_.instruction,
        "annotations": _annotations_tree(type_.annotations),
    }
    if isinstance(type_, NodeType):
        tree["implements"] = {catalog.interfaces[i].identity: True for i in type_.implements}
    if isinstance(type_, EdgeType):
        tree["src"] = catalog.node(type_.src).identity
        tree["dst"] = catalog.node(type_.dst).identity
        tree["cardinality"] = (type_.cardinality.min, type_.cardinality.max)
    return tree


def _property_tree(owner: TypeDeclaration, prop: Property) -> Tree:
    body = prop.type.to_json()
    embed = prop.embed
    return {
        "name": prop.name,
        "type": body | {"values": dict.fromkeys(prop.type.values, True)},
        "annotations": _annotations_tree(prop.annotations),
        "description": prop.description,
        "embed": (owner.by_name[embed.source].identity, embed.model) if embed else None,
        # As text, because 1, 1.0 and true are different defaults and equal numbers.
        "default": None if prop.default is None else json.dumps(prop.default),
    }


def _grouped(pairs: Any) -> Tree:  # noqa: ANN401
    """Everything that is said of one property together: it is changed as a whole."""
    found: Tree = {}
    for identity, what in pairs:
        found[identity] = (*found.get(identity, ()), what)
    return found


def _annotations_tree(annotations: tuple[Annotation, ...]) -> Tree:
    return _grouped((a.name, json.dumps(a.to_json(), sort_keys=True)) for a in annotations)


# --------------------------------------------------------------------------- and back


def catalog_of(tree: Tree, next_identity: int) -> Catalog:
    """The catalog that a tree describes; raises `Dangling`."""
    names = {kind: {i: t["name"] for i, t in tree[kind].items()} for kind in tree}
    interfaces = [
        in_identity_order(Interface(**_common("interface", identity, body)))
        for identity, body in tree["interface"].items()
    ]
    nodes = [
        in_identity_order(
            NodeType(
                **_common("node", identity, body),
                implements=tuple(
                    sorted(
                        _named(names["interface"], i, "node", identity, body, "an interface")
                        for i in body["implements"]
                    )
                ),
            )
        )
        for identity, body in tree["node"].items()
    ]
    edges = [
        in_identity_order(
            EdgeType(
                **_common("edge", identity, body),
                src=_named(names["node"], body["src"], "edge", identity, body, "a node type"),
                dst=_named(names["node"], body["dst"], "edge", identity, body, "a node type"),
                cardinality=Cardinality(*body["cardinality"]),
            )
        )
        for identity, body in tree["edge"].items()
    ]
    return Catalog(
        {node.name: node for node in nodes},
        {edge.name: edge for edge in edges},
        {interface.name: interface for interface in interfaces},
        next_identity,
    )


def _named(
    names: Mapping[int, str], wanted: int, kind: Kind, identity: int, body: Tree, what: str
) -> str:
    if wanted not in names:
        raise Dangling(kind, identity, body["name"], what)
    return names[wanted]


def _common(kind: Kind, identity: int, body: Tree) -> dict[str, Any]:
    names: dict[Any, str] = {i: p["name"] for i, p in body["properties"].items()}
    if kind == "edge":
        names |= {end: end for end in _ENDS}

    def name(member: Any) -> str:  # noqa: ANN401
        if member not in names:
            raise Dangling(kind, identity, body["name"], "a property")
        return names[member]

    def members(constraint: Any) -> tuple[str, ...]:  # noqa: ANN401
        return tuple(name(member) for member in constraint)

    properties = [_property(i, p, name) for i, p in body["properties"].items()]
    ranges = [Range(name(i), *b) for i, bounds in body["ranges"].items() for b in bounds]
    checks = [PatternCheck(name(i), p) for i, patterns in body["checks"].items() for p in patterns]
    return {
        "name": body["name"],
        "identity": identity,
        "properties": tuple(sorted(properties, key=lambda prop: prop.name)),
        "key": Key(members(body["key"])) if body.get("key") else None,
        "uniques": tuple(Unique(members(unique)) for unique in body["uniques"]),
        "indexes": tuple(Index(members(index)) for index in body["indexes"]),
        "ranges": tuple(sorted(ranges, key=str)),
        "checks": tuple(sorted(checks, key=str)),
        "description": body.get("description"),
        "instruction": body.get("instruction"),
        "annotations": _annotations(body["annotations"]),
    }


def _property(identity: int, body: Tree, name: Any) -> Property:  # noqa: ANN401
    embed, default = body.get("embed"), body.get("default")
    return Property(
        body["name"],
        PropertyType.from_json(body["type"] | {"values": sorted(body["type"]["values"])}),
        identity,
        _annotations(body["annotations"]),
        body.get("description"),
        Embed(name(embed[0]), embed[1]) if embed else None,
        None if default is None else json.loads(default),
    )


def _annotations(tree: Tree) -> tuple[Annotation, ...]:
    found = [Annotation.from_json(json.loads(text)) for texts in tree.values() for text in texts]
    return tuple(sorted(found, key=repr))
