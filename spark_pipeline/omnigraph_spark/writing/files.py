"""What a task does: its rows as data files in the graph's storage."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from omnigraph.bulk import BulkJob, StagedFiles, write_rows
from omnigraph_spark.places import Place
from omnigraph_spark.sparktypes import arrow_schema, from_spark

MESSAGE = "message binary"
"""The schema of the one column that a task gives back."""


@dataclass
class FilesWritten(WriterCommitMessage):
    """The data files of one finished task, and the job they belong to."""

    files: StagedFiles
    job: BulkJob


@dataclass(frozen=True)
class FileTask:
    """Writes the rows of a partition to one table of a job."""

    place: Place
    job: BulkJob
    table_key: str
    schema: StructType

    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFiles:
        """Convert, check and write; nothing of it is visible."""
        stored = self.job.bases[self.table_key].schema
        rows = _reader(from_spark(batches, stored), self.schema, stored)
        return write_rows(self.job, self.table_key, rows, dict(self.place.storage))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same for `mapInArrow`: the files as the one row of a partition."""
        message = pickle.dumps(self.write(batches))
        yield pa.RecordBatch.from_arrays([pa.array([message], pa.binary())], names=["message"])


def _reader(
    batches: Iterable[pa.RecordBatch], schema: StructType, stored: pa.Schema
) -> pa.RecordBatchReader:
    """Batches as a stream; the schema of the first counts, because there may be none."""
    found = iter(batches)
    first = next(found, None)
    if first is None:
        empty = arrow_schema(schema).empty_table().to_batches()
        first = next(iter(from_spark(empty, stored)), None)
        return pa.RecordBatchReader.from_batches(
            first.schema if first is not None else arrow_schema(schema), []
        )

    def all_of_them() -> Iterator[pa.RecordBatch]:
        yield first
        yield from found

    return pa.RecordBatchReader.from_batches(first.schema, all_of_them())
