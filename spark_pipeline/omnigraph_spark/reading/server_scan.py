"""Reads through a server: partitions are planned on the driver and fetched by executors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import Filter, InputPartition

from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.reading.spark_filters import sql_condition
from omnigraph_spark.server_connection import connected, quoted

DEFAULT_PARTITIONS = 16
"""How many partitions are requested; a server gives fewer when a table has fewer fragments."""


@dataclass
class ServerPartition(InputPartition):
    """A signed ticket for a part of the result of one snapshot."""

    descriptor: bytes


@dataclass(frozen=True)
class ServerQuery:
    """A relation of a server at a moment: a table, or a query in parentheses."""

    location: GraphLocation
    relation: str
    moment: str
    partitions: int | None = None

    def schema(self) -> pa.Schema:
        with connected(self.location, self.moment) as server, server.cursor() as cursor:
            return cursor.adbc_execute_schema(f"SELECT * FROM {self.relation}")

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        # Spark may only want to count: any column does then.
        names = list(columns) or self.schema().names[:1]
        sql = f"SELECT {', '.join(map(quoted, names))} FROM {self.relation}"
        condition = sql_condition(filters)
        if condition is not None:
            sql += f" WHERE {condition}"
        slices = self.partitions or DEFAULT_PARTITIONS
        at = connected(self.location, self.moment, slices=slices)
        with at as server, server.cursor() as cursor:
            descriptors, _ = cursor.adbc_execute_partitions(sql)
        return [ServerPartition(descriptor) for descriptor in descriptors]

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        if not isinstance(part, ServerPartition):
            return
        with connected(self.location, self.moment) as connection, connection.cursor() as cursor:
            cursor.adbc_read_partition(part.descriptor)
            yield from cursor.fetch_record_batch()
