"""Queries of one open graph: ad hoc or stored, compiled once, run at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from omnigraph.api.stored_queries import (
    StoredQuery,
    find_stored,
    register_queries,
    remove_query,
    stored_queries,
)
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.embedding import configured_embedder
from omnigraph.errors import InvalidInput
from omnigraph.exec.graph.adjacency_disk_cache import default_cache_dir
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.graph.reachability import REACH_SCHEMA, ReachDirection, reach
from omnigraph.exec.mutate.run_mutation import MutationResult, require_branch, run_mutation
from omnigraph.exec.run.explain import explain
from omnigraph.exec.run.query_result import QueryResult
from omnigraph.exec.run.run_read import run_read
from omnigraph.query import CompiledQuery, LintReport, choose_query, lint
from omnigraph.query.syntax.tree import MutationTree
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.refs.moments import resolve
from omnigraph.storage.refs.snapshot import Snapshot

__all__ = ["MutationResult", "Queries", "QueryResult", "StoredQuery"]

SNAPSHOTS = 64
"""Moments that are not looked up again while nothing is committed."""

QueryParams = Mapping[str, Any] | None
QueryKind = Literal["read", "mutation"]


class Queries:
    """Runs queries against one graph; keeps what they share between runs."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._context = ExecContext(
            root=store.root, cache_dir=default_cache_dir(), embedder=configured_embedder
        )
        self._seen: tuple[ManifestView, BoundedCache[str, Snapshot]] | None = None
        """Snapshots by the names they were asked for, while nothing has been committed since."""

    def read(
        self,
        text: str | None,
        name: str | None,
        params: QueryParams,
        at: str | Snapshot,
        file: str | None,
    ) -> QueryResult:
        _require_kind(text, name, "read", file)
        snapshot = self._snapshot(at)
        query = self._compiled(snapshot, text, name, file)
        return run_read(snapshot, query, params, context=self._context)

    def reach(
        self,
        edge: str,
        node: str,
        seeds: Sequence[str] | None,
        low: int,
        high: int,
        direction: ReachDirection | None,
        at: str | Snapshot,
    ) -> pa.RecordBatchReader:
        view = GraphView(self._snapshot(at), self._context)
        found = reach(view, edge, node, seeds, low, high, direction)
        return pa.RecordBatchReader.from_batches(REACH_SCHEMA, found)

    def explain(
        self,
        text: str | None,
        name: str | None,
        params: QueryParams,
        at: str,
        analyze: bool,
        file: str | None,
    ) -> str:
        _require_kind(text, name, "read", file)
        snapshot = self._snapshot(at)
        query = self._compiled(snapshot, text, name, file)
        return explain(snapshot, query, params, context=self._context, analyze=analyze)

    def mutate(
        self,
        text: str | None,
        name: str | None,
        params: QueryParams,
        *,
        branch: str,
        actor: str | None,
        message: str | None,
        if_commit: str | None,
        file: str | None,
    ) -> MutationResult:
        target = require_branch(branch)
        _require_kind(text, name, "mutation", file)
        query = self._compiled(self._snapshot(target), text, name, file)
        return run_mutation(
            self._store,
            query,
            params,
            branch=target,
            actor=actor,
            message=message,
            if_commit=if_commit,
            embedder_for=configured_embedder,
        )

    def lint(self, text: str, at: str, file: str | None) -> LintReport:
        return lint(text, self._snapshot(at).catalog, file)

    # ------------------------------------------------------------------ stored queries

    def stored(self, at: str) -> list[StoredQuery]:
        return stored_queries(self._snapshot(at))

    def find(self, name: str, at: str | Snapshot) -> StoredQuery:
        return find_stored(self._snapshot(at), name)

    def register(
        self, source: str, branch: str, actor: str | None, file: str | None
    ) -> Sequence[str]:
        return register_queries(self._store, branch, source, actor=actor, file=file)

    def remove(self, name: str, branch: str, actor: str | None) -> None:
        remove_query(self._store, branch, name, actor=actor)

    # ------------------------------------------------------------------ parts

    def _snapshot(self, at: str | Snapshot) -> Snapshot:
        if isinstance(at, Snapshot):
            return at
        view, seen = self._store.publisher.refresh(), self._seen
        if seen is None or seen[0] is not view:
            seen = self._seen = (view, BoundedCache(SNAPSHOTS))
        found = seen[1].get(at)
        if found is None:
            found = Snapshot(self._store, resolve(self._store, at))
            seen[1].put(at, found)
        return found

    def _compiled(
        self, snapshot: Snapshot, text: str | None, name: str | None, file: str | None
    ) -> CompiledQuery:
        if text is None:
            assert name is not None, "_require_kind has looked"
            text, file = find_stored(snapshot, name).source, f"stored query {name}"
        schema = snapshot.moment.reading_schema
        return self._context.compiled(text, name, snapshot.catalog, schema, file)


def _require_kind(text: str | None, name: str | None, wanted: QueryKind, file: str | None) -> None:
    """Refuse what the call alone shows to be wrong, before anything is read."""
    if text is None:
        if name is None:
            raise InvalidInput(
                "neither a query text nor the name of a stored query is given",
                hint="Give a text, or the name of a stored query.",
            )
        return  # what a stored query is, only its branch knows
    found, kind = _chosen_kind(text, name, file)
    if kind == wanted:
        return
    if kind == "mutation":
        raise InvalidInput(f"{found} changes the graph and is no read", hint="Run it with mutate.")
    raise InvalidInput(f"{found} is a read and changes nothing", hint="Run it with query.")


@lru_cache(maxsize=1024)  # as many as are kept compiled
def _chosen_kind(text: str, name: str | None, file: str | None) -> tuple[str, QueryKind]:
    _, query = choose_query(text, name, file)
    return query.name.text, "mutation" if isinstance(query.body, MutationTree) else "read"
