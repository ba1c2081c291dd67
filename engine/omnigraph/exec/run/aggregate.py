"""Grouped aggregates over streamed rows: partial results per chunk, merged as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.exec.columns.arrays import AnyArray, ranked
from omnigraph.exec.evaluate.comparison import is_number
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.graph.bindings import Bindings
from omnigraph.exec.graph.graph_view import EntitySet
from omnigraph.query.logical.expressions import Aggregate, NodeRef, PropertyRef
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.schema.model.arrow_schema import arrow_type

MERGE_AT = 1 << 20


@dataclass
class Partial:
    """Groups, each a tuple of codes, and what is known of each so far.

    A state is a pair: how many values, and their sum or their best one (by Arrow array).
    """

    keys: list[AnyArray]
    states: list[tuple[AnyArray, Any]]

    def __len__(self) -> int:
        return len(self.states[0][0]) if self.states else len(self.keys[0])


class Grouper:
    """Aggregates the rows of a match by the group columns of a plan."""

    def __init__(self, evaluator: Evaluator, plan: ReadPlan) -> None:
        assert plan.group_by is not None
        self._evaluator = evaluator
        self._plan = plan
        self._group = [
            expr
            for i in plan.group_by
            if isinstance(expr := plan.columns[i].expr, NodeRef | PropertyRef)
        ]
        self.aggregates = [
            column.expr for column in plan.columns if isinstance(column.expr, Aggregate)
        ]
        self._partials: list[Partial] = []
        self._buffered = 0

    def add(self, rows: Bindings) -> None:
        """Take in some rows of the match."""
        groups, keys = grouped(self.codes(rows), rows.count)
        count = len(keys[0]) if keys else 1
        states = [self._state(agg, rows, groups, count) for agg in self.aggregates]
        self.add_partial(Partial(keys, states))

    def add_partial(self, partial: Partial) -> None:
        self._partials.append(partial)
        self._buffered += len(partial)
        if self._buffered > MERGE_AT and len(self._partials) > 1:
            self._partials = [self._merged()]
            self._buffered = len(self._partials[0])

    def finish(self) -> list[pa.Array]:
        """The columns of the result, one row per group."""
        merged = self._merged() if self._partials else None
        if merged is None and self._group:
            return [pa.array([], arrow_type(column.type)) for column in self._plan.columns]
        keys = map(self._decoded, self._group, merged.keys if merged else ())
        states = iter(merged.states if merged else [self._none(a) for a in self.aggregates])
        return [
            _result(expr, *next(states)) if isinstance(expr, Aggregate) else next(keys)
            for expr in (column.expr for column in self._plan.columns)
        ]

    # ------------------------------------------------------------------ group keys

    def codes(self, rows: Bindings) -> list[AnyArray]:
        """The group key of each row, one array of codes per member."""
        return [
            rows[expr.variable]
            if isinstance(expr, NodeRef)
            else self._entities(expr).group_codes(expr.property, rows[expr.variable])
            for expr in self._group
        ]

    def _decoded(self, expr: NodeRef | PropertyRef, codes: AnyArray) -> pa.Array:
        entities = self._entities(expr)
        if isinstance(expr, NodeRef):
            return entities.ids(codes)
        return entities.decoded(expr.property, codes)

    def _entities(self, expr: NodeRef | PropertyRef) -> EntitySet:
        return self._evaluator.view.entities(self._evaluator.variables[expr.variable])

    # ------------------------------------------------------------------ states

    def _state(
        self, agg: Aggregate, rows: Bindings, groups: AnyArray | None, count: int
    ) -> tuple[AnyArray, Any]:
        if isinstance(agg.argument, NodeRef):
            return _counts(groups, rows.count, count), None
        values = self._evaluator.column(agg.argument, rows)
        if values.null_count:
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            values = values.drop_null()
            groups = None if groups is None else groups[valid]
        return state_of(agg.function, values, groups, count)

    def _none(self, agg: Aggregate) -> tuple[AnyArray, Any]:
        empty = pa.array([], arrow_type(agg.argument.type))
        return state_of(agg.function, empty, None, 1)

    def _merged(self) -> Partial:
        if len(self._partials) == 1:
            return self._partials[0]
        keys = [
            np.concatenate([p.keys[i] for p in self._partials]) for i in range(len(self._group))
        ]
        total = sum(len(partial) for partial in self._partials)
        groups, keys = grouped(keys, total)
        count = len(keys[0]) if keys else 1
        states = [
            _merged_state(agg, [p.states[i] for p in self._partials], groups, count)
            for i, agg in enumerate(self.aggregates)
        ]
        return Partial(keys, states)


def grouped(codes: Sequence[AnyArray], rows: int) -> tuple[AnyArray | None, list[AnyArray]]:
    """The number of each row's group, and the codes of every group; no codes are one group."""
    if not codes:
        return None, []
    combined = codes[0].astype(np.int64)
    limit = int(combined.max(initial=0)) + 1
    for code in codes[1:]:
        width = int(code.max(initial=0)) + 1
        if limit * width >= 2**62:
            _, combined = np.unique(combined, return_inverse=True)
            limit = int(combined.max(initial=0)) + 1
        combined = combined * width + code
        limit *= width
    if limit <= 4 * rows + 1024:
        seen = np.zeros(limit, np.bool_)
        seen[combined] = True
        distinct = np.flatnonzero(seen)
        numbers = np.empty(limit, np.int64)
        numbers[distinct] = np.arange(len(distinct))
        groups = numbers[combined]
    else:
        distinct, groups = np.unique(combined, return_inverse=True)
    example = np.empty(len(distinct), np.int64)
    example[groups] = np.arange(rows)
    return groups, [code[example] for code in codes]


