"""A catalog as a tree of plain values, by identity; and back.

Names of other declarations become their identities, so that renames touch one place only. What
can be added or dropped alone (a property, a constraint, an enum value) has a key of its own.
"""

from __future__ import annotations

import json
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
        kind: {type_.identity: _type_tree(catalog, type_) for type_ in types.values()}
        for kind, types in catalog.by_kind.items()
    }


def _type_tree(catalog: Catalog, type_: TypeDeclaration) -> Tree:
    identity = type_.member_identity
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
    """Everything declared about one property together: it is changed as a whole."""
    grouped: Tree = {}
    for identity, declared in pairs:
        grouped[identity] = (*grouped.get(identity, ()), declared)
    return grouped


def _annotations_tree(annotations: tuple[Annotation, ...]) -> Tree:
    return _grouped((a.name, json.dumps(a.to_json(), sort_keys=True)) for a in annotations)


# --------------------------------------------------------------------------- and back


def catalog_of(tree: Tree, next_identity: int) -> Catalog:
    """The catalog that a tree describes; raises `Dangling`."""
    interfaces, nodes, edges = {}, {}, {}
    for identity, body in tree["interface"].items():
        interface = Interface(**_common("interface", identity, body))
        interfaces[interface.name] = in_identity_order(interface)
    for identity, body in tree["node"].items():
        common = _common("node", identity, body)
        implements = [_name_in(tree["interface"], i) for i in body["implements"]]
        if None in implements:
            raise Dangling("node", identity, body["name"], "an interface")
        node = NodeType(**common, implements=tuple(sorted(map(str, implements))))
        nodes[node.name] = in_identity_order(node)
    for identity, body in tree["edge"].items():
        common = _common("edge", identity, body)
        src, dst = _name_in(tree["node"], body["src"]), _name_in(tree["node"], body["dst"])
        if src is None or dst is None:
            raise Dangling("edge", identity, body["name"], "a node type")
        cardinality = Cardinality(*body["cardinality"])
        edge = EdgeType(**common, src=src, dst=dst, cardinality=cardinality)
        edges[edge.name] = in_identity_order(edge)
    return Catalog(nodes, edges, interfaces, next_identity)


def _name_in(types: Tree, identity: int) -> str | None:
    return types[identity]["name"] if identity in types else None


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
    texts = (text for group in tree.values() for text in group)
    return tuple(sorted((Annotation.from_json(json.loads(text)) for text in texts), key=repr))
