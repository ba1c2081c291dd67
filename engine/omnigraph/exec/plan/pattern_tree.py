"""Patterns that are trees: node variables joined by single hops, without a cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.exec.graph.adjacency import EdgeDirection
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.plan.match_plan import BACK
from omnigraph.query.logical.expression_walk import variables_of
from omnigraph.query.logical.expressions import Aggregate, Condition, NodeRef, PropertyRef
from omnigraph.query.logical.logical_plan import Expand, ReadPlan


@dataclass(frozen=True)
class Link:
    """An edge of the pattern as one of its ends sees it."""

    expand: Expand
    other: str
    direction: EdgeDirection
    edges: int


@dataclass(frozen=True)
class PatternTree:
    """A tree-shaped pattern. `tests` are its conditions, each on one variable alone."""

    links: dict[str, tuple[Link, ...]]
    tests: dict[str, tuple[Condition, ...]]
    group: str | None

    def root(self, first: str, selective: bool, free: Callable[[Link], bool]) -> str:
        """The variable to push everything to: the grouped one, else the one with least work."""
        if self.group is not None:
            return self.group
        if selective:
            return first
        return min(sorted(self.links), key=lambda name: self._work(name, None, free))

    def _work(self, name: str, before: str | None, free: Callable[[Link], bool]) -> int:
        return sum(
            0 if free(link) else link.edges + self._work(link.other, name, free)
            for link in self.links[name]
            if link.other != before
        )


def tree_of(view: GraphView, plan: ReadPlan) -> PatternTree | None:
    """The pattern of an aggregated read as a tree, if it is one and can be summed up along it."""
    pattern = plan.pattern
    nodes = [scan.variable for scan in pattern.scans]
    if not _summable(plan) or len(pattern.expands) != len(nodes) - 1:
        return None
    if any(n.correlated not in {(name,) for name in nodes} for n in pattern.negations):
        return None
    tests: dict[str, tuple[Condition, ...]] = {}
    conditions = [c for scan in pattern.scans for c in scan.predicates]
    for condition in (*conditions, *pattern.filters):
        used = variables_of(condition)
        if len(used) != 1:
            return None
        (name,) = used
        tests[name] = (*tests.get(name, ()), condition)
    links: dict[str, tuple[Link, ...]] = dict.fromkeys(nodes, ())
    for expand in pattern.expands:
        if not expand.is_single_hop:
            return None
        edges = view.count("edge", expand.edge_type)
        ahead = Link(expand, expand.right, expand.direction, edges)
        back = Link(expand, expand.left, BACK[expand.direction], edges)
        links[expand.left] = (*links[expand.left], ahead)
        links[expand.right] = (*links[expand.right], back)
    if not _connected(links):
        return None
    grouped = {variables_of(plan.columns[i].expr) for i in plan.group_by or ()}
    if len(grouped) > 1:
        return None
    (group,) = next(iter(grouped)) if grouped else (None,)
    return PatternTree(links, tests, group) if group is None or group in links else None


def _summable(plan: ReadPlan) -> bool:
    aggregates = (c.expr for c in plan.columns if isinstance(c.expr, Aggregate))
    return all(
        isinstance(agg.argument, PropertyRef)
        or (isinstance(agg.argument, NodeRef) and agg.function == "count")
        for agg in aggregates
    )


def _connected(links: dict[str, tuple[Link, ...]]) -> bool:
    """With one link fewer than variables, connected means that there is no cycle."""
    if not links:
        return False
    seen: set[str] = set()
    waiting = [next(iter(links))]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(link.other for link in links[name])
    return len(seen) == len(links)
