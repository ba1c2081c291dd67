"""The writers that Spark plans and runs: of a DataFrame, and of the batches of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from omnigraph.bulk import BulkJob, BulkMode, StagedFiles, Target
from omnigraph.errors import AlreadyApplied, InvalidInput, TransactionExpired
from omnigraph_spark.places import Place, place_of
from omnigraph_spark.sparktypes import arrow_schema
from omnigraph_spark.writing.files import FilesWritten, FileTask
from omnigraph_spark.writing.graph_write import MODES


@dataclass(frozen=True)
class Destination:
    """Where the rows of a write go, and what their commit says."""

    place: Place
    branch: str
    target: Target
    message: str | None
    actor: str | None


def destination_of(
    options: Mapping[str, str], table_key: str, schema: StructType, overwrite: bool
) -> Destination:
    """The destination that options name; the option `mode` goes before Spark's."""
    mode = options.get("mode") or ("overwrite" if overwrite else "append")
    if mode not in MODES:
        raise InvalidInput(f"{mode!r} is not a way to write", hint=f"Use {', '.join(MODES)}.")
    columns = arrow_schema(schema) if table_key.startswith("table:") else None
    chosen: BulkMode = mode  # type: ignore[assignment]
    return Destination(
        place_of(options),
        options.get("branch", "main"),
        Target(table_key, chosen, columns),
        options.get("message"),
        options.get("actor"),
    )


def _task(destination: Destination, schema: StructType) -> FileTask:
    graph = destination.place.graph()
    job = graph.begin_bulk([destination.target], branch=destination.branch, actor=destination.actor)
    return FileTask(destination.place, job, destination.target.table_key, schema)


def _files(messages: list[WriterCommitMessage | None]) -> list[StagedFiles]:
    return [message.files for message in messages if isinstance(message, FilesWritten)]


class StorageWriter(DataSourceArrowWriter):
    """One DataFrame, one commit."""

    def __init__(self, destination: Destination, schema: StructType) -> None:
        self._destination = destination
        self._task = _task(destination, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return FilesWritten(self._task.write(iterator), self._task.job)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        to = self._destination
        to.place.graph().finish_bulk(
            self._task.job, _files(messages), actor=to.actor, message=to.message
        )

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        # A commit that was refused has ended the job itself.
        with suppress(TransactionExpired):
            self._destination.place.graph().abandon_bulk(self._task.job)


class StorageStreamWriter(DataSourceStreamArrowWriter):
    """Each micro-batch is one commit, which lands once however often it is tried.

    Spark makes a writer for the tasks of every batch and another one that commits it, so messages
    carry the job. It begins when the first of the two is pickled for the executors.
    """

    def __init__(self, destination: Destination, stream: str, schema: StructType) -> None:
        self._destination = destination
        self._stream = stream
        self._schema = schema
        self._task: FileTask | None = None

    def __getstate__(self) -> dict[str, Any]:
        if self._task is None:
            self._task = _task(self._destination, self._schema)
        return self.__dict__

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        assert self._task is not None
        return FilesWritten(self._task.write(iterator), self._task.job)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        to, job = self._destination, _job(messages)
        if job is None:
            return
        # A batch that was committed before the checkpoint said so comes again after a restart.
        with suppress(AlreadyApplied):
            to.place.graph().finish_bulk(
                job,
                _files(messages),
                actor=to.actor,
                message=to.message,
                once=(self._stream, batchId),
            )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        job = _job(messages)
        if job is not None:
            with suppress(TransactionExpired):
                self._destination.place.graph().abandon_bulk(job)


def _job(messages: list[WriterCommitMessage | None]) -> BulkJob | None:
    return next((m.job for m in messages if isinstance(m, FilesWritten)), None)
