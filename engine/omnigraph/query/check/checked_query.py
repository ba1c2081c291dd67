"""What the checker hands to `lower`: a read with every name resolved and every value typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.query.logical.expressions import Condition, Expr, Ranking
from omnigraph.query.logical.logical_plan import Expand, OrderKey, VariableInfo


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
    expands: tuple[Expand, ...]
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
