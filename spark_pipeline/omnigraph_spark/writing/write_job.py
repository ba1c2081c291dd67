"""A write in progress, whichever way it goes: what tasks do, and the one commit at its end."""

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
    from omnigraph.bulk import Survey, Target

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
    """A stream and the number of its batch, which lands at most once."""
    survey: Survey | None = None
    """Who looks for what breaks a constraint; the engine does, on the driver, if nobody."""


class Job(Protocol):
    """Pickles, and travels to the executors."""

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        """On an executor: put rows where nobody sees them."""

    def finish(self, parts: Iterable[Part], ending: CommitOptions) -> Commit | None:
        """On the driver: make exactly these parts visible, at once. The job is over then, or if it
        is refused."""

    def abandon(self) -> None:
        """Give everything up. Never fails: collections take what could not be removed."""


@contextmanager
def cleaning(what: str) -> Iterator[None]:
    """A block whose failure is logged only: it must not hide how the write itself has ended."""
    try:
        yield
    except Exception:  # noqa: BLE001 - whatever it is, a collection does the same later
        _LOG.warning(
            "%s could not be removed now; a collection takes it later", what, exc_info=True
        )


@dataclass(frozen=True)
class StorageJob:
    """Executors write data files into the graph's storage."""

    place: GraphLocation
    job: Any

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        from omnigraph_spark.writing.write_partition import write_files

        files = write_files(self.job, table_key, batches, schema, dict(self.place.storage))
        return Part(table_key, files.rows, files)

    def finish(self, parts: Iterable[Part], ending: CommitOptions) -> Commit | None:
        return self.place.graph().finish_bulk(
            self.job,
            [part.written for part in parts],
            actor=ending.actor,
            message=ending.message,
            once=ending.once,
            survey=ending.survey,
        )

    def abandon(self) -> None:
        # A commit that was refused has ended the job itself.
        with cleaning("what a write has left"), suppress(TransactionExpired):
            self.place.graph().abandon_bulk(self.job)


def begin(
    place: GraphLocation, branch: str, targets: Sequence[Target], ending: CommitOptions
) -> Job:
    """Begin a write to some tables of a branch; what it cannot end with is refused now."""
    if place.served:
        from omnigraph_spark.writing.server_write_job import begin_served

        return begin_served(place, branch, targets, ending.actor)
    return StorageJob(place, place.graph().begin_bulk(targets, branch=branch, actor=ending.actor))
