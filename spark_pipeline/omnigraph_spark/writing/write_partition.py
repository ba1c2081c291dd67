"""What a task does that reaches the storage: its rows as data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql.types import StructType

from omnigraph.bulk import BulkJob, StagedFiles, write_rows
from omnigraph_spark.spark_types import arrow_schema, from_spark


def write_files(
    job: BulkJob,
    table_key: str,
    batches: Iterable[pa.RecordBatch],
    schema: StructType,
    storage: Mapping[str, str],
) -> StagedFiles:
    """Convert, check and write the rows of a partition; nothing of it is visible."""
    stored = job.bases[table_key].schema
    rows = _reader(from_spark(batches, stored), arrow_schema(schema), stored)
    return write_rows(job, table_key, rows, storage)


def _reader(
    batches: Iterable[pa.RecordBatch], given: pa.Schema, stored: pa.Schema
) -> pa.RecordBatchReader:
    """Batches as a stream under the schema they have after the conversion."""
    empty = pa.RecordBatch.from_arrays([pa.array([], f.type) for f in given], names=given.names)
    (converted,) = from_spark([empty], stored)

    def under_converted_schema() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays(batch.columns, schema=converted.schema)

    return pa.RecordBatchReader.from_batches(converted.schema, under_converted_schema())
