"""OmniGraph for Spark: parallel reads, bulk writes in one commit, streams, pipelines, .gq at scale."""

from omnigraph_spark.gq.run import query

__all__ = ["query"]
