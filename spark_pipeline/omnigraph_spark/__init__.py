"""OmniGraph for Spark: parallel reads, bulk writes in one commit, streams, pipelines, `.gq`.

Reaches a graph by its storage URI or through a server (`graph_location`, `server_connection`).
Imports the faces of `omnigraph`; nothing of `omnigraph_sql` or `omnigraph_flight`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from omnigraph_spark.gq.run_query import query as query
    from omnigraph_spark.pipeline import Check as Check
    from omnigraph_spark.pipeline import Expectation as Expectation
    from omnigraph_spark.pipeline import Output as Output
    from omnigraph_spark.pipeline import Pipeline as Pipeline
    from omnigraph_spark.pipeline import Source as Source
    from omnigraph_spark.pipeline import Transform as Transform
    from omnigraph_spark.writing.graph_write import GraphWrite as GraphWrite
    from omnigraph_spark.writing.graph_write import graph_write as graph_write

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "gq.run_query": "query",
        "pipeline": "Check Expectation Output Pipeline Source Transform",
        "writing.graph_write": "GraphWrite graph_write",
    },
)
