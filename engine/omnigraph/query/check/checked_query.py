"""What the checker hands to `lower`: the query with every name resolved and every value typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.query.logical.expressions import Condition, Expr, Ranking
from omnigraph.query.logical.logical_plan import Direction, MutationPlan, OrderKey, VariableInfo
from omnigraph.query.syntax.tree import QueryTree
from omnigraph.schema.model.catalog import EdgeType
from omnigraph.schema.model.property_types import PropertyType


@dataclass(frozen=True)
class CheckedTraversal:
    left: str
    edge_type: EdgeType
    direction: Direction
    min_hops: int
    max_hops: int
    right: str
    edge: str | None


@dataclass(frozen=True)
class CheckedMatch:
    """One block of clauses.

    `variables` are the ones this block binds; `mentioned` adds those of enclosing blocks that it
    or a block inside it uses.
    `predicates` come from the braces of bindings, each with its variable.
    """

    variables: Mapping[str, VariableInfo]
    mentioned: Mapping[str, VariableInfo]
    predicates: tuple[tuple[str, Condition], ...]
    traversals: tuple[CheckedTraversal, ...]
    filters: tuple[Condition, ...]
    negations: tuple[CheckedMatch, ...]


@dataclass(frozen=True)
class CheckedItem:
    expr: Expr
    alias: str | None


@dataclass(frozen=True)
class CheckedRead:
    match: CheckedMatch
    items: tuple[CheckedItem, ...]
    rank: Ranking | None
    keys: tuple[OrderKey, ...]
    limit: int | None


@dataclass(frozen=True)
class CheckedQuery:
    tree: QueryTree
    params: Mapping[str, PropertyType]
    body: CheckedRead | MutationPlan
