"""Queries of one open graph: ad hoc or stored, compiled once, run at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.embedding import configured_embedder
from omnigraph.errors import InvalidInput
from omnigraph.exec.context import ExecContext
from omnigraph.exec.explain import explain
from omnigraph.exec.kept import default_cache_dir
from omnigraph.exec.mutate import MutationResult, run_mutation
from omnigraph.exec.result import QueryResult
from omnigraph.exec.run import run_read
from omnigraph.exec.stored import (
    StoredQuery,
    find_stored,
    register_queries,
    remove_query,
    stored_queries,
)
from omnigraph.query import CompiledQuery, LintReport, lint
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.moments import branch_name, resolve
from omnigraph.storage.snapshot import Snapshot

__all__ = ["MutationResult", "Queries", "QueryResult", "StoredQuery"]

Params = Mapping[str, Any] | None


class Queries:
    """Runs queries against one graph; keeps what they share between runs."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._context = ExecContext(
            root=store.root, cache_dir=default_cache_dir(), embedder_for=configured_embedder
        )

    def read(self, text: str | None, name: str | None, params: Params, at: str) -> QueryResult:
        snapshot = self._snapshot(at)
        query = self._compiled(snapshot, text, name)
        return run_read(snapshot, query, params, context=self._context)

    def explain(
        self, text: str | None, name: str | None, params: Params, at: str, analyze: bool
    ) -> str:
        snapshot = self._snapshot(at)
        query = self._compiled(snapshot, text, name)
        return explain(snapshot, query, params, context=self._context, analyze=analyze)

    def mutate(
        self,
        text: str | None,
        name: str | None,
        params: Params,
        *,
        branch: str,
        actor: str | None,
        message: str | None,
        if_commit: str | None,
    ) -> MutationResult:
        if "@" in branch:
            raise InvalidInput(
                f"{branch!r} is a moment of the past and cannot be changed",
                hint="Name a branch.",
            )
        query = self._compiled(self._snapshot(branch_name(branch)), text, name)
        return run_mutation(
            self._store,
            query,
            params,
            branch=branch,
            actor=actor,
            message=message,
            if_commit=if_commit,
            embedder_for=configured_embedder,
        )

    def lint(self, text: str, at: str) -> LintReport:
        return lint(text, self._snapshot(at).catalog)

    # ------------------------------------------------------------------ stored queries

    def stored(self, at: str) -> list[StoredQuery]:
        return stored_queries(self._snapshot(at))

    def find(self, name: str, at: str) -> StoredQuery:
        return find_stored(self._snapshot(at), name)

    def register(self, source: str, branch: str, actor: str | None) -> Sequence[str]:
        return register_queries(self._store, branch, source, actor=actor)

    def remove(self, name: str, branch: str, actor: str | None) -> None:
        remove_query(self._store, branch, name, actor=actor)

    # ------------------------------------------------------------------ parts

    def _snapshot(self, at: str) -> Snapshot:
        return Snapshot(self._store, resolve(self._store, at))

    def _compiled(self, snapshot: Snapshot, text: str | None, name: str | None) -> CompiledQuery:
        if text is None:
            if name is None:
                raise InvalidInput(
                    "neither a query text nor the name of a stored query is given",
                    hint="Give a text, or the name of a stored query.",
                )
            text = find_stored(snapshot, name).source
        schema = snapshot.moment.reading_schema
        return self._context.compiled(text, name, snapshot.catalog, schema)
