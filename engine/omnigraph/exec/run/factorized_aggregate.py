"""Aggregates over tree-shaped patterns without making a row per match.

Counts, sums, smallest and largest values are pushed along the edges of the pattern towards one
variable, the root: each node learns what all matches below it add up to. The work is a few passes
over adjacency, however many matches there are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.common.array_types import Mask
from omnigraph.errors import ResourceLimit
from omnigraph.exec.columns.arrays import AnyArray, Handles, distinct
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.graph.adjacency_entries import Entries, all_entries
from omnigraph.exec.graph.bindings import Bindings
from omnigraph.exec.graph.csr import Csr
from omnigraph.exec.graph.graph_view import Entities
from omnigraph.exec.plan.match_plan import AntiJoinStep, MatchPlan, ScanStep
from omnigraph.exec.plan.pattern_tree import Link, PatternTree
from omnigraph.exec.run.aggregate import Grouper, Partial, group_sums, grouped, state_of
from omnigraph.exec.run.candidate_set import Candidates
from omnigraph.exec.run.matcher import Matcher
from omnigraph.query.logical.expressions import Aggregate, NodeRef, PropertyRef
from omnigraph.query.logical.logical_plan import ReadPlan


@dataclass
class Tally:
    """What matches below a node add up to, by handle.

    `rows` is how many there are, none where the answer is one each. `values` has a pair for every
    aggregate in the subtree: how many values (none: as many as rows) and their sum or best one.
    """

    rows: AnyArray | None
    values: dict[int, tuple[AnyArray | None, AnyArray | None]] = field(default_factory=dict)


class FactorizedAggregate:
    """Computes one aggregated read over a pattern that is a tree."""

    def __init__(
        self, evaluator: Evaluator, plan: ReadPlan, tree: PatternTree, match: MatchPlan
    ) -> None:
        self.evaluator = evaluator
        self.view = evaluator.view
        self.tree = tree
        self.candidates = {
            name: Candidates(evaluator, name, info, tree.tests.get(name, ()))
            for name, info in match.variables.items()
        }
        self.anti_joins = [
            (step.correlated[0], Matcher(evaluator.within(step.plan.variables), step.plan))
            for step in match.steps
            if isinstance(step, AntiJoinStep)
        ]
        self.first = next(step.variable for step in match.steps if isinstance(step, ScanStep))
        self.grouper = Grouper(evaluator, plan)
        self.aggregates = self.grouper.aggregates
        self.aggregates_at: dict[str, list[int]] = defaultdict(list)
        for number, agg in enumerate(self.aggregates):
            if isinstance(agg.argument, PropertyRef):
                self.aggregates_at[agg.argument.variable].append(number)
        self.active: dict[str, Handles | None] = {}

    def columns(self) -> list[pa.Array]:
        """The columns of the result, one row per group."""
        root = self.tree.root(self.first, self._selective(), self._only_counts)
        self._narrow(root)
        tally = self._tally(root, None)
        handles = self.active[root]
        if handles is None:
            handles = self._entities(root).all()
        partial = self._partial(root, handles, tally)
        if partial is not None:
            self.grouper.add_partial(partial)
        return self.grouper.finish()

    # ------------------------------------------------------------------ which nodes take part

    def _selective(self) -> bool:
        return bool(self.tree.tests.get(self.first))

    def _narrow(self, root: str) -> None:
        """Narrow every variable to nodes that the most selective one can reach."""
        self.active = dict.fromkeys(self.tree.links)
        start = self.first
        if not self._selective():
            return
        handles = self._passed(start, self.candidates[start].handles())
        if 4 * len(handles) > self._entities(start).rows:
            return
        self.active[start] = handles
        waiting: list[tuple[str, str | None]] = [(start, None)]
        while waiting:
            name, before = waiting.pop()
            known = self.active[name]
            if known is None:
                continue
            for link in self.tree.links[name]:
                if link.other == before or (link.other != root and self._only_counts(link)):
                    continue
                csr = self._csr(link, bag=False)
                size = self._entities(link.other).size
                if 2 * int(csr.degree(known).sum()) < self._entities(link.other).rows:
                    reached = distinct(csr.expand(known)[0], size)
                    tests = self.candidates[link.other]
                    if tests.tests:
                        reached = reached[tests.test(reached)]
                    self.active[link.other] = self._passed(link.other, reached)
                    waiting.append((link.other, name))

    def _passed(self, name: str, handles: Handles) -> Handles:
        """Those that no negated block removes."""
        for variable, inner in self.anti_joins:
            if variable == name and len(handles):
                handles = handles[~inner.exists(Bindings({name: handles}, len(handles)))]
        return handles

    def _only_counts(self, link: Link) -> bool:
        """Whether the far end only counts: it has no conditions, aggregates or other links."""
        edge = link.expand.edge
        return (
            len(self.tree.links[link.other]) == 1
            and not self.tree.tests.get(link.other)
            and not self.aggregates_at[link.other]
            and link.other != self.tree.group
            and all(variable != link.other for variable, _ in self.anti_joins)
            and (edge is None or (not self.tree.tests.get(edge) and not self.aggregates_at[edge]))
        )

    # ------------------------------------------------------------------ tallies

    def _tally(self, name: str, before: str | None) -> Tally:
        entities = self._entities(name)
        handles = self.active[name]
        rows = self._participating(name, entities, handles)
        found = Tally(rows)
        for link in self.tree.links[name]:
            if link.other != before:
                found = _joined(found, self._message(link, name, rows), self._best)
        for number in self.aggregates_at[name]:
            found.values[number] = self._value(number, entities, found.rows)
        return found

    def _participating(
        self, name: str, entities: Entities, handles: Handles | None
    ) -> AnyArray | None:
        """1 for nodes that take part, 0 for others; none when all do."""
        if handles is not None:
            rows = np.zeros(entities.size, np.int64)
            rows[handles] = 1
            return rows
        candidates = self.candidates[name]
        anti_joins = [matcher for variable, matcher in self.anti_joins if variable == name]
        if not candidates.tests and not anti_joins:
            return None
        every = entities.all()
        mask = candidates.mask() if candidates.tests else None
        if anti_joins:
            passed = np.zeros(entities.size, np.bool_)
            passed[self._passed(name, every if mask is None else every[mask[every]])] = True
            mask = passed
        assert mask is not None
        return mask.astype(np.int64)

    def _value(
        self, number: int, entities: Entities, rows: AnyArray | None
    ) -> tuple[AnyArray | None, AnyArray | None]:
        agg = self.aggregates[number]
        assert isinstance(agg.argument, PropertyRef)
        if self._best(number):
            ranks = entities.by_handle(entities.ranks(agg.argument.property)[0], -1)
            return None, _only(ranks, rows)
        nulls = entities.nulls(agg.argument.property)
        counted = rows
        if nulls is not None:
            valid = entities.by_handle(~nulls).astype(np.int64)
            counted = valid if rows is None else rows * valid
        if agg.function == "count":
            return None if nulls is None else counted, None
        # Sums are floats, and products with large whole numbers must not wrap around.
        stored = entities.numbers(agg.argument.property).astype(np.float64, copy=False)
        numbers = entities.by_handle(stored, 0)
        if nulls is None:
            return None, numbers if rows is None else numbers * rows
        return counted, numbers * counted

    def _best(self, number: int) -> bool:
        return self.aggregates[number].function in ("min", "max")

    def _message(self, link: Link, name: str, own: AnyArray | None) -> Tally:
        """What each node of a variable learns over one edge of the pattern.

        `own` is zero for nodes of the variable that do not take part.
        """
        csr = self._csr(link, bag=link.expand.edge is not None)
        if self._only_counts(link):
            size = self._entities(name).size
            degrees = csr.degrees[:size].astype(np.int64)
            missing = size - len(degrees)  # np.pad copies even if there is none
            return Tally(np.pad(degrees, (0, missing)) if missing else degrees)
        below = self._tally(link.other, name)
        entries = self._entries(link, csr, name, own, below)
        weight = None if below.rows is None else below.rows[entries.targets]
        if below.rows is not None and len(below.rows):
            _require_countable(_largest(below.rows) * len(entries.targets))
        message = Tally(entries.sums(weight))
        for number, (counted, value) in below.values.items():
            if self._best(number):
                assert value is not None
                best = entries.best(value[entries.targets], self.aggregates[number].function)
                message.values[number] = (None, best)
            else:
                message.values[number] = (
                    None if counted is None else entries.sums(counted[entries.targets]),
                    None if value is None else entries.sums(value[entries.targets]),
                )
        for number in self.aggregates_at[link.expand.edge] if link.expand.edge is not None else ():
            message.values[number] = self._edge_value(number, weight, entries)
        return message

    def _entries(
        self, link: Link, csr: Csr, name: str, own: AnyArray | None, below: Tally
    ) -> Entries:
        """The adjacency entries that matter: both ends take part, the edge passes its tests."""
        handles = self.active[name]
        entries = all_entries(csr, self._entities(name).size, handles)
        chosen: Mask | None = None
        edge = link.expand.edge
        if edge is not None and self.candidates[edge].tests:
            chosen = self.candidates[edge].test(entries.edges)
        if below.rows is not None:
            chosen = _both(chosen, (below.rows > 0)[entries.targets])
        if own is not None and handles is None:
            chosen = _both(chosen, (own[: csr.rows] > 0)[csr.owners])
        return entries if chosen is None else entries.only(chosen)

    def _edge_value(
        self, number: int, weight: AnyArray | None, entries: Entries
    ) -> tuple[AnyArray | None, AnyArray | None]:
        agg = self.aggregates[number]
        assert isinstance(agg.argument, PropertyRef)
        edges = self._entities(agg.argument.variable)
        name = agg.argument.property
        if self._best(number):
            ranks = edges.ranks(name)[0][entries.edges]
            return None, entries.best(ranks, agg.function)
        nulls = edges.nulls(name)
        counted: AnyArray | None = None
        if nulls is not None:
            valid = ~nulls[entries.edges]
            weight = valid.astype(np.int64) if weight is None else weight * valid
            counted = entries.sums(weight)
        if agg.function == "count":
            return counted, None
        flat = entries.along(name, edges.numbers(name)).astype(np.float64, copy=False)
        return counted, entries.sums(flat if weight is None else flat * weight)

    def _csr(self, link: Link, *, bag: bool) -> Csr:
        found = self.view.neighbours(link.expand.edge_type, link.direction, bag=bag)
        assert isinstance(found, Csr)
        return found

    def _entities(self, name: str) -> Entities:
        return self.view.loaded(self.evaluator.variables[name])

    # ------------------------------------------------------------------ the result

    def _partial(self, root: str, handles: Handles, tally: Tally) -> Partial | None:
        rows = None if tally.rows is None else tally.rows[handles]
        if rows is not None and (self.tree.group is not None or not rows.any()):
            chosen = rows > 0
            handles, rows = handles[chosen], rows[chosen]
        if not len(handles):
            return None
        codes = self.grouper.codes(Bindings({root: handles}, len(handles)))
        groups, keys = grouped(codes, len(handles))
        count = len(keys[0]) if keys else 1
        ones = np.ones(len(handles), np.int64) if rows is None else rows
        total = group_sums(ones, groups, count)
        states: list[tuple[AnyArray, Any]] = []
        for number, agg in enumerate(self.aggregates):
            counted, value = tally.values.get(number, (None, None))
            counts = total if counted is None else group_sums(counted[handles], groups, count)
            if isinstance(agg.argument, NodeRef) or agg.function == "count":
                states.append((counts, None))
            elif self._best(number):
                assert value is not None
                states.append(self._best_state(agg, value[handles], groups, count))
            else:
                assert value is not None
                sums = group_sums(value[handles].astype(np.float64), groups, count)
                states.append((counts, sums))
        return Partial(keys, states)

    def _best_state(
        self, agg: Aggregate, ranks: AnyArray, groups: AnyArray | None, count: int
    ) -> tuple[AnyArray, Any]:
        assert isinstance(agg.argument, PropertyRef)
        _, ordered = self._entities(agg.argument.variable).ranks(agg.argument.property)
        chosen = ranks >= 0
        values = ordered.take(pa.array(ranks[chosen]))
        return state_of(agg.function, values, None if groups is None else groups[chosen], count)


def _both(first: Mask | None, second: Mask) -> Mask:
    return second if first is None else first & second


def _only(ranks: AnyArray, rows: AnyArray | None) -> AnyArray:
    return ranks if rows is None else np.where(rows > 0, ranks, -1)


def _joined(first: Tally, second: Tally, best: Any) -> Tally:  # noqa: ANN401
    """Subtrees that meet at a variable: every match of one goes with every one of the other."""
    rows = _times(first.rows, second.rows)
    values: dict[int, tuple[AnyArray | None, AnyArray | None]] = {}
    for mine, other in ((first, second), (second, first)):
        for number, (counted, value) in mine.values.items():
            if best(number):
                assert value is not None
                values[number] = (None, _only(value, other.rows))
            else:
                values[number] = (
                    None if counted is None else _times(counted, other.rows),
                    None if value is None else _times(value, other.rows),
                )
    return Tally(rows, values)


def _times(left: AnyArray | None, right: AnyArray | None) -> AnyArray | None:
    if left is None:
        return right
    if right is None:
        return left
    if left.dtype.kind != "f" and right.dtype.kind != "f" and len(left):
        _require_countable(_largest(left) * _largest(right))
    return left * right


def _largest(values: AnyArray) -> int:
    return max(abs(int(values.max())), abs(int(values.min())))


def _require_countable(most: int) -> None:
    if most >= 2**63:
        raise ResourceLimit("the number of matches", 2**63 - 1, most)
