"""Plans: what a checked query asks for, without saying how to run it.

A pattern is a set of constraints over named variables. Its parts share variables by name and may be
evaluated in any order; equal names mean the same entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from typing import Literal as OneOf

from omnigraph.query.logical.expressions import Condition, EntityKind, Expr, Ranking, ValueExpr
from omnigraph.query.syntax.tree import Comparison
from omnigraph.schema.model.property_types import PropertyType

Direction = OneOf["forward", "reverse", "undirected"]
End = OneOf["src", "dst"]


# --------------------------------------------------------------------------- match


@dataclass(frozen=True)
class VariableInfo:
    """What a variable stands for. An anonymous one, `$_`, has a name no text can write."""

    kind: EntityKind
    type_name: str
    anonymous: bool = False


@dataclass(frozen=True)
class Scan:
    """All nodes of a type that satisfy every predicate. Each node variable has exactly one."""

    variable: str
    type_name: str
    predicates: tuple[Condition, ...]


@dataclass(frozen=True)
class Expand:
    """Follow an edge type between two node variables, either of which may be known first.

    `forward` means that `left` is the edge's source. Without `edge` the result is a set of pairs;
    with it, one row per edge. More than one hop is always forward or undirected, and goes
    breadth-first from `left` as docs/design/query-language.md#3-matching says;
    `min_hops > max_hops` yields nothing.
    """

    left: str
    edge_type: str
    direction: Direction
    min_hops: int
    max_hops: int
    right: str
    edge: str | None

    @property
    def is_single_hop(self) -> bool:
        return self.min_hops == self.max_hops == 1


@dataclass(frozen=True)
class AntiJoin:
    """Drop a row if the inner pattern matches with the row's values of `correlated`."""

    pattern: Pattern
    correlated: tuple[str, ...]


@dataclass(frozen=True)
class Pattern:
    """Every part must hold. Variables of an enclosing pattern are listed here only when an
    anti-join mentions them; they then have no scan of their own unless the block constrains them.
    """

    variables: Mapping[str, VariableInfo]
    scans: tuple[Scan, ...]
    expands: tuple[Expand, ...]
    filters: tuple[Condition, ...]
    negations: tuple[AntiJoin, ...]


# --------------------------------------------------------------------------- reads


@dataclass(frozen=True)
class OutputColumn:
    """One column of the result; names may repeat. `field_name` is its name in a descriptor."""

    name: str
    field_name: str
    expr: Expr
    type: PropertyType


@dataclass(frozen=True)
class OrderKey:
    """Sort by an expression over the match, or by a result column when it is a number.

    Null sorts below every value.
    """

    by: Expr | int
    descending: bool


@dataclass(frozen=True)
class ReadPlan:
    """Match, then group, rank, order, limit and project.

    `group_by` lists the columns that form the group key, and is None when nothing is aggregated;
    every other column is then an Aggregate. `rank` comes before the order keys. `tie_break` names
    the variables whose ids, ascending, make the order total: those with a name in name order, then
    the anonymous ones; an aggregated read breaks ties on its group columns instead.
    """

    pattern: Pattern
    columns: tuple[OutputColumn, ...]
    group_by: tuple[int, ...] | None
    rank: Ranking | None
    order: tuple[OrderKey, ...]
    limit: int | None
    tie_break: tuple[str, ...]


# --------------------------------------------------------------------------- mutations


@dataclass(frozen=True)
class Assignment:
    """`property: value`; `type` is the property's."""

    property: str
    type: PropertyType
    value: ValueExpr


@dataclass(frozen=True)
class InsertNode:
    """Upsert by key, or a fresh node.

    `embeds` are the @embed properties left to an embedder; without one, a nullable property stays
    null and a required one fails the write.
    """

    entity: ClassVar[EntityKind] = "node"

    type_name: str
    assignments: tuple[Assignment, ...]
    embeds: tuple[str, ...]


@dataclass(frozen=True)
class InsertEdge:
    """A new edge between the nodes whose ids are given."""

    entity: ClassVar[EntityKind] = "edge"

    type_name: str
    src: ValueExpr
    dst: ValueExpr
    assignments: tuple[Assignment, ...]


@dataclass(frozen=True)
class Where:
    """`property operator value`, or an end of an edge when `end` is given."""

    property: str
    type: PropertyType
    operator: Comparison
    value: ValueExpr
    end: End | None = None


@dataclass(frozen=True)
class UpdateNodes:
    entity: ClassVar[EntityKind] = "node"

    type_name: str
    assignments: tuple[Assignment, ...]
    where: Where


@dataclass(frozen=True)
class DeleteNodes:
    """Also removes every edge that touches a deleted node."""

    entity: ClassVar[EntityKind] = "node"

    type_name: str
    where: Where


@dataclass(frozen=True)
class DeleteEdges:
    entity: ClassVar[EntityKind] = "edge"

    type_name: str
    where: Where


MutationStatement = InsertNode | InsertEdge | UpdateNodes | DeleteNodes | DeleteEdges


@dataclass(frozen=True)
class MutationPlan:
    """One atomic commit; each statement sees the ones before it."""

    statements: tuple[MutationStatement, ...]


Plan = ReadPlan | MutationPlan
