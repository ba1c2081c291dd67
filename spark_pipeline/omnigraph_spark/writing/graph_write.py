"""Several DataFrames in one commit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import omnigraph
from omnigraph.bulk import BulkMode, Target
from omnigraph.errors import InvalidInput
from omnigraph_spark.graph_location import GraphLocation, location_of
from omnigraph_spark.spark_types import arrow_schema
from omnigraph_spark.writing.spark_constraint_check import SparkConstraintChecker
from omnigraph_spark.writing.write_job import CommitOptions, Job, Part, begin

PART = "part binary"
"""The schema of the one row that a task returns."""
MODES: tuple[BulkMode, ...] = ("append", "merge", "overwrite")
Validation = Literal["auto", "engine", "spark"]
VALIDATIONS: tuple[Validation, ...] = ("auto", "engine", "spark")
ENGINE_ROWS = 16 << 20
"""Up to so many rows are validated by the engine on the driver by default: more would take it
several passes over all ids."""


@dataclass(frozen=True)
class FrameWrite:
    """A DataFrame and the table it is written to."""

    target: Target
    rows: DataFrame


@dataclass(frozen=True)
class Task:
    """What a partition does: write its rows, and return where they are."""

    job: Job
    table_key: str
    schema: StructType

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = pickle.dumps(self.job.write(self.table_key, batches, self.schema))
        yield pa.RecordBatch.from_arrays([pa.array([part], pa.binary())], names=["part"])


class GraphWrite:
    """Collects DataFrames; at the end of the block they are written and committed at once."""

    def __init__(
        self,
        spark: SparkSession,
        location: GraphLocation,
        branch: str,
        commit_options: CommitOptions,
        validation: Validation,
        on_progress: Callable[[str], None],
    ) -> None:
        self._spark = spark
        self._validation = validation
        self._location = location
        self._branch = branch
        self._commit_options = commit_options
        self._on_progress = on_progress
        self._writes: dict[str, FrameWrite] = {}
        self.commit: omnigraph.Commit | None = None
        """The commit, once the block has ended; none when nothing changed, or through a server."""
        self.rows: dict[str, int] = {}
        """How many rows were written to each table, by table key."""

    def node(self, type_name: str, rows: DataFrame, mode: BulkMode = "append") -> None:
        """Write nodes of a type."""
        self.rows_of(f"node:{type_name}", rows, mode)

    def edge(self, type_name: str, rows: DataFrame, mode: BulkMode = "append") -> None:
        """Write edges of a type; `src` and `dst` are the ids of nodes."""
        self.rows_of(f"edge:{type_name}", rows, mode)

    def table(self, name: str, rows: DataFrame, mode: BulkMode = "append") -> None:
        """Write rows of a plain table `<schema>.<name>`, which is created if it is missing."""
        self.rows_of(f"table:{name}", rows, mode)

    def rows_of(self, table_key: str, rows: DataFrame, mode: BulkMode = "append") -> None:
        """Write rows of `node:Person`, `edge:Knows` or `table:schema.name`."""
        self._add(Target(table_key, mode, arrow_schema(rows.schema)), rows)

    def _add(self, target: Target, rows: DataFrame) -> None:
        if target.mode not in MODES:
            raise InvalidInput(
                f"{target.mode!r} is not a write mode", hint=f"Use {', '.join(MODES)}."
            )
        if target.table_key in self._writes:
            raise InvalidInput(
                f"{target.table_key} is written twice", hint="Combine the rows with union."
            )
        self._writes[target.table_key] = FrameWrite(target, rows)

    def __enter__(self) -> GraphWrite:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._writes:
            self._run()

    def _run(self) -> None:
        targets = [write.target for write in self._writes.values()]
        job = begin(self._location, self._branch, targets, self._commit_options)
        try:
            parts: list[Part] = []
            for key, write in self._writes.items():
                self._on_progress(f"writing {key}")
                task = Task(job, key, write.rows.schema)
                rows = write.rows.mapInArrow(task, PART).collect()
                written = [pickle.loads(row.part) for row in rows]
                self.rows[key] = sum(part.rows for part in written)
                parts += written
            commit_options = self._with_checker()
            by_spark = commit_options.constraint_checker is not None
            self._on_progress(f"validating {'with Spark' if by_spark else 'in the engine'}")
            self.commit = job.finish(parts, commit_options)
        except BaseException:
            job.abandon()
            raise

    def _with_checker(self) -> CommitOptions:
        """The options of the commit; the constraints of many rows are checked by Spark."""
        many = sum(self.rows.values()) > ENGINE_ROWS and not self._location.is_server
        if self._validation == "engine" or (self._validation == "auto" and not many):
            return self._commit_options
        checker = SparkConstraintChecker(self._spark, self._location)
        return replace(self._commit_options, constraint_checker=checker)


def graph_write(
    spark: SparkSession,
    uri: str,
    branch: str = "main",
    *,
    message: str | None = None,
    actor: str | None = None,
    once: tuple[str, int] | None = None,
    validation: Validation = "auto",
    options: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> GraphWrite:
    """Write several DataFrames in one commit; use it as a context manager.

    `once` names a stream and the number of its batch, which is applied at most once. Keys,
    uniqueness, endpoints and cardinality are checked by the engine on the driver (`engine`) or as
    joins in Spark (`spark`); `auto` takes Spark where rows are many. `options` are those of the
    data source (storage, token, TLS).
    """
    location = location_of({"uri": uri, **(options or {})})
    require_validation(validation, location)
    commit_options = CommitOptions(message, actor, once)
    return GraphWrite(spark, location, branch, commit_options, validation, on_progress)


def require_validation(validation: str, location: GraphLocation) -> None:
    """Refuse an unknown or impossible kind of validation."""
    if validation not in VALIDATIONS:
        raise InvalidInput(
            f"{validation!r} is not a kind of validation", hint=f"Use {', '.join(VALIDATIONS)}."
        )
    if validation == "spark" and location.is_server:
        raise InvalidInput(
            "a server validates what is written through it",
            hint="Use the storage uri of the graph to validate with Spark.",
        )
