"""The access path of a read: adjacency in memory, or look-ups by the indexes of a cold graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.plan.match_plan import (
    AntiJoinStep,
    ExpandIntoStep,
    ExpandStep,
    MatchPlan,
    ScanStep,
)
from omnigraph.query.logical.expression_walk import equated, key_lookup, searches
from omnigraph.query.logical.expressions import Condition
from omnigraph.query.logical.logical_plan import Pattern, ReadPlan
from omnigraph.storage.tables.fragment_scan import TableSource

LOOKUP_ROWS = 3_000
"""A read that is expected to touch more rows than this loads them instead."""
LOOKUP_OVERRUN = 10.0
"""A read that looks up this many times as many rows starts again, and loads them."""
LARGE = 100_000
"""Smaller tables are loaded at once: that takes about as long as a few look-ups."""
PATIENCE = 8
"""After this many reads by look-up, loading a table has been worth it."""

UNINDEXED_PATIENCE = 2
"""The same where there is no index yet, and each look-up reads the whole table."""


@dataclass(frozen=True)
class AccessPath:
    """How a read runs, and why. `limit` is how many rows it may look up before it is given up."""

    strategy: Literal["csr", "indexed"]
    reason: str
    limit: int | None = None


def choose_access_path(view: GraphView, plan: ReadPlan, match: MatchPlan) -> AccessPath:
    """The cheaper strategy for one read, unless one is configured."""
    context = view.context
    mode = context.traversal_mode
    if context.planned(plan, "searches", lambda: _searches(plan)):
        return AccessPath("csr", "search reads whole columns")
    if mode != "auto":
        return AccessPath(mode, f"the traversal mode is {mode}")
    tables = lookup_tables(view, match)
    if all(context.in_memory(table) for table in tables):
        return AccessPath("csr", "what it needs is in memory")
    if all(rows < LARGE for rows in _table_rows(view, match)):
        return AccessPath("csr", "the tables are small")
    if not _keyed(view, match) or match.touched > LOOKUP_ROWS:
        return AccessPath("csr", f"about {match.touched:,.0f} rows are touched")
    for table in tables:
        patience = PATIENCE if all(map(table.has_index, table.keys)) else UNINDEXED_PATIENCE
        if context.indexed_reads(table.version) >= patience:
            reason = f"{patience} earlier reads used look-ups; loading now pays off"
            return AccessPath("csr", reason)
    return AccessPath(
        "indexed",
        f"about {match.touched:,.0f} rows of a cold graph",
        int(LOOKUP_OVERRUN * LOOKUP_ROWS),
    )


def lookup_tables(view: GraphView, match: MatchPlan) -> list[TableSource]:
    """The tables that look-ups go to: edges, or nodes where nothing is traversed."""
    edges = set(_edge_types(match))
    if edges:
        return [view.source("edge", name).table for name in sorted(edges)]
    types = {info.type_name for info in match.variables.values() if info.kind == "node"}
    return [view.source("node", name).table for name in sorted(types)]


def _searches(plan: ReadPlan) -> bool:
    return (
        plan.rank is not None
        or any(searches(column.expr) for column in plan.columns)
        or any(searches(condition) for condition in _conditions(plan.pattern))
    )


def _conditions(pattern: Pattern) -> Iterator[Condition]:
    yield from pattern.filters
    for scan in pattern.scans:
        yield from scan.predicates
    for negation in pattern.negations:
        yield from _conditions(negation.pattern)


def _edge_types(match: MatchPlan) -> Iterator[str]:
    for step in match.steps:
        if isinstance(step, ExpandStep | ExpandIntoStep):
            yield step.expand.edge_type
        elif isinstance(step, AntiJoinStep):
            yield from _edge_types(step.plan)


def _table_rows(view: GraphView, match: MatchPlan) -> Iterator[int]:
    for info in match.variables.values():
        yield view.count(info.kind, info.type_name)
    for name in _edge_types(match):
        yield view.count("edge", name)


def _keyed(view: GraphView, match: MatchPlan) -> bool:
    """Whether every scan of a match is a look-up by an index, those of anti-joins included."""
    for step in match.steps:
        if isinstance(step, AntiJoinStep) and not _keyed(view, step.plan):
            return False
        if isinstance(step, ScanStep):
            type_ = view.snapshot.catalog.node(match.variables[step.variable].type_name)
            tests = match.tests.get(step.variable, ())
            source = view.source("node", type_.name)
            names = (equated(condition) for condition in tests)
            if key_lookup(tests, type_) is None and not any(
                name is not None and source.table.has_index(source.stored(name)) for name in names
            ):
                return False
    return True
