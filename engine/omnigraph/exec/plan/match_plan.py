"""The order in which a pattern is matched: the most selective part first, then along edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from omnigraph.exec.graph.adjacency import EdgeDirection
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.graph.traversal import DEEP
from omnigraph.query.logical.expression_walk import equated, key_lookup, variables_of
from omnigraph.query.logical.expressions import (
    Compare,
    Condition,
    Membership,
    PropertyRef,
)
from omnigraph.query.logical.logical_plan import AntiJoin, Expand, Pattern, VariableInfo

ROW = "#row"
"""The column that says which row of an enclosing match an inner row belongs to."""
_SELECTIVITY = {"=": 0.05, "!=": 0.9, "<": 0.3, "<=": 0.3, ">": 0.3, ">=": 0.3}
BACK: dict[EdgeDirection, EdgeDirection] = {
    "forward": "reverse",
    "reverse": "forward",
    "undirected": "undirected",
}


@dataclass(frozen=True)
class ScanStep:
    """Bind a variable to every entity that passes its tests, for each row so far.

    With `equal`, only to those whose property, the first, equals one of the row, the second.
    """

    variable: str
    estimate: float
    equal: tuple[PropertyRef, PropertyRef] | None = None
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExpandStep:
    """Bind a variable by following an edge from one that is bound."""

    expand: Expand
    origin: str
    variable: str
    way: EdgeDirection
    estimate: float
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExpandIntoStep:
    """Keep rows whose two bound variables are joined; with an edge variable, one row per edge."""

    expand: Expand
    origin: str
    variable: str
    way: EdgeDirection
    estimate: float
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FilterStep:
    """Keep rows for which conditions hold."""

    conditions: tuple[Condition, ...]
    keep: frozenset[str] = frozenset()


@dataclass(frozen=True)
class AntiJoinStep:
    """Drop rows for which the inner pattern has a match."""

    correlated: tuple[str, ...]
    plan: MatchPlan
    keep: frozenset[str] = frozenset()


MatchStep = ScanStep | ExpandStep | ExpandIntoStep | FilterStep | AntiJoinStep


@dataclass(frozen=True)
class MatchPlan:
    """Steps in order. `tests` are the conditions on one variable alone, applied as it is bound."""

    variables: dict[str, VariableInfo]
    steps: tuple[MatchStep, ...]
    tests: dict[str, tuple[Condition, ...]]
    rows: float
    """About how many rows there are where there are most."""
    touched: float
    """About how many entities and edges are read, all steps together."""


def plan_match(
    view: GraphView, pattern: Pattern, needed: frozenset[str], given: frozenset[str] = frozenset()
) -> MatchPlan:
    """A plan that binds `needed`, starting from rows in which `given` are bound."""
    return _Planner(view, pattern, given).plan(needed)


class _Planner:
    def __init__(self, view: GraphView, pattern: Pattern, given: frozenset[str]) -> None:
        self.view = view
        self.pattern = pattern
        self.bound = set(given)
        self.variables = dict(pattern.variables)
        self.steps: list[MatchStep] = []
        self.rows = 1.0
        self.tests: dict[str, tuple[Condition, ...]] = {}
        self.checks: list[Condition] = []
        for scan in pattern.scans:
            for condition in scan.predicates:
                self._place(condition, given)
        for condition in pattern.filters:
            self._place(condition, given)
        self.negations = list(pattern.negations)
        self.expands = list(pattern.expands)

    def _place(self, condition: Condition, given: frozenset[str]) -> None:
        used = variables_of(condition)
        if len(used) == 1 and not used & given:
            (name,) = used
            self.tests[name] = (*self.tests.get(name, ()), condition)
        else:
            self.checks.append(condition)

    def plan(self, needed: frozenset[str]) -> MatchPlan:
        waiting = {scan.variable for scan in self.pattern.scans} - self.bound
        self._settle()
        while waiting or self.expands:
            hop = self._best_hop()
            if hop is not None:
                self._take(hop)
                waiting -= self.bound
            else:
                waiting.discard(self._start(waiting))
            self._settle()
        sizes = [s.estimate for s in self.steps if isinstance(s, ScanStep | ExpandStep)]
        inner = sum(s.plan.touched for s in self.steps if isinstance(s, AntiJoinStep))
        steps = self._kept(needed)
        touched = sum(sizes) + inner * max([1.0, *sizes])
        return MatchPlan(self.variables, steps, self.tests, max([1.0, *sizes]), touched)

    def _start(self, waiting: set[str]) -> str:
        """Bind a variable that no edge leads to: by an equal value if there is one to go by."""
        by_value = {}
        for condition in self.checks:
            equal = _equal(condition, self.bound)
            if equal is not None and equal[0].variable in waiting:
                by_value[equal[0].variable] = (condition, equal)
        name = min(by_value or waiting, key=lambda name: (self._estimate(name), name))
        estimate = max(self._estimate(name), 0.001)
        if name in by_value:
            done, equal = by_value[name]
            self.checks = [c for c in self.checks if c is not done]
            self.rows = max(self.rows, estimate)
            self.steps.append(ScanStep(name, self.rows, equal))
        else:
            self.rows *= estimate
            self.steps.append(ScanStep(name, self.rows))
        self.bound.add(name)
        return name

    def _settle(self) -> None:
        """Everything that only removes rows comes as soon as its variables are bound."""
        while True:
            ready = tuple(c for c in self.checks if variables_of(c) <= self.bound)
            if ready:
                self.checks = [c for c in self.checks if c not in ready]
                self.steps.append(FilterStep(ready))
                self.rows *= 0.3
            closing = self._closing()
            if closing is not None:
                self._take(closing)
                continue
            break
        for negation in list(self.negations):
            if set(negation.correlated) <= self.bound:
                self.negations.remove(negation)
                self.steps.append(self._negate(negation))

    def _negate(self, negation: AntiJoin) -> AntiJoinStep:
        outer = {name: self.variables[name] for name in negation.correlated}
        pattern = replace(negation.pattern, variables={**outer, **negation.pattern.variables})
        given = frozenset(negation.correlated)
        inner = plan_match(self.view, pattern, frozenset({ROW}), given)
        return AntiJoinStep(negation.correlated, inner)

    def _closing(self) -> ExpandIntoStep | None:
        for expand in self.expands:
            if {expand.left, expand.right} <= self.bound:
                self.rows = max(self.rows * 0.1, 0.001)
                return ExpandIntoStep(
                    expand, expand.left, expand.right, expand.direction, self.rows
                )
        return None

    def _best_hop(self) -> ExpandStep | None:
        hops = [hop for expand in self.expands for hop in self._hops(expand)]
        if not hops:
            return None
        return min(hops, key=lambda hop: hop.estimate)

    def _hops(self, expand: Expand) -> Iterator[ExpandStep]:
        left, right = expand.left in self.bound, expand.right in self.bound
        if left and not right:
            yield self._hop(expand, expand.left, expand.right, expand.direction)
        elif right and not left:
            yield self._hop(expand, expand.right, expand.left, BACK[expand.direction])

    def _hop(self, expand: Expand, origin: str, variable: str, way: EdgeDirection) -> ExpandStep:
        edges = self.view.count("edge", expand.edge_type)
        fan = edges / max(self._rows_of(origin), 1) * (2 if way == "undirected" else 1)
        hops = min(max(expand.max_hops, 1), DEEP)
        reached = min(fan**hops, self._rows_of(variable) or 1)
        share = self._estimate(variable) / max(self._rows_of(variable), 1)
        return ExpandStep(expand, origin, variable, way, self.rows * reached * share)

    def _take(self, step: ExpandStep | ExpandIntoStep) -> None:
        self.steps.append(step)
        self.expands.remove(step.expand)
        self.rows = max(step.estimate, 0.001)
        self.bound |= {step.variable}
        if step.expand.edge is not None:
            self.bound.add(step.expand.edge)
            # An edge is tested as soon as it is known.
            tests = self.tests.pop(step.expand.edge, ())
            if tests:
                self.steps.append(FilterStep(tests))

    def _rows_of(self, name: str) -> int:
        info = self.variables[name]
        return self.view.count(info.kind, info.type_name)

    def _estimate(self, name: str) -> float:
        rows = float(self._rows_of(name))
        type_ = self.view.snapshot.catalog.node(self.variables[name].type_name)
        tests = self.tests.get(name, ())
        keyed = key_lookup(tests, type_)
        if keyed is not None:
            return 1.0 if isinstance(keyed[0], Compare) else 100.0
        for condition in tests:
            prop = equated(condition)
            if prop is not None and any(u.members == (prop,) for u in type_.uniques):
                return 1.0
            indexed = prop is not None and type_.physical_indexes().get(prop) == "btree"
            rows *= 0.1 * _share(condition) if indexed else _share(condition)
        return rows

    def _kept(self, needed: frozenset[str]) -> tuple[MatchStep, ...]:
        """Each step keeps only what a later one, or the result, still needs."""
        alive = set(needed)
        kept: list[MatchStep] = []
        for step in reversed(self.steps):
            kept.append(replace(step, keep=frozenset(alive)))
            match step:
                case ExpandStep():
                    alive.add(step.origin)
                case ExpandIntoStep():
                    alive |= {step.origin, step.variable}
                case FilterStep():
                    alive = alive.union(*(variables_of(c) for c in step.conditions))
                case AntiJoinStep():
                    alive |= set(step.correlated)
                case ScanStep():
                    alive |= {step.equal[1].variable} if step.equal is not None else set()
        return tuple(reversed(kept))


def _equal(condition: Condition, bound: set[str]) -> tuple[PropertyRef, PropertyRef] | None:
    """The property of a variable to be bound that equals one of a bound variable, and that one."""
    match condition:
        case Compare(operator="=", left=PropertyRef() as left, right=PropertyRef() as right):
            if left.variable in bound and right.variable not in bound:
                return right, left
            if right.variable in bound and left.variable not in bound:
                return left, right
    return None


def _share(condition: Condition) -> float:
    match condition:
        case Compare():
            return _SELECTIVITY[condition.operator]
        case Membership():
            return 0.05
        case _:
            return 0.1
