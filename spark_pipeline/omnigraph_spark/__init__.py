"""OmniGraph for Spark: parallel reads, bulk writes in one commit, streams, pipelines, `.gq`.

Reaches a graph by its storage URI or through a server (`graph_location`, `server_connection`).
Imports the faces of `omnigraph`; nothing of `omnigraph_sql` or `omnigraph_flight`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_spark.gq.run_query import query
    from omnigraph_spark.pipeline import Check, Expectation, Output, Pipeline, Source, Transform
    from omnigraph_spark.writing.graph_write import GraphWrite, graph_write

__all__ = [
    "Check",
    "Expectation",
    "GraphWrite",
    "Output",
    "Pipeline",
    "Source",
    "Transform",
    "graph_write",
    "query",
]

_HOMES = {
    "query": "omnigraph_spark.gq.run_query",
    "graph_write": "omnigraph_spark.writing.graph_write",
    "GraphWrite": "omnigraph_spark.writing.graph_write",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: Spark starts many processes that need few of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "omnigraph_spark.pipeline")), name)
    globals()[name] = value
    return value
