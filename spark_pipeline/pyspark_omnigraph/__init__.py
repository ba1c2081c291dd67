"""Lets Spark find the data source by itself: it imports every module called `pyspark_…`."""

from omnigraph_spark.data_source import OmniGraphSource as DefaultSource

__all__ = ["DefaultSource"]
