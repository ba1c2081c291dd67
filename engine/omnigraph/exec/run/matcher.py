"""Matching: runs the steps of a plan over chunks of rows, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles, index_dtype, index_ranges
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.evaluate.value_join import ValueIndex
from omnigraph.exec.graph.bindings import CHUNK, Bindings
from omnigraph.exec.graph.graph_view import EntitySet, Neighbours
from omnigraph.exec.graph.traversal import Reached, reachable
from omnigraph.exec.plan.match_plan import (
    BACK,
    ROW,
    AntiJoinStep,
    ExpandIntoStep,
    ExpandStep,
    FilterStep,
    MatchPlan,
    MatchStep,
    ScanStep,
)
from omnigraph.exec.run.candidate_set import Candidates
from omnigraph.query.logical.expressions import PropertyRef
from omnigraph.query.logical.logical_plan import Expand


class Matcher:
    """Runs one plan with an evaluator that knows its variables. Rows come out in chunks, in no
    particular order.
    """

    def __init__(self, evaluator: Evaluator, plan: MatchPlan) -> None:
        self.evaluator = evaluator
        self.view = evaluator.view
        self.plan = plan
        self.candidates = {
            name: Candidates(evaluator, name, info, plan.tests.get(name, ()))
            for name, info in plan.variables.items()
        }
        self._inner: dict[int, Matcher] = {}
        self._by_value: dict[PropertyRef, ValueIndex] = {}
        self._joined: dict[PropertyRef, Handles] = {}

    def run(self, given: Bindings | None = None) -> Iterator[Bindings]:
        """Every match, or every match of given rows."""
        chunks: Iterator[Bindings] = iter([given if given is not None else Bindings({}, 1)])
        trace, previous = self.evaluator.trace, None
        for step in self.plan.steps:
            chunks = self._apply(step, chunks)
            if trace is not None:
                chunks = trace.watch(step, previous, chunks)
            previous = step
        return chunks

    def exists(self, given: Bindings) -> Mask:
        """Which of the given rows have at least one match."""
        numbered = given.add(**{ROW: np.arange(given.count, dtype=np.int64)})
        found = np.zeros(given.count, np.bool_)
        for rows in self.run(numbered):
            found[rows[ROW]] = True
        return found

    # ------------------------------------------------------------------ steps

    def _apply(self, step: MatchStep, chunks: Iterator[Bindings]) -> Iterator[Bindings]:
        for rows in chunks:
            if not rows.count:
                continue
            match step:
                case ScanStep():
                    yield from self._scan(step, rows)
                case ExpandStep():
                    yield from self._expand(step, rows)
                case ExpandIntoStep():
                    yield from self._expand_into(step, rows)
                case FilterStep():
                    passed = self.evaluator.test_all(step.conditions, rows)
                    yield rows.take(passed).keep(step.keep)
                case AntiJoinStep():
                    yield rows.take(~self._has_inner_match(step, rows)).keep(step.keep)

    def _scan(self, step: ScanStep, rows: Bindings) -> Iterator[Bindings]:
        if step.equal is not None:
            yield from self._join_by_value(step, step.equal, rows)
            return
        handles = self.candidates[step.variable].handles()
        if rows.count == 1 and not rows.columns:
            yield from _bound(rows, step.keep, step.variable, handles).chunks()
            return
        block = max(1, CHUNK // max(len(handles), 1))
        for part in rows.keep(step.keep).chunks(block):
            for start in range(0, len(handles), CHUNK):
                some = handles[start : start + CHUNK]
                crossed = part.take(np.repeat(np.arange(part.count), len(some)))
                if step.variable in step.keep:
                    crossed = crossed.add(**{step.variable: np.tile(some, part.count)})
                yield crossed

    def _join_by_value(
        self, step: ScanStep, equal: tuple[PropertyRef, PropertyRef], rows: Bindings
    ) -> Iterator[Bindings]:
        own, other = equal
        first = own not in self._joined
        if first:
            self._joined[own] = self.candidates[step.variable].handles()
        handles, other_handles = self._joined[own], rows[other.variable]
        needed, index = rows.keep(step.keep), self._by_value.get(own)
        if first and len(other_handles) < len(handles):
            # The first few rows are looked for by the many; if more come, it pays to turn round.
            row_index = ValueIndex(self._entities(other), other.property, other_handles)
            starts, counts = row_index.find(self._entities(own), own.property, handles)
            for start, stop in split_by_sum(counts, CHUNK):
                some = counts[start:stop]
                part = needed.take(row_index.order[index_ranges(starts[start:stop], some)])
                bound = np.repeat(handles[start:stop], some)
                yield _bound(part, step.keep, step.variable, bound)
            return
        if index is None:
            index = ValueIndex(self._entities(own), own.property, handles)
            self._by_value[own] = index
        starts, counts = index.find(self._entities(other), other.property, other_handles)
        for start, stop in split_by_sum(counts, CHUNK):
            some = counts[start:stop]
            entries = index.order[index_ranges(starts[start:stop], some)]
            part = needed.slice(start, stop).take(repeated(some))
            yield _bound(part, step.keep, step.variable, handles[entries])

    def _entities(self, ref: PropertyRef) -> EntitySet:
        return self.view.entities(self.evaluator.variables[ref.variable])

    def _expand(self, step: ExpandStep, rows: Bindings) -> Iterator[Bindings]:
        expand = step.expand
        if expand.min_hops > expand.max_hops:
            return
        if expand.max_hops > 1:
            yield from self._expand_repeatedly(step, rows)
            return
        csr = self.view.neighbours(expand.edge_type, step.direction, bag=expand.edge is not None)
        needed = rows.keep(step.keep)
        origins = rows[step.origin]
        for start, stop in split_by_sum(csr.degree(origins), CHUNK):
            yield from self._expand_once(
                step,
                csr,
                origins[start:stop],
                needed.slice(start, stop) if stop - start < rows.count else needed,
            )

    def _expand_once(
        self, step: ExpandStep, csr: Neighbours, origins: Handles, needed: Bindings
    ) -> Iterator[Bindings]:
        edge = step.expand.edge
        new: dict[str, Handles] = {}
        candidates = self.candidates[step.variable]
        if not candidates.tests and not {step.variable, edge} & step.keep:
            # Only the number of edges matters, not where they lead.
            counts = csr.degree(origins)
            columns = needed.take(repeated(counts)).columns if needed.columns else {}
            yield Bindings(columns, int(counts.sum()))
            return
        if edge is not None and edge in step.keep:
            entries, counts = csr.entries(origins)
            assert csr.edges is not None
            targets = csr.targets[entries]
            new[edge] = csr.edges[entries]
        else:
            targets, counts = csr.expand(origins)
        owners = repeated(counts) if needed.columns else None
        if candidates.tests:
            passed = candidates.test(targets)
            targets = targets[passed]
            new = {name: column[passed] for name, column in new.items()}
            owners = None if owners is None else owners[passed]
        if step.variable in step.keep:
            new[step.variable] = targets
        columns = {} if owners is None else needed.take(owners).columns
        if len(targets):
            yield Bindings({**columns, **new}, len(targets))

    def _expand_repeatedly(self, step: ExpandStep, rows: Bindings) -> Iterator[Bindings]:
        needed = rows.keep(step.keep)
        origins = rows[step.origin]
        for reached, some, which in self._reached(step.expand, step.origin, origins):
            yield from self._reached_rows(step, needed.take(some), which, reached)

    def _reached_rows(
        self, step: ExpandStep, part: Bindings, which: AnyArray, reached: Reached
    ) -> Iterator[Bindings]:
        owners, nodes = reached.owners - reached.start, reached.nodes
        candidates = self.candidates[step.variable]
        if candidates.tests:
            passed = candidates.test(nodes)
            owners, nodes = owners[passed], nodes[passed]
        nodes = nodes[np.argsort(owners, kind="stable")]
        counts = np.bincount(owners, minlength=reached.stop - reached.start)
        starts = np.cumsum(counts) - counts
        which = which - reached.start
        for start, stop in split_by_sum(counts[which], CHUNK):
            some = which[start:stop]
            entries = index_ranges(starts[some], counts[some])
            if not len(entries):
                continue
            sources = part.slice(start, stop).take(repeated(counts[some]))
            yield _bound(sources, step.keep, step.variable, nodes[entries])

    def _reached(
        self, expand: Expand, origin: str, handles: Handles
    ) -> Iterator[tuple[Reached, AnyArray, AnyArray]]:
        """What some rows' origins reach, with the indices of the rows and of their sources."""
        back = origin != expand.left
        direction = expand.direction
        if direction != "undirected" and back:
            direction = "reverse"
        csr = self.view.neighbours(expand.edge_type, direction, bag=False)
        sources, which = np.unique(handles, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ordered = which[order]
        low, high = expand.min_hops, expand.max_hops
        for reached in reachable(csr, sources, low, high, from_target=back):
            some = order[slice(*np.searchsorted(ordered, (reached.start, reached.stop)))]
            yield reached, some, which[some]

    def _expand_into(self, step: ExpandIntoStep, rows: Bindings) -> Iterator[Bindings]:
        expand = step.expand
        left, right = rows[step.origin], rows[step.variable]
        needed = rows.keep(step.keep)
        if expand.min_hops > expand.max_hops:
            return
        if expand.max_hops > 1:
            yield needed.take(self._within(expand, left, right))
            return
        direction = step.direction
        if not _ascending(left) and _ascending(right):
            # Looking up in the order of the adjacency is several times faster.
            direction, left, right = BACK[direction], right, left
        csr = self.view.neighbours(expand.edge_type, direction, bag=expand.edge is not None)
        starts, stops = csr.between(left, right)
        if expand.edge is None:
            yield needed.take(stops > starts)
            return
        assert csr.edges is not None
        counts = stops - starts
        for start, stop in split_by_sum(counts, CHUNK):
            some = counts[start:stop]
            entries = index_ranges(starts[start:stop], some)
            if not len(entries):
                continue
            part = needed.slice(start, stop).take(repeated(some))
            yield _bound(part, step.keep, expand.edge, csr.edges[entries])

    def _within(self, expand: Expand, left: Handles, right: Handles) -> Mask:
        passed = np.zeros(len(left), np.bool_)
        for reached, some, which in self._reached(expand, expand.left, left):
            pairs = reached.owners << 32 | reached.nodes
            passed[some] = np.isin(which.astype(np.int64) << 32 | right[some], pairs)
        return passed

    def _has_inner_match(self, step: AntiJoinStep, rows: Bindings) -> Mask:
        inner = self._inner.get(id(step))
        if inner is None:
            evaluator = self.evaluator.within(step.plan.variables)
            inner = self._inner[id(step)] = Matcher(evaluator, step.plan)
        given = rows.keep(step.correlated)
        if len(given.columns) == 1:
            ((name, column),) = given.columns.items()
            distinct, which = np.unique(column, return_inverse=True)
            given = Bindings({name: distinct}, len(distinct))
        else:
            stacked = np.stack([c.astype(np.int64) for c in given.columns.values()], axis=1)
            tuples, which = np.unique(stacked, axis=0, return_inverse=True)
            given = Bindings({n: tuples[:, i] for i, n in enumerate(given.columns)}, len(tuples))
        return inner.exists(given)[which.reshape(-1)]


def _bound(rows: Bindings, keep: frozenset[str], name: str, handles: Handles) -> Bindings:
    """Rows with a variable bound, if it is kept."""
    columns = {**rows.columns, name: handles} if name in keep else rows.columns
    return Bindings(columns, len(handles))


def _ascending(handles: Handles) -> bool:
    return bool((handles[1:] >= handles[:-1]).all())


def split_by_sum(counts: AnyArray, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose counts add up to about the limit, one row at least."""
    total = int(counts.sum())
    if total <= limit:
        if total:
            yield 0, len(counts)
        return
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, "right")))
        yield start, stop
        start = stop


def repeated(counts: AnyArray) -> AnyArray:
    """0 as often as the first count says, then 1, …"""
    return np.repeat(np.arange(len(counts), dtype=index_dtype(len(counts))), counts)
