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
from omnigraph.storage.core.model import MAIN
from omnigraph.storage.core.read_errors import translating, typed_batches
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.refs.moments import resolve
from omnigraph.storage.refs.snapshot import Snapshot

__all__ = ["MutationResult", "QueryMethods", "QueryResult", "StoredQuery"]

SNAPSHOTS = 64
"""Moments that are not looked up again while nothing is committed."""

QueryParams = Mapping[str, Any] | None
QueryKind = Literal["read", "mutation"]


class QueryMethods:
    """The part of a graph that runs queries; keeps what they share between runs."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._context = ExecContext(
            root=store.root, cache_dir=default_cache_dir(), embedder=configured_embedder
        )
        self._seen: tuple[ManifestView, BoundedCache[str, Snapshot]] | None = None
        """Snapshots by the names they were looked up by, while nothing has been committed since."""

    def query(
        self,
        text: str | None = None,
        name: str | None = None,
        params: QueryParams = None,
        at: str | Snapshot = MAIN,
        *,
        file: str | None = None,
    ) -> QueryResult:
        """Run a `.gq` read at a moment. Without a text, `name` is a stored query.

        `file` is where the text comes from: errors that point into it say so.
        """
        snapshot, query = self._read_query(text, name, at, file)
        return run_read(snapshot, query, params, context=self._context)

    def reach(
        self,
        edge: str,
        node: str,
        seeds: Sequence[str] | None = None,
        *,
        min_steps: int = 1,
        max_steps: int = 1,
        direction: ReachDirection | None = None,
        at: str | Snapshot = MAIN,
    ) -> pa.RecordBatchReader:
        """Rows (seed, id, depth) of the nodes that some nodes reach along an edge type.

        Without seeds, from every node of the type. `direction` is out, in or both.
        """
        snapshot = self._snapshot(at)
        view = GraphView(snapshot, self._context)
        reached = reach(view, edge, node, seeds, min_steps, max_steps, direction)
        return typed_batches(reached, REACH_SCHEMA, snapshot.explained)

    def explain(
        self,
        text: str | None = None,
        name: str | None = None,
        params: QueryParams = None,
        at: str = MAIN,
        *,
        analyze: bool = False,
        file: str | None = None,
    ) -> str:
        """How a read is run, as a tree; with `analyze` it runs and shows times and row counts."""
        snapshot, query = self._read_query(text, name, at, file)
        with translating(snapshot.explained):
            return explain(snapshot, query, params, context=self._context, analyze=analyze)

    def mutate(
        self,
        text: str | None = None,
        name: str | None = None,
        params: QueryParams = None,
        *,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        if_commit: str | None = None,
        file: str | None = None,
    ) -> MutationResult:
        """Run a `.gq` mutation: one atomic commit, or none if nothing matched."""
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

    def lint(self, text: str, at: str = MAIN, *, file: str | None = None) -> LintReport:
        """Check the queries of a text against the schema at a moment."""
        return lint(text, self._snapshot(at).catalog, file)

    # ------------------------------------------------------------------ stored queries

    def queries(self, at: str = MAIN) -> list[StoredQuery]:
        """The queries stored on a branch, at a moment."""
        return stored_queries(self._snapshot(at))

    def stored_query(self, name: str, at: str | Snapshot = MAIN) -> StoredQuery:
        """One stored query by name."""
        return find_stored(self._snapshot(at), name)

    def register_queries(
        self,
        source: str,
        *,
        branch: str = MAIN,
        actor: str | None = None,
        file: str | None = None,
    ) -> Sequence[str]:
        """Check the queries of a text and store each under its name, in one commit."""
        return register_queries(self._store, branch, source, actor=actor, file=file)

    def remove_query(self, name: str, *, branch: str = MAIN, actor: str | None = None) -> None:
        """Remove a stored query from a branch; older moments still have it."""
        remove_query(self._store, branch, name, actor=actor)

    # ------------------------------------------------------------------ parts

    def _read_query(
        self, text: str | None, name: str | None, at: str | Snapshot, file: str | None
    ) -> tuple[Snapshot, CompiledQuery]:
        _require_kind(text, name, "read", file)
        snapshot = self._snapshot(at)
        return snapshot, self._compiled(snapshot, text, name, file)

    def _snapshot(self, at: str | Snapshot) -> Snapshot:
        if isinstance(at, Snapshot):
            return at
        view, seen = self._store.publisher.refresh(), self._seen
        if seen is None or seen[0] is not view:
            seen = self._seen = (view, BoundedCache(SNAPSHOTS))
        snapshot = seen[1].get(at)
        if snapshot is None:
            snapshot = Snapshot(self._store, resolve(self._store, at))
            seen[1].put(at, snapshot)
        return snapshot

    def _compiled(
        self, snapshot: Snapshot, text: str | None, name: str | None, file: str | None
    ) -> CompiledQuery:
        if text is None:
            assert name is not None, "_require_kind has looked"
            text, file = find_stored(snapshot, name).source, f"stored query {name}"
        schema = snapshot.moment.reading_schema
        return self._context.compiled(text, name, snapshot.catalog, schema, file)


def _require_kind(
    text: str | None, name: str | None, required: QueryKind, file: str | None
) -> None:
    """Refuse what the call alone shows to be wrong, before anything is read."""
    if text is None:
        if name is None:
            raise InvalidInput(
                "neither a query text nor the name of a stored query is given",
                hint="Give a text, or the name of a stored query.",
            )
        return  # what a stored query is, only its branch knows
    query, kind = _chosen_kind(text, name, file)
    if kind == required:
        return
    if kind == "mutation":
        raise InvalidInput(f"{query} is a mutation, not a read", hint="Run it with mutate.")
    raise InvalidInput(f"{query} is a read, not a mutation", hint="Run it with query.")


@lru_cache(maxsize=1024)  # as many as are cached compiled
def _chosen_kind(text: str, name: str | None, file: str | None) -> tuple[str, QueryKind]:
    _, query = choose_query(text, name, file)
    return query.name.text, "mutation" if isinstance(query.body, MutationTree) else "read"
