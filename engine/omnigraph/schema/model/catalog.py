"""The compiled schema: every type with its effective properties, constraints and identities.

A catalog is a value. It is stored in the graph as `to_json()` and read back with `from_json()`
without loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal, Self

from omnigraph.errors import FormatTooNew, NotFound, did_you_mean
from omnigraph.schema.model.constraints import (
    Cardinality,
    Constraint,
    Index,
    Key,
    PatternCheck,
    Range,
    Unique,
    constraint_from_json,
)
from omnigraph.schema.model.property_types import IndexKind, PropertyType

FORMAT = 1  # of the JSON form

Value = str | int | float | bool
Kind = Literal["node", "edge", "interface"]


@dataclass(frozen=True)
class Annotation:
    """An annotation without behaviour, kept as it was written; `bare` means without quotes."""

    name: str
    argument: Value | None = None
    keywords: tuple[tuple[str, Value], ...] = ()
    bare: bool = False

    def to_json(self) -> dict[str, Any]:
        return _json_fields(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Annotation:
        return cls(**body | {"keywords": tuple(map(tuple, body["keywords"]))})


@dataclass(frozen=True)
class Embed:
    """`@embed`: which String property of the node a vector is computed from, and with what."""

    source: str
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        return _json_fields(self)


@dataclass(frozen=True)
class Property:
    """One property of one type. `default` fills existing rows when the property is added."""

    name: str
    type: PropertyType
    identity: int
    annotations: tuple[Annotation, ...] = ()
    description: str | None = None
    embed: Embed | None = None
    default: Value | None = None
    # A hint says how this came to be, not what it is, so it takes no part in comparisons.
    rename_from: str | None = field(default=None, compare=False)

    @property
    def nullable(self) -> bool:
        return self.type.nullable

    def to_json(self) -> dict[str, Any]:
        return _json_fields(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Property:
        parsed = {
            "type": PropertyType.from_json(body["type"]),
            "annotations": tuple(Annotation.from_json(a) for a in body["annotations"]),
            "embed": None if body["embed"] is None else Embed(**body["embed"]),
        }
        return cls(**body | parsed)


@dataclass(frozen=True)
class TypeDeclaration:
    """What nodes, edges and interfaces have in common. Properties are sorted by name."""

    kind: ClassVar[Kind]

    name: str
    identity: int
    properties: tuple[Property, ...] = ()
    key: Key | None = None
    uniques: tuple[Unique, ...] = ()
    indexes: tuple[Index, ...] = ()  # written ones and the one a key implies
    ranges: tuple[Range, ...] = ()
    checks: tuple[PatternCheck, ...] = ()
    description: str | None = None
    instruction: str | None = None
    annotations: tuple[Annotation, ...] = ()
    rename_from: str | None = field(default=None, compare=False)

    @cached_property
    def by_name(self) -> Mapping[str, Property]:
        return {prop.name: prop for prop in self.properties}

    @cached_property
    def by_identity(self) -> Mapping[int, Property]:
        return {prop.identity: prop for prop in self.properties}

    def property(self, name: str) -> Property:
        """The property of that name; NotFound if there is none."""
        try:
            return self.by_name[name]
        except KeyError:
            close = did_you_mean(name, tuple(self.by_name))
            raise NotFound(f"{self.kind} {self.name} has no property {name!r}{close}") from None

    @cached_property
    def text_key(self) -> str | None:
        """The property whose text is the id: the key, if it is one text."""
        members = self.key.members if self.key else ()
        return members[0] if len(members) == 1 and self.by_name[members[0]].type.is_text else None

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """Every constraint but the key and the cardinality."""
        return (*self.uniques, *self.indexes, *self.ranges, *self.checks)

    def member_identity(self, member: str) -> int | str:
        """The identity of a property that a constraint names; an end of an edge is its own."""
        return self.by_name[member].identity if member in self.by_name else member

    def signature(self, constraint: Constraint) -> tuple[object, ...]:
        """The constraint with identities in place of names, so that renames do not show."""
        match constraint:
            case Range(prop, lo, hi):
                return (constraint.kind, self.member_identity(prop), lo, hi)
            case PatternCheck(prop, pattern):
                return (constraint.kind, self.member_identity(prop), pattern)
            case _:
                return (constraint.kind, frozenset(map(self.member_identity, constraint.members)))

    def physical_indexes(self) -> dict[str, IndexKind]:
        """The columns maintenance should index, and how. Only one-member declarations count."""
        columns = {"node": ("id",), "edge": ("id", "src", "dst"), "interface": ()}[self.kind]
        wanted: dict[str, IndexKind] = dict.fromkeys(columns, "btree")
        for index in self.indexes:
            prop = self.by_name.get(index.members[0]) if len(index.members) == 1 else None
            if prop is not None and prop.type.index_kind is not None:
                wanted[prop.name] = prop.type.index_kind
        return wanted

    def to_json(self) -> dict[str, Any]:
        """Its fields, with every constraint in one list."""
        body = _json_fields(self)
        for kind in ("uniques", "indexes", "ranges", "checks"):
            del body[kind]
        return body | {
            "key": None if self.key is None else list(self.key.members),
            "constraints": [c.to_json() for c in self.constraints],
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Self:
        constraints = [constraint_from_json(c) for c in body["constraints"]]
        parsed = {
            "properties": tuple(Property.from_json(p) for p in body["properties"]),
            "key": None if body["key"] is None else Key(tuple(body["key"])),
            "annotations": tuple(Annotation.from_json(a) for a in body["annotations"]),
        }
        declared = {name: value for name, value in body.items() if name != "constraints"}
        return cls(**declared | parsed | by_constraint_kind(constraints))


@dataclass(frozen=True)
class NodeType(TypeDeclaration):
    kind = "node"

    implements: tuple[str, ...] = ()

    @cached_property
    def table_key(self) -> str:
        return f"node:{self.name}"

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Self:
        return super().from_json(body | {"implements": tuple(body["implements"])})


@dataclass(frozen=True)
class EdgeType(TypeDeclaration):
    """An edge type; `src` and `dst` name node types."""

    kind = "edge"

    src: str = ""
    dst: str = ""
    cardinality: Cardinality = Cardinality()

    @cached_property
    def table_key(self) -> str:
        return f"edge:{self.name}"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"cardinality": [self.cardinality.min, self.cardinality.max]}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Self:
        return super().from_json(body | {"cardinality": Cardinality(*body["cardinality"])})


@dataclass(frozen=True)
class Interface(TypeDeclaration):
    """Properties to copy into nodes; has no table."""

    kind = "interface"


GraphType = NodeType | EdgeType
"""What has a table."""


def by_constraint_kind(constraints: Iterable[Constraint]) -> dict[str, tuple[Constraint, ...]]:
    """Constraints by the fields of a type that hold them, in their order."""
    kinds = {"uniques": Unique, "indexes": Index, "ranges": Range, "checks": PatternCheck}
    given = tuple(constraints)
    return {name: tuple(c for c in given if isinstance(c, kind)) for name, kind in kinds.items()}


def _json_fields(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """The fields of a dataclass as JSON."""
    return {each.name: _json(getattr(value, each.name)) for each in fields(value)}


def _json(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    return value.to_json() if hasattr(value, "to_json") else value


@dataclass(frozen=True)
class Catalog:
    """All types of one schema. `next_identity` is the first identity nobody holds or held."""

    nodes: Mapping[str, NodeType] = field(default_factory=dict)
    edges: Mapping[str, EdgeType] = field(default_factory=dict)
    interfaces: Mapping[str, Interface] = field(default_factory=dict)
    next_identity: int = 1

    @cached_property
    def by_kind(self) -> Mapping[Kind, Mapping[str, TypeDeclaration]]:
        """Every declaration by kind and name: interfaces, then nodes, then edges."""
        return {"interface": self.interfaces, "node": self.nodes, "edge": self.edges}

    def declarations(self) -> Iterator[TypeDeclaration]:
        """Every declaration: interfaces, then nodes, then edges."""
        return chain.from_iterable(types.values() for types in self.by_kind.values())

    @cached_property
    def _edges_by_folded_name(self) -> Mapping[str, EdgeType]:
        return {name.lower(): edge for name, edge in self.edges.items()}

    @cached_property
    def _types_by_identity(self) -> Mapping[int, NodeType | EdgeType]:
        return {type_.identity: type_ for type_ in self.types()}

    @cached_property
    def _edges_by_endpoint(self) -> Mapping[str, tuple[EdgeType, ...]]:
        touching: dict[str, tuple[EdgeType, ...]] = {}
        for _, edge in sorted(self.edges.items()):
            for end in {edge.src, edge.dst}:
                touching[end] = (*touching.get(end, ()), edge)
        return touching

    def node(self, name: str) -> NodeType:
        try:
            return self.nodes[name]
        except KeyError:
            raise _missing("node", name, self.nodes) from None

    def edge(self, name: str) -> EdgeType:
        """The edge type of that name, in any spelling of upper and lower case."""
        try:
            return self._edges_by_folded_name[name.lower()]
        except KeyError:
            raise _missing("edge", name, self.edges) from None

    def type_for(self, table_key: str) -> NodeType | EdgeType:
        """The type stored under `node:<Name>` or `edge:<Name>`."""
        kind, _, name = table_key.partition(":")
        if kind == "node":
            return self.node(name)
        if kind == "edge" and name in self.edges:
            return self.edges[name]
        raise _missing("table", table_key, self.table_keys())

    def table_keys(self) -> tuple[str, ...]:
        """Every table, in byte order."""
        return tuple(sorted(t.table_key for t in self.types()))

    def types(self) -> tuple[NodeType | EdgeType, ...]:
        """Every type that has a table: nodes, then edges, each by name."""
        nodes = (self.nodes[name] for name in sorted(self.nodes))
        edges = (self.edges[name] for name in sorted(self.edges))
        return (*nodes, *edges)

    def by_identity(self, identity: int) -> NodeType | EdgeType | None:
        """The type that carries an identity, whatever it is called here."""
        return self._types_by_identity.get(identity)

    def edges_touching(self, node_name: str) -> tuple[EdgeType, ...]:
        """The edge types that start or end at a node type, by name."""
        return self._edges_by_endpoint.get(node_name, ())

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "next_identity": self.next_identity,
            "interfaces": [self.interfaces[n].to_json() for n in sorted(self.interfaces)],
            "nodes": [self.nodes[n].to_json() for n in sorted(self.nodes)],
            "edges": [self.edges[n].to_json() for n in sorted(self.edges)],
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Catalog:
        if body["format"] > FORMAT:
            raise FormatTooNew(
                f"the schema has compiled form {body['format']}, this OmniGraph reads {FORMAT}",
                hint="Upgrade OmniGraph to open this graph.",
            )
        return cls(
            nodes={n["name"]: NodeType.from_json(n) for n in body["nodes"]},
            edges={e["name"]: EdgeType.from_json(e) for e in body["edges"]},
            interfaces={i["name"]: Interface.from_json(i) for i in body["interfaces"]},
            next_identity=body["next_identity"],
        )


def _missing(what: str, name: str, candidates: Iterable[str]) -> NotFound:
    return NotFound(f"no {what} type {name!r}{did_you_mean(name, tuple(candidates))}")