def _counts(groups: AnyArray | None, rows: int, count: int) -> AnyArray:
    return np.array([rows]) if groups is None else np.bincount(groups, minlength=count)


def state_of(
    function: str, values: pa.Array, groups: AnyArray | None, count: int
) -> tuple[AnyArray, Any]:
    """The state of an aggregate over values that are not null."""
    counts = _counts(groups, len(values), count)
    match function:
        case "count":
            return counts, None
        case "sum" | "avg":
            return counts, _sums(values, groups, count)
        case _:
            return counts, _best(function, values, groups, counts)


def _sums(values: pa.Array, groups: AnyArray | None, count: int) -> AnyArray:
    numbers = values.to_numpy(zero_copy_only=False)
    if groups is None:
        return np.array([numbers.sum(dtype=np.float64)])
    return np.bincount(groups, weights=numbers, minlength=count)


def _best(function: str, values: pa.Array, groups: AnyArray | None, counts: AnyArray) -> pa.Array:
    """The smallest or largest value of every group; null where there is none."""
    if groups is None:
        extreme = pc.min_max(values)[function]
        return pa.array([extreme.as_py()], values.type)
    if not len(values):
        return pa.nulls(len(counts), values.type)
    sorted_values: pa.Array | None = None
    if is_number(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
    else:
        numbers, sorted_values = ranked(values)
    by_group = np.argsort(groups, kind="stable")
    filled = counts > 0
    starts = (np.cumsum(counts) - counts)[filled]
    reduce = np.minimum if function == "min" else np.maximum
    best = reduce.reduceat(numbers[by_group], starts)
    indices = np.cumsum(filled) - 1
    extremes = pa.array(best) if sorted_values is None else sorted_values.take(pa.array(best))
    return extremes.take(pa.array(indices, mask=~filled)).cast(values.type)


def _merged_state(
    agg: Aggregate, states: Sequence[tuple[AnyArray, Any]], groups: AnyArray | None, count: int
) -> tuple[AnyArray, Any]:
    counts = np.concatenate([state[0] for state in states])
    total = group_sums(counts, groups, count)
    match agg.function:
        case "count":
            return total, None
        case "sum" | "avg":
            sums = np.concatenate([state[1] for state in states])
            return total, group_sums(sums, groups, count)
        case _:
            values = pa.concat_arrays([state[1] for state in states])
            valid = values.is_valid().to_numpy(zero_copy_only=False)
            present_groups = None if groups is None else groups[valid]
            present = _counts(present_groups, int(valid.sum()), count)
            return total, _best(agg.function, values.drop_null(), present_groups, present)


def group_sums(values: AnyArray, groups: AnyArray | None, count: int) -> AnyArray:
    """Numbers added up by group; whole ones are counts, never negative, and added up exactly."""
    if groups is None:
        return np.array([values.sum()])
    if values.dtype.kind == "f":
        return np.bincount(groups, weights=values, minlength=count)
    if values.sum(dtype=np.float64) < 2**53:
        return np.bincount(groups, weights=values, minlength=count).astype(np.int64)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, groups, values)
    return sums


def _result(agg: Aggregate, counts: AnyArray, state: Any) -> pa.Array:  # noqa: ANN401
    match agg.function:
        case "count":
            return pa.array(counts, pa.int64())
        case "sum":
            return pa.array(state, pa.float64(), mask=counts == 0)
        case "avg":
            return pa.array(state / np.maximum(counts, 1), pa.float64(), mask=counts == 0)
        case _:
            return state.cast(arrow_type(agg.type))
