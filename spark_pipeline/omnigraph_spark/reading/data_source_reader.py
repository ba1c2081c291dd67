"""The reader that Spark plans and runs, over any kind of reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from omnigraph_spark.spark_types import for_spark


class Reading(Protocol):
    """A query of one commit that can be read in parts."""

    def schema(self) -> pa.Schema:
        """The columns, without reading anything."""

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        """What tasks read; every row that passes the filters is in exactly one part."""

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        """The rows of a part, in the order of the columns; again if asked again."""


class Reader(DataSourceReader):
    """Reads the columns of a Spark schema, which may be fewer than there are."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self._reading = reading
        self._schema = schema
        self._filters: list[Filter] = []
        # Spark refuses a reader that takes filters while its push-down is switched off, and that
        # is the default. This one works with both.
        self.pushFilters = _OptionalPushDown(self._filters)  # type: ignore[method-assign]

    def partitions(self) -> Sequence[InputPartition]:
        return self._reading.parts(self._schema.names, self._filters)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(for_spark(self._reading.read(partition), self._schema))


class _OptionalPushDown:
    """Accepts filters, and looks like no push-down at all where Spark refuses it."""

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, accepted: list[Filter]) -> None:
        self._accepted = accepted

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        self._accepted.extend(filters)
        return filters
