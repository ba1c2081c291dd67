"""The syntax tree of a `.pg` file: what was written, where, and nothing else.

Every span is a byte range `[start, end)` of the UTF-8 source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from typing import Literal as OneOf

from omnigraph.common.lexical import NameNode, Span
from omnigraph.schema.model.catalog import Kind, Value
from omnigraph.schema.model.property_types import PropertyType


@dataclass(frozen=True)
class LiteralNode:
    """A string, number or truth value."""

    value: Value
    span: Span


@dataclass(frozen=True)
class AnnotationTree:
    """`@name`, `@name(argument)` or `@name(argument, keyword=literal, …)`."""

    name: NameNode
    argument: LiteralNode | NameNode | None
    keywords: tuple[tuple[NameNode, LiteralNode], ...]
    span: Span


@dataclass(frozen=True)
class PropertyDeclaration:
    """`name: type @annotation …`."""

    name: NameNode
    type: PropertyType
    type_span: Span
    annotations: tuple[AnnotationTree, ...]


@dataclass(frozen=True)
class TupleConstraint:
    """`@key(…)`, `@unique(…)` or `@index(…)` as a body member."""

    kind: OneOf["key", "unique", "index"]
    members: tuple[NameNode, ...]
    span: Span


@dataclass(frozen=True)
class RangeConstraint:
    """`@range(property, lo..hi)`; an open side is None."""

    member: NameNode
    lo: int | float | None
    hi: int | float | None
    span: Span


@dataclass(frozen=True)
class CheckConstraint:
    """`@check(property, "pattern")`."""

    member: NameNode
    pattern: LiteralNode
    span: Span


ConstraintTree = TupleConstraint | RangeConstraint | CheckConstraint


@dataclass(frozen=True)
class CardinalityTree:
    """`@card(min..max)`; no max means open above."""

    min: int
    max: int | None
    span: Span


@dataclass(frozen=True)
class InterfaceTree:
    name: NameNode
    properties: tuple[PropertyDeclaration, ...]
    kind: ClassVar[Kind] = "interface"
    annotations: ClassVar[tuple[AnnotationTree, ...]] = ()
    constraints: ClassVar[tuple[ConstraintTree, ...]] = ()


@dataclass(frozen=True)
class NodeTree:
    name: NameNode
    annotations: tuple[AnnotationTree, ...]
    implements: tuple[NameNode, ...]
    properties: tuple[PropertyDeclaration, ...]
    constraints: tuple[ConstraintTree, ...]
    kind: ClassVar[Kind] = "node"


@dataclass(frozen=True)
class EdgeTree:
    name: NameNode
    src: NameNode
    dst: NameNode
    cardinality: CardinalityTree | None
    annotations: tuple[AnnotationTree, ...]
    properties: tuple[PropertyDeclaration, ...]
    constraints: tuple[ConstraintTree, ...]
    kind: ClassVar[Kind] = "edge"


OwnerTree = InterfaceTree | NodeTree | EdgeTree


@dataclass(frozen=True)
class SchemaTree:
    """A whole file; the source travels along so that later checks can point at it."""

    source: str
    file: str | None
    interfaces: tuple[InterfaceTree, ...]
    nodes: tuple[NodeTree, ...]
    edges: tuple[EdgeTree, ...]

    @property
    def owners(self) -> tuple[OwnerTree, ...]:
        """Every declaration that has properties."""
        return (*self.interfaces, *self.nodes, *self.edges)
