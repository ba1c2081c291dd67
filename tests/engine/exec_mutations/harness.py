"""Runs mutations on a graph of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import omnigraph
from omnigraph.exec.mutate.run_mutation import MutationResult, run_mutation
from omnigraph.query import compile_query
from omnigraph.storage.graph_store import GraphStore

SPEC = Path(__file__).parents[2] / "spec" / "query"


def schema(name: str) -> str:
    """A schema of the language reference."""
    return (SPEC / f"{name}.pg").read_text("utf-8")


def parcels(root: str) -> omnigraph.Graph:
    """The empty graph of examples 25 to 29."""
    return omnigraph.init(root, schema("parcels"))


def stations(root: str) -> omnigraph.Graph:
    """The graph of the read examples."""
    graph = omnigraph.init(root, schema("stations"))
    graph.load((SPEC / "stations.jsonl").read_bytes())
    return graph


def store_of(graph: omnigraph.Graph) -> GraphStore:
    return graph._store


def mutate(
    graph: omnigraph.Graph,
    source: str,
    params: dict[str, Any] | None = None,
    **options: Any,  # noqa: ANN401
) -> MutationResult:
    """Compile a text against its branch and run it; a text without `query` is only statements."""
    text = source if source.lstrip().startswith("query") else f"query q() {{ {source} }}"
    catalog = graph.schema(options.get("branch", "main")).catalog
    if "embedder" in options:
        embedder = options.pop("embedder")
        options["embedder_for"] = lambda dimension: embedder
    return run_mutation(store_of(graph), compile_query(text, catalog), params, **options)


def affected(result: MutationResult) -> tuple[int, int]:
    return result.affected_nodes, result.affected_edges
