"""A write in progress, to storage or through a server: what tasks do, and its one commit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from omnigraph.errors import TransactionExpired
from omnigraph_spark.graph_location import GraphLocation

if TYPE_CHECKING:
    from omnigraph import Commit
    from omnigraph.bulk import ConstraintChecker, Target

_LOG = logging.getLogger(__name__)


@dataclass
class Part(WriterCommitMessage):
    """What one finished task has written to one table."""

    table_key: str
    rows: int
    written: Any
    """Where it is, as the job knows it."""


@dataclass(frozen=True)
class CommitOptions:
    """What the commit of a job says."""

    message: str | None = None
    actor: str | None = None
    once: tuple[str, int] | None = None
    """A stream and the number of its batch, which is applied at most once."""
    constraint_checker: ConstraintChecker | None = None
    """Checks the constraints; by default the engine does, on the driver."""


class Job(Protocol):
    """Pickles, and travels to the executors."""

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        """On an executor: write rows that are not visible yet."""

    def finish(self, parts: Iterable[Part], commit_options: CommitOptions) -> Commit | None:
        """On the driver: make exactly these parts visible, at once. It ends the job, also if it is
        refused."""

    def abandon(self) -> None:
        """Delete what was written. Never fails: collection deletes the rest later."""


@contextmanager
def cleaning(what: str) -> Iterator[None]:
    """A block whose failure is only logged: it must not hide the outcome of the write itself."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it is, collection does the same later
        _LOG.warning(
            "%s could not be deleted now; collection deletes it later", what, exc_info=True
        )


@dataclass(frozen=True)
class StorageJob:
    """Executors write data files into the graph's storage."""

    location: GraphLocation
    job: Any

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        from omnigraph_spark.writing.write_partition import write_files

        files = write_files(self.job, table_key, batches, schema, dict(self.location.storage))
        return Part(table_key, files.rows, files)

    def finish(self, parts: Iterable[Part], commit_options: CommitOptions) -> Commit | None:
        return self.location.graph().finish_bulk(
            self.job,
            [part.written for part in parts],
            actor=commit_options.actor,
            message=commit_options.message,
            once=commit_options.once,
            survey=commit_options.constraint_checker,
        )

    def abandon(self) -> None:
        # A commit that was refused has ended the job itself.
        with cleaning("the files of a write"), suppress(TransactionExpired):
            self.location.graph().abandon_bulk(self.job)


def begin(
    location: GraphLocation, branch: str, targets: Sequence[Target], commit_options: CommitOptions
) -> Job:
    """Begin a write to some tables of a branch; options it cannot commit with are refused now."""
    if location.is_server:
        from omnigraph_spark.writing.server_write_job import begin_server_job

        return begin_server_job(location, branch, targets, commit_options.actor)
    return StorageJob(
        location, location.graph().begin_bulk(targets, branch=branch, actor=commit_options.actor)
    )
