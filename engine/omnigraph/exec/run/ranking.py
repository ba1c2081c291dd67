"""Ranking: the complete match first, then entities in order of distance or score.

The rules are docs/design/query-language.md#6-search.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.common.array_types import Floats
from omnigraph.exec.columns.arrays import AnyArray, Handles, distinct
from omnigraph.exec.evaluate.evaluator import Evaluator
from omnigraph.exec.evaluate.sort_keys import SortKey, ids_in_order, sorted_indices
from omnigraph.exec.graph.bindings import Bindings, concat
from omnigraph.query.logical.expressions import Bm25, Nearest, Ranking, Rrf, ranked_variable
from omnigraph.query.logical.logical_plan import ReadPlan


class Ranker:
    """Collects the rows of a match and gives them back ranked, the best `limit` of them."""

    def __init__(self, evaluator: Evaluator, plan: ReadPlan, keys: list[SortKey]) -> None:
        assert plan.rank is not None
        self._evaluator = evaluator
        self._plan = plan
        self._keys = keys
        self._scores = evaluator.scores
        self._rank: Ranking = plan.rank
        self._variable = ranked_variable(plan.rank)
        self._entities = evaluator.view.entities(plan.pattern.variables[self._variable])
        self._parts: list[Bindings] = []
        self._worst: float | None = None

    def add(self, rows: Bindings) -> None:
        """Take in some rows of the match."""
        if self._plan.limit == 0:
            return
        if isinstance(self._rank, Nearest) and self._plan.limit is not None:
            entities = rows[self._variable]
            rows = rows.take(self._scores.near(self._rank, entities, self._plan.limit))
        if not isinstance(self._rank, Rrf):
            # A distance or a score depends on nothing but the entity: most rows can go at once.
            costs = self._costs(rows[self._variable])
            rows = self._promising(rows, costs)
        if rows.count:
            self._parts.append(rows)

    def finish(self) -> Bindings:
        """The rows in order."""
        rows = concat(self._parts)
        if not rows.count:
            return rows
        if isinstance(self._rank, Rrf):
            rows = self._fused(rows, self._rank)
        return self._ordered(rows)

    def _promising(self, rows: Bindings, costs: Floats) -> Bindings:
        chosen = ~np.isnan(costs)
        limit = self._plan.limit
        if limit is not None:
            found = costs[chosen]
            if len(found) >= limit:
                worst = float(np.partition(found, limit - 1)[limit - 1])
                self._worst = worst if self._worst is None else min(worst, self._worst)
            if self._worst is not None:
                chosen &= costs <= self._worst
        return rows if chosen.all() else rows.take(chosen)

    def _costs(self, handles: Handles) -> Floats:
        """What to rank by, ascending; NaN drops a row."""
        found = self._scores.of(self._rank, handles)
        return -found if isinstance(self._rank, Bm25 | Rrf) else found

    def _fused(self, rows: Bindings, rank: Rrf) -> Bindings:
        handles = distinct(rows[self._variable], self._entities.size)
        self._scores.fuse(rank, handles, self._plan.limit)
        return rows.take(~np.isnan(self._scores.of(rank, rows[self._variable])))

    def _ordered(self, rows: Bindings) -> Bindings:
        entity = rows[self._variable]
        if isinstance(self._rank, Rrf):
            # Ties of a fused score keep the order of the arms, which `fuse` has settled.
            first: pa.Array = pa.array(self._scores.fused_ranks(self._rank, entity))
        else:
            first = pa.array(self._costs(entity))
        columns = [(first, False), *((key.column(rows), key.descending) for key in self._keys)]
        names = [self._variable, *(n for n in self._plan.tie_break if n != self._variable)]
        variables = self._plan.pattern.variables
        ties = [
            ids_in_order(rows, name, self._evaluator.view.entities(variables[name]))
            for name in names
        ]
        indices = sorted_indices(columns, ties, rows.count)
        return rows.take(_adjacent(entity[indices], indices)[: self._plan.limit])


def _adjacent(entities: AnyArray, indices: AnyArray) -> AnyArray:
    """Indices with all rows of an entity where its first one is, otherwise in the same order."""
    _, first, which = np.unique(entities, return_index=True, return_inverse=True)
    return indices[np.argsort(first[which], kind="stable")]
