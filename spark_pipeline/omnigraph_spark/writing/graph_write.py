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
from omnigraph_spark.graph_location import GraphLocation, place_of
from omnigraph_spark.spark_types import arrow_schema
from omnigraph_spark.writing.spark_constraint_check import SparkConstraintChecker
from omnigraph_spark.writing.write_job import CommitOptions, Job, Part, begin

PART = "part binary"
"""The schema of the one row that a task gives back."""
MODES: tuple[BulkMode, ...] = ("append", "merge", "overwrite")
Validation = Literal["auto", "engine", "spark"]
VALIDATIONS: tuple[Validation, ...] = ("auto", "engine", "spark")
ENGINE_ROWS = 16 << 20
"""Up to so many rows are validated by the engine on the driver, unless told otherwise: more would
take it several passes over all ids."""


@dataclass(frozen=True)
class FrameWrite:
    """Rows that are to go into a table."""

    target: Target
    rows: DataFrame


@dataclass(frozen=True)
class Task:
    """What a partition does: write its rows, and give back where they are."""

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
        place: GraphLocation,
        branch: str,
        ending: CommitOptions,
        validation: Validation,
        on_progress: Callable[[str], None],
    ) -> None:
        self._spark = spark
        self._validation = validation
        self._place = place
        self._branch = branch
        self._ending = ending
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
        """Write rows of a plain table `<schema>.<name>`, which is made if it is missing."""
        self.rows_of(f"table:{name}", rows, mode)

    def rows_of(self, table_key: str, rows: DataFrame, mode: BulkMode = "append") -> None:
        """Write rows of `node:Person`, `edge:Knows` or `table:schema.name`."""
        self._add(Target(table_key, mode, arrow_schema(rows.schema)), rows)

    def _add(self, target: Target, rows: DataFrame) -> None:
        if target.mode not in MODES:
            raise InvalidInput(
                f"{target.mode!r} is not a way to write", hint=f"Use {', '.join(MODES)}."
            )
        if target.table_key in self._writes:
            raise InvalidInput(
                f"{target.table_key} is written twice", hint="Put the rows together with union."
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
        job = begin(self._place, self._branch, targets, self._ending)
        try:
            parts: list[Part] = []
            for key, write in self._writes.items():
                self._on_progress(f"writing {key}")
                task = Task(job, key, write.rows.schema)
                done = [
                    pickle.loads(row.part) for row in write.rows.mapInArrow(task, PART).collect()
                ]
                self.rows[key] = sum(part.rows for part in done)
                parts += done
            ending = self._surveyed()
            self._on_progress(f"validating {'with Spark' if ending.survey else 'in the engine'}")
            self.commit = job.finish(parts, ending)
        except BaseException:
            job.abandon()
            raise

    def _surveyed(self) -> CommitOptions:
        """How the job ends; many rows are validated by Spark."""
        many = sum(self.rows.values()) > ENGINE_ROWS and not self._place.served
        if self._validation == "engine" or (self._validation == "auto" and not many):
            return self._ending
        return replace(self._ending, survey=SparkConstraintChecker(self._spark, self._place))


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

    `once` names a stream and the number of its batch, which then lands at most once. Keys,
    uniqueness, endpoints and cardinality are checked by the engine on the driver (`engine`) or as
    joins in Spark (`spark`); `auto` takes Spark where rows are many. `options` are those of the
    data source (storage, token, TLS).
    """
    place = place_of({"uri": uri, **(options or {})})
    require_validation(validation, place)
    ending = CommitOptions(message, actor, once)
    return GraphWrite(spark, place, branch, ending, validation, on_progress)


def require_validation(validation: str, place: GraphLocation) -> None:
    """Refuse a way to validate that there is not."""
    if validation not in VALIDATIONS:
        raise InvalidInput(
            f"{validation!r} is not a way to validate", hint=f"Use {', '.join(VALIDATIONS)}."
        )
    if validation == "spark" and place.served:
        raise InvalidInput(
            "a server validates what is written through it",
            hint="Use the storage uri of the graph to validate with Spark.",
        )
