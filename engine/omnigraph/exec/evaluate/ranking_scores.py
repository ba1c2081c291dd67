"""Distances and scores of entities: computed when first needed, and once in a run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omnigraph.common.array_types import Floats, Mask
from omnigraph.errors import InvalidInput
from omnigraph.exec.columns.arrays import AnyArray, Handles, distinct
from omnigraph.exec.evaluate.evaluator import Evaluator, text_index
from omnigraph.exec.evaluate.sort_keys import id_ranks
from omnigraph.exec.graph.graph_view import Entities
from omnigraph.exec.search.nearest_neighbours import VectorColumn
from omnigraph.query.logical.expressions import Bm25, Nearest, Ranking, Rrf, ranked_variable
from omnigraph.schema.model.catalog import Property


class RankingScores:
    """Scores of the ranking calls of one block, by handle; NaN where an entity has none."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._found: dict[Ranking, Floats] = {}
        self._known: dict[Ranking, AnyArray] = {}
        self._ranks: dict[Ranking, AnyArray] = {}
        self._embedded: dict[Nearest, Floats] = {}

    def of(self, rank: Ranking, handles: Handles) -> Floats:
        """The scores of some entities."""
        if isinstance(rank, Bm25):
            return self._bm25(rank)[handles]
        if isinstance(rank, Rrf):
            if rank not in self._found:
                self.fuse(rank, self._entities(rank).all(), None)
            return self._found[rank][handles]
        return self._nearest(rank, handles)

    def fused_ranks(self, rank: Rrf, handles: Handles) -> AnyArray:
        """The ranks of fused entities, the best first."""
        return self._ranks[rank][handles]

    def column(self, rank: Ranking, handles: Handles) -> pa.Array:
        """Scores as a result column."""
        found = self.of(rank, handles)
        if isinstance(rank, Bm25 | Rrf):
            found = np.nan_to_num(found)
        return pa.array(found, pa.float64(), mask=np.isnan(found))

    def fuse(self, rank: Rrf, handles: Handles, limit: int | None) -> None:
        """Rank entities by reciprocal ranks in two arms; at most `limit` of them get a score."""
        entities = self._entities(rank)
        constant = self._evaluator.constant(rank.k)
        if constant is None or constant <= 0:
            raise InvalidInput(f"the constant k of rrf() must be above zero, not {constant}")
        ids = id_ranks(entities, handles)
        arms = [self._arm(arm, handles, ids, limit) for arm in (rank.first, rank.second)]
        total = sum(np.where(arm > 0, 1.0 / (constant + arm), 0.0) for arm in arms)
        last = [np.where(arm > 0, arm, np.iinfo(np.int64).max) for arm in arms]
        order = np.lexsort((last[1], last[0], -np.asarray(total)))
        order = order[: np.count_nonzero((arms[0] > 0) | (arms[1] > 0))][:limit]
        scores = np.full(entities.size, np.nan)
        scores[handles[order]] = np.asarray(total)[order]
        ranks = np.zeros(entities.size, np.int64)
        ranks[handles[order]] = np.arange(len(order))
        self._found[rank], self._ranks[rank] = scores, ranks

    def _arm(
        self, arm: Nearest | Bm25, handles: Handles, ids: AnyArray, limit: int | None
    ) -> AnyArray:
        """The rank of each entity in one arm, from 1; 0 for those it does not list."""
        costs = self.of(arm, handles)
        if isinstance(arm, Bm25):
            costs = -costs
        order = np.lexsort((ids, costs))[: np.count_nonzero(~np.isnan(costs))]
        if isinstance(arm, Nearest):
            order = order[:limit]
        ranks = np.zeros(len(handles), np.int64)
        ranks[order] = np.arange(1, len(order) + 1)
        return ranks

    # ------------------------------------------------------------------ primitives

    def _bm25(self, rank: Bm25) -> Floats:
        found = self._found.get(rank)
        if found is None:
            entities = self._entities(rank)
            by_position = np.full(entities.rows, np.nan)
            query = self._evaluator.constant(rank.query)
            if query is not None:
                info = self._evaluator.variables[rank.field.variable]
                index = text_index(self._evaluator.view, info, rank.field.property)
                positions, scores = index.bm25(query)
                by_position[positions] = scores
            found = self._found[rank] = entities.by_handle(by_position, np.nan)
        return found

    def _nearest(self, rank: Nearest, handles: Handles) -> Floats:
        entities = self._entities(rank)
        if rank not in self._found:
            self._found[rank] = np.full(entities.size, np.nan)
            self._known[rank] = np.zeros(entities.size, np.bool_)
        found, known = self._found[rank], self._known[rank]
        fresh = distinct(handles[~known[handles]], entities.size)
        if len(fresh):
            query = self._target(rank)
            if query is not None:
                matrix = entities.derived(rank.field.property, VectorColumn)
                found[fresh] = matrix.distances(query, entities.positions(fresh).astype(np.int64))
            known[fresh] = True
        return found[handles]

    def near(self, rank: Nearest, handles: Handles, count: int) -> Mask:
        """Which of some entities are, or tie with, the nearest ones; measures few of them."""
        entities = self._entities(rank)
        query = self._target(rank)
        found = np.zeros(entities.rows, np.bool_)
        if query is not None:
            matrix = entities.derived(rank.field.property, VectorColumn)
            among = entities.positions(distinct(handles, entities.size)).astype(np.int64)
            whole = None if len(among) == entities.rows else among
            found[matrix.top(query, count, whole, ties=True)[0]] = True
        return found[entities.positions(handles)]

    def _target(self, rank: Nearest) -> Floats | None:
        """The vector to measure from; text is embedded once in a run."""
        query = self._evaluator.constant(rank.query)
        if not isinstance(query, str):
            return None if query is None else np.asarray(query, np.float64)
        if rank not in self._embedded:
            self._embedded[rank] = self._embed(rank, query)
        return self._embedded[rank]

    def _embed(self, rank: Nearest, text: str) -> Floats:
        type_ = self._entities(rank).source.type
        prop = type_.property(rank.field.property)
        assert prop.type.dimension is not None
        embedder = self._evaluator.view.context.embedder(prop.type.dimension)
        if embedder is None:
            raise InvalidInput(
                "nearest() got a text, and no embedder is configured",
                hint="Set OMNIGRAPH_EMBEDDER=offline or openai, or pass a vector.",
            )
        require_model(type_.name, prop, embedder)
        return np.asarray(embedder.embed([text])[0], np.float64)

    def _entities(self, rank: Ranking) -> Entities:
        return self._evaluator.view.loaded(self._evaluator.variables[ranked_variable(rank)])


def require_model(type_name: str, prop: Property, embedder: object) -> None:
    """Refuse an embedder of another model than the one that made a property's vectors."""
    recorded = prop.embed.model if prop.embed else None
    model = getattr(embedder, "model", None)
    if recorded is not None and model is not None and recorded != model:
        raise InvalidInput(
            f"{type_name}.{prop.name} holds vectors of {recorded!r}, the embedder makes {model!r}",
            hint=f"Configure an embedder for {recorded!r}.",
            details={"type_name": type_name, "property": prop.name, "model": recorded},
        )
