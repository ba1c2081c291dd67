"""Which way a read takes: adjacency in memory, or look-ups through the indexes of a cold graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from omnigraph.exec.context import ExecContext
from omnigraph.exec.plan import Close, Hop, MatchPlan, Negate, Start, key_values
from omnigraph.exec.view import View
from omnigraph.query.expressions import (
    Aggregate,
    Bm25,
    Condition,
    Nearest,
    Rrf,
    TextMatch,
)
from omnigraph.query.ir import Pattern, ReadPlan

PROBE_ROWS = 3_000
"""A read that is expected to touch more rows than this loads them instead."""
LARGE = 100_000
"""Smaller tables are loaded at once: that takes about as long as a few look-ups."""
PATIENCE = 8
"""After this many reads by look-up, the adjacency of an edge table has been worth building."""


@dataclass(frozen=True)
class Route:
    """How a read runs, and why. `limit` is how many rows it may look up before it is given up."""

    way: Literal["csr", "indexed"]
    why: str
    limit: int | None = None


def choose_route(view: View, plan: ReadPlan, match: MatchPlan) -> Route:
    """The cheaper way for one read, unless somebody insists on one."""
    context = view.context
    mode = context.traversal_mode
    if _searches(plan):
        return Route("csr", "search reads whole columns")
    if mode != "auto":
        return Route(mode, f"the traversal mode is {mode}")
    edges = sorted(set(_edge_types(match)))
    tables = [view.source("edge", name).table for name in edges]
    if edges and all(context.has_adjacency(table) for table in tables):
        return Route("csr", "adjacency is in memory")
    if not edges and _loaded(context, view, match):
        return Route("csr", "the nodes are in memory")
    largest = max((rows for rows in _table_rows(view, match)), default=0)
    if largest < LARGE:
        return Route("csr", "the tables are small")
    if not _keyed(view, match) or match.touched > PROBE_ROWS:
        return Route("csr", f"about {match.touched:,.0f} rows are touched")
    if any(context.probed_reads(table.version) >= PATIENCE for table in tables):
        return Route("csr", f"looked up {PATIENCE} times already")
    return Route("indexed", f"about {match.touched:,.0f} rows of a cold graph", 10 * PROBE_ROWS)


def _searches(plan: ReadPlan) -> bool:
    ranked = (Nearest, Bm25, Rrf, TextMatch)
    exprs = [c.expr.argument if isinstance(c.expr, Aggregate) else c.expr for c in plan.columns]
    return (
        plan.rank is not None
        or any(isinstance(expr, ranked) for expr in exprs)
        or any(isinstance(condition, TextMatch) for condition in _conditions(plan.pattern))
    )


def _conditions(pattern: Pattern) -> Iterator[Condition]:
    yield from pattern.filters
    for scan in pattern.scans:
        yield from scan.predicates
    for negation in pattern.negations:
        yield from _conditions(negation.pattern)


def _edge_types(match: MatchPlan) -> Iterator[str]:
    for step in match.steps:
        if isinstance(step, Hop | Close):
            yield step.expand.edge_type
        elif isinstance(step, Negate):
            yield from _edge_types(step.plan)


def _table_rows(view: View, match: MatchPlan) -> Iterator[int]:
    for info in match.variables.values():
        yield view.count(info.kind, info.type_name)
    for name in _edge_types(match):
        yield view.count("edge", name)


def _loaded(context: ExecContext, view: View, match: MatchPlan) -> bool:
    return all(
        context.has_space(view.source("node", info.type_name).table)
        for info in match.variables.values()
        if info.kind == "node"
    )


def _keyed(view: View, match: MatchPlan) -> bool:
    """Whether every place the match starts from is found by key, inner ones included."""
    for step in match.steps:
        if isinstance(step, Negate) and not _keyed(view, step.plan):
            return False
        if isinstance(step, Start):
            type_ = view.snapshot.catalog.node(match.variables[step.variable].type_name)
            tests = match.tests.get(step.variable, ())
            if not any(key_values(condition, type_) is not None for condition in tests):
                return False
    return True
