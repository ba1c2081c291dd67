"""OmniGraph for Spark: parallel reads, bulk writes in one commit, streams, pipelines, `.gq`."""

from omnigraph_spark.gq.run import query
from omnigraph_spark.writing.graph_write import GraphWrite, graph_write

__all__ = ["GraphWrite", "graph_write", "query"]
