"""The writers that Spark plans and runs: of a DataFrame, and of the batches of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from omnigraph.bulk import BulkMode, Target
from omnigraph.errors import AlreadyApplied, InvalidInput
from omnigraph_spark.graph_location import GraphLocation, location_of
from omnigraph_spark.spark_types import arrow_schema
from omnigraph_spark.writing.graph_write import MODES
from omnigraph_spark.writing.write_job import CommitOptions, Job, Part, begin

Messages = list[WriterCommitMessage | None]


@dataclass(frozen=True)
class Destination:
    """Where the rows of a write go, and what their commit says."""

    location: GraphLocation
    branch: str
    target: Target
    commit_options: CommitOptions

    def begin(self) -> Job:
        return begin(self.location, self.branch, [self.target], self.commit_options)


def destination_of(
    options: Mapping[str, str], table_key: str, schema: StructType, overwrite: bool
) -> Destination:
    """The destination that options name; the option `mode` overrides Spark's."""
    mode = options.get("mode") or ("overwrite" if overwrite else "append")
    if mode not in MODES:
        raise InvalidInput(f"{mode!r} is not a write mode", hint=f"Use {', '.join(MODES)}.")
    if options.get("validation", "engine") == "spark":
        # Spark commits a data source in a process that has no session.
        raise InvalidInput(
            "save() cannot validate with Spark", hint="Use omnigraph_spark.graph_write."
        )
    chosen: BulkMode = mode  # type: ignore[assignment]
    return Destination(
        location_of(options),
        options.get("branch", "main"),
        Target(table_key, chosen, arrow_schema(schema)),
        CommitOptions(options.get("message"), options.get("actor")),
    )


def _parts(messages: Messages) -> list[Part]:
    return [message for message in messages if isinstance(message, Part)]


class Writer(DataSourceArrowWriter):
    """One DataFrame, one commit."""

    def __init__(self, destination: Destination, schema: StructType) -> None:
        self._destination = destination
        self._schema = schema
        self._job = destination.begin()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._job.write(self._destination.target.table_key, iterator, self._schema)

    def commit(self, messages: Messages) -> None:
        self._job.finish(_parts(messages), self._destination.commit_options)

    def abort(self, messages: Messages) -> None:
        self._job.abandon()


@dataclass
class PartOfBatch(WriterCommitMessage):
    """What a task of a micro-batch has written, and the job that it belongs to."""

    part: Part
    job: Job


def _parts_of_batch(messages: Messages) -> list[PartOfBatch]:
    return [message for message in messages if isinstance(message, PartOfBatch)]


class StreamWriter(DataSourceStreamArrowWriter):
    """Each micro-batch is one commit, which is applied once however often it is tried.

    Spark makes a writer for the tasks of every batch and another one that commits it, so messages
    carry the job. It begins when the first of the two is pickled for the executors.
    """

    def __init__(self, destination: Destination, stream: str, schema: StructType) -> None:
        self._destination = destination
        self._stream = stream
        self._schema = schema
        self._job: Job | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._job is None:
            self._job = self._destination.begin()
        return self.__dict__

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        assert self._job is not None
        key = self._destination.target.table_key
        return PartOfBatch(self._job.write(key, iterator, self._schema), self._job)

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        parts = _parts_of_batch(messages)
        if not parts:
            return
        commit_options = replace(self._destination.commit_options, once=(self._stream, batchId))
        # A batch that was committed before its checkpoint was written comes again after a restart.
        with suppress(AlreadyApplied):
            parts[0].job.finish([each.part for each in parts], commit_options)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        for each in _parts_of_batch(messages)[:1]:
            each.job.abandon()
