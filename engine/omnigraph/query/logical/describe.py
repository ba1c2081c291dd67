"""What a query reads, writes and answers, for clients that must know before they run it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from omnigraph.query.logical.expressions import EntityKind, NodeRef
from omnigraph.query.logical.logical_plan import (
    DeleteNodes,
    InsertEdge,
    MutationPlan,
    MutationStatement,
    Pattern,
    Plan,
    ReadPlan,
)
from omnigraph.schema.model.catalog import Catalog, EdgeType
from omnigraph.schema.model.property_types import PropertyType, Scalar

ValueKind = OneOf[
    "string",
    "bool",
    "int",
    "bigint",
    "float",
    "date",
    "datetime",
    "blob",
    "vector",
    "list",
    "object",
]

_KINDS: dict[Scalar, ValueKind] = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.BLOB: "blob",
}


@dataclass(frozen=True)
class FieldDescriptor:
    """One result field or one parameter."""

    name: str
    kind: ValueKind
    nullable: bool
    item_kind: ValueKind | None = None
    vector_dim: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Fact:
    """A type that a query touches."""

    kind: EntityKind
    type_name: str

    def to_json(self) -> dict[str, str]:
        return dict(vars(self))


@dataclass(frozen=True)
class Descriptor:
    """Facts are sorted: nodes first, then by name."""

    result: tuple[FieldDescriptor, ...]
    reads: tuple[Fact, ...]
    writes: tuple[Fact, ...]

    def to_json(self) -> dict[str, Any]:
        return {name: [each.to_json() for each in part] for name, part in vars(self).items()}


def describe(plan: Plan, catalog: Catalog) -> Descriptor:
    if isinstance(plan, ReadPlan):
        result = tuple(
            FieldDescriptor(column.field_name, "object", nullable=False)
            if isinstance(column.expr, NodeRef)
            else describe_field(column.field_name, column.type)
            for column in plan.columns
        )
        return Descriptor(result, _sorted(_pattern_reads(plan.pattern, catalog)), ())
    return _mutation(plan, catalog)


def describe_field(name: str, type_: PropertyType) -> FieldDescriptor:
    kind = _KINDS[type_.scalar]
    if type_.is_vector:
        return FieldDescriptor(name, "vector", type_.nullable, vector_dim=type_.dimension)
    if type_.is_list:
        return FieldDescriptor(name, "list", type_.nullable, item_kind=kind)
    return FieldDescriptor(name, kind, type_.nullable)


# --------------------------------------------------------------------------- facts


def _pattern_reads(pattern: Pattern, catalog: Catalog) -> set[Fact]:
    reads = {Fact("node", scan.type_name) for scan in pattern.scans}
    for expand in pattern.expands:
        edge = catalog.edges[expand.edge_type]
        reads |= {Fact("edge", edge.name)} | _ends(edge)
    for negation in pattern.negations:
        reads |= _pattern_reads(negation.pattern, catalog)
    return reads


def _mutation(plan: MutationPlan, catalog: Catalog) -> Descriptor:
    writes = {fact for statement in plan.statements for fact in _writes(statement, catalog)}
    linked = (s.type_name for s in plan.statements if isinstance(s, InsertEdge))
    reads = writes.union(*(_ends(catalog.edges[name]) for name in linked))
    return Descriptor((), _sorted(reads), _sorted(writes))


def _writes(statement: MutationStatement, catalog: Catalog) -> set[Fact]:
    target = Fact(statement.entity, statement.type_name)
    if not isinstance(statement, DeleteNodes):
        return {target}
    touching = catalog.edges_touching(statement.type_name)
    return {target} | {Fact("edge", edge.name) for edge in touching}


def _ends(edge: EdgeType) -> set[Fact]:
    return {Fact("node", edge.src), Fact("node", edge.dst)}


def _sorted(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: (fact.kind != "node", fact.type_name)))
