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
"""How many partitions are asked for; a server gives fewer when a table has fewer fragments."""


@dataclass
class ServedPartition(InputPartition):
    """A signed ticket for a part of the result of one snapshot."""

    descriptor: bytes


@dataclass(frozen=True)
class ServedQuery:
    """A relation of a server at a moment: a table, or a query in parentheses."""

    place: GraphLocation
    relation: str
    moment: str
    partitions_wanted: int | None = None

    def schema(self) -> pa.Schema:
        place, moment = self.place, self.moment
        with connected(place, moment) as server, server.cursor() as cursor:
            return cursor.adbc_execute_schema(f"SELECT * FROM {self.relation}")

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        wanted = self.partitions_wanted or DEFAULT_PARTITIONS
        # Spark may only want to count: any column does then.
        chosen = list(columns) or self.schema().names[:1]
        sql = f"SELECT {', '.join(map(quoted, chosen))} FROM {self.relation}"
        condition = sql_condition(filters)
        if condition is not None:
            sql += f" WHERE {condition}"
        at = connected(self.place, self.moment, slices=wanted)
        with at as server, server.cursor() as cursor:
            descriptors, _ = cursor.adbc_execute_partitions(sql)
        return [ServedPartition(descriptor) for descriptor in descriptors]

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        if not isinstance(part, ServedPartition):
            return
        with connected(self.place, self.moment) as connection, connection.cursor() as cursor:
            cursor.adbc_read_partition(part.descriptor)
            yield from cursor.fetch_record_batch()
