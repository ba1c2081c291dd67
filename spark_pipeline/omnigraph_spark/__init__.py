"""OmniGraph for Spark: parallel reads, bulk writes in one commit, streams, pipelines, `.gq`."""

from omnigraph_spark.gq.run import query
from omnigraph_spark.pipeline import (
    Check,
    Expectation,
    Output,
    Pipeline,
    Source,
    Transform,
)
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
