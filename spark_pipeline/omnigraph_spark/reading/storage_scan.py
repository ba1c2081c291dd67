"""Reads of graphs whose storage the executors reach: fragments of a table, or one `.gq` query."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import Filter, InputPartition

from omnigraph.bulk import TableSlice, read_slice
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.reading.spark_filters import lance_condition

if TYPE_CHECKING:
    from omnigraph import QueryResult

ROWS_PER_PARTITION = 1 << 18
"""By default there is one partition for about so many rows."""


def plain_name(table_key: str) -> str | None:
    """`<schema>.<name>` of a plain table; none for a type."""
    kind, _, name = table_key.partition(":")
    return name if kind == "table" else None


@dataclass
class SlicePartition(InputPartition):
    """Some fragments of a pinned table version."""

    part: TableSlice


@dataclass(frozen=True)
class StorageTable:
    """A node type, an edge type or a plain table at a moment."""

    location: GraphLocation
    table_key: str
    """`node:Person`, `edge:Knows` or `table:schema.name`."""
    moment: str
    partitions: int | None = None

    def schema(self) -> pa.Schema:
        snapshot = self.location.graph().snapshot(self.moment)
        name = plain_name(self.table_key)
        return (
            snapshot.schema(self.table_key) if name is None else snapshot.plain_table(name).schema
        )

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        snapshot = self.location.graph().snapshot(self.moment)
        name = plain_name(self.table_key)
        table = None if name is None else snapshot.plain_table(name)
        rows = snapshot.count(self.table_key) if table is None else table.rows
        at_most = self.partitions or max(1, -(-rows // ROWS_PER_PARTITION))
        schema = self.schema()
        condition = lance_condition(filters, schema)
        # Spark may only want to count: any column does then.
        names = list(columns) or schema.names[:1]
        slices = (
            snapshot.slices(self.table_key, names, condition, at_most=at_most)
            if table is None
            else table.slices(self.location.uri, names, condition, at_most=at_most)
        )
        return [SlicePartition(part) for part in slices]

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        if not isinstance(part, SlicePartition):  # an empty table still has one task
            return ()
        return read_slice(part.part, dict(self.location.storage))


@dataclass(frozen=True)
class StorageQuery:
    """A `.gq` read at a moment, which the engine runs in one task."""

    location: GraphLocation
    text: str | None
    name: str | None
    params: str | None
    """JSON."""
    moment: str

    def schema(self) -> pa.Schema:
        return self._result().schema

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        return [InputPartition(list(columns))]

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        for batch in self._result().batches():
            yield batch.select(part.value)

    def _result(self) -> QueryResult:
        params = json.loads(self.params) if self.params else None
        return self.location.graph().query(self.text, self.name, params, at=self.moment)
