"""The order in which a pattern is matched: the most selective part first, then along edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

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
class _EdgeStep:
    expand: Expand
    origin: str
    variable: str
    direction: EdgeDirection
    estimate: float
    keep: frozenset[str] = frozenset()


class ExpandStep(_EdgeStep):
    """Bind a variable by following an edge from one that is bound."""


class ExpandIntoStep(_EdgeStep):
    """Keep rows whose two bound variables are joined; with an edge variable, one row per edge."""


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
        scanned = chain.from_iterable(scan.predicates for scan in pattern.scans)
        for condition in chain(scanned, pattern.filters):
            used = variables_of(condition)
            if len(used) == 1 and not used & given:
                (name,) = used
                self.tests[name] = (*self.tests.get(name, ()), condition)
            else:
                self.checks.append(condition)
        self.negations = list(pattern.negations)
        self.expands = list(pattern.expands)

    def plan(self, needed: frozenset[str]) -> MatchPlan:
        unbound = {scan.variable for scan in self.pattern.scans} - self.bound
        self._append_filters()
        while unbound or self.expands:
            hop = self._best_expand()
            if hop is not None:
                self._append_expand(hop)
                unbound -= self.bound
            else:
                unbound.discard(self._append_scan(unbound))
            self._append_filters()
        sizes = [s.estimate for s in self.steps if isinstance(s, ScanStep | ExpandStep)]
        inner = sum(s.plan.touched for s in self.steps if isinstance(s, AntiJoinStep))
        steps = self._with_live_variables(needed)
        touched = sum(sizes) + inner * max([1.0, *sizes])
        return MatchPlan(self.variables, steps, self.tests, max([1.0, *sizes]), touched)

    def _append_scan(self, unbound: set[str]) -> str:
        """Bind a variable that no edge leads to: by an equal value if there is one to go by."""
        by_value = {}
        for condition in self.checks:
            equal = _equal(condition, self.bound)
            if equal is not None and equal[0].variable in unbound:
                by_value[equal[0].variable] = (condition, equal)
        name = min(by_value or unbound, key=lambda name: (self._estimate(name), name))
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

    def _append_filters(self) -> None:
        """Everything that only removes rows comes as soon as its variables are bound."""
        while True:
            ready = tuple(c for c in self.checks if variables_of(c) <= self.bound)
            if ready:
                self.checks = [c for c in self.checks if c not in ready]
                self.steps.append(FilterStep(ready))
                self.rows *= 0.3
            closing = self._expand_into()
            if closing is None:
                break
            self._append_expand(closing)
        for negation in list(self.negations):
            if set(negation.correlated) <= self.bound:
                self.negations.remove(negation)
                self.steps.append(self._anti_join(negation))

    def _anti_join(self, negation: AntiJoin) -> AntiJoinStep:
        outer = {name: self.variables[name] for name in negation.correlated}
        pattern = replace(negation.pattern, variables={**outer, **negation.pattern.variables})
        given = frozenset(negation.correlated)
        inner = plan_match(self.view, pattern, frozenset({ROW}), given)
        return AntiJoinStep(negation.correlated, inner)

    def _expand_into(self) -> ExpandIntoStep | None:
        for expand in self.expands:
            left, right = expand.left, expand.right
            if {left, right} <= self.bound:
                self.rows = max(self.rows * 0.1, 0.001)
                return ExpandIntoStep(expand, left, right, expand.direction, self.rows)
        return None

    def _best_expand(self) -> ExpandStep | None:
        hops = (
            self._expand(expand, origin, variable, direction)
            for expand in self.expands
            for origin, variable, direction in (
                (expand.left, expand.right, expand.direction),
                (expand.right, expand.left, BACK[expand.direction]),
            )
            if origin in self.bound and variable not in self.bound
        )
        return min(hops, key=lambda hop: hop.estimate, default=None)

    def _expand(
        self, expand: Expand, origin: str, variable: str, direction: EdgeDirection
    ) -> ExpandStep:
        edges = self.view.count("edge", expand.edge_type)
        fan = edges / max(self._rows_of(origin), 1) * (2 if direction == "undirected" else 1)
        hops = min(max(expand.max_hops, 1), DEEP)
        reached = min(fan**hops, self._rows_of(variable) or 1)
        share = self._estimate(variable) / max(self._rows_of(variable), 1)
        return ExpandStep(expand, origin, variable, direction, self.rows * reached * share)

    def _append_expand(self, step: ExpandStep | ExpandIntoStep) -> None:
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

    def _with_live_variables(self, needed: frozenset[str]) -> tuple[MatchStep, ...]:
        """Each step keeps only what a later one, or the result, still needs."""
        live = set(needed)
        steps: list[MatchStep] = []
        for step in reversed(self.steps):
            steps.append(replace(step, keep=frozenset(live)))
            match step:
                case ExpandStep():
                    live.add(step.origin)
                case ExpandIntoStep():
                    live |= {step.origin, step.variable}
                case FilterStep():
                    live = live.union(*(variables_of(c) for c in step.conditions))
                case AntiJoinStep():
                    live |= set(step.correlated)
                case ScanStep():
                    live |= {step.equal[1].variable} if step.equal is not None else set()
        return tuple(reversed(steps))


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
