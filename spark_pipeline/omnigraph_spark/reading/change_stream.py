"""The changes of a branch, commit by commit: as a table, or as a stream.

An offset is a commit, a part is one commit: commits are immutable, so a batch that runs again after
a restart gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import StructType

from omnigraph import CHANGE_SCHEMA
from omnigraph.errors import InvalidInput, Reclaimed
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.reading.branch_log import BranchLog, CommitPart, branch_log_of
from omnigraph_spark.spark_types import for_spark

COMMIT_COLUMNS = pa.schema(
    [
        pa.field("_commit", pa.string()),
        pa.field("_version", pa.int64()),
        pa.field("_time", pa.timestamp("us", "UTC")),
    ]
)
CHANGE = pa.field("_change", pa.string())


@dataclass(frozen=True)
class ChangeReading:
    """The changes of a branch between two commits, of one type or of all."""

    location: GraphLocation
    branch: str
    since: str
    """The commit whose successors are read."""
    until: str | None
    """The last commit; none is the head."""
    table_key: str | None = None

    # ------------------------------------------------------------------ what there is

    @property
    def log(self) -> BranchLog:
        return branch_log_of(self.location)

    def schema(self) -> pa.Schema:
        """Of one type: its columns after the change, or before it if the entity was deleted."""
        if self.table_key is None:
            return pa.schema([*COMMIT_COLUMNS, *(f for f in CHANGE_SCHEMA if f.name != "type_id")])
        columns = self.log.columns(self.branch, self.table_key)
        return pa.schema([*COMMIT_COLUMNS, CHANGE, *columns])

    def head(self) -> str:
        """The newest commit of the branch."""
        return self.log.commit(self.branch)

    def between(self, since: str, until: str) -> list[CommitPart]:
        """The commits after one up to another, oldest first."""
        parts: list[CommitPart] = []
        within = False
        for part in self.log.commits(self.branch):
            within = within or part.commit == until
            if part.commit == since:
                return parts[::-1]
            if within and part.parent is not None:
                parts.append(part)
        raise Reclaimed(
            f"the commit {since} of {self.branch} was collected",
            hint="Start the stream again, with another checkpoint.",
        )

    # ------------------------------------------------------------------ rows

    def parts(self, columns: Sequence[str], filters: Iterable[Filter]) -> list[InputPartition]:
        parts = self.between(self.since, self.until or self.head())
        return [CommitPartOf(part, tuple(columns)) for part in parts]

    def read(self, part: InputPartition) -> Iterable[pa.RecordBatch]:
        if not isinstance(part, CommitPartOf):
            return
        for batch in self.rows(part.part):
            yield batch.select(part.columns)

    def rows(self, part: CommitPart) -> Iterator[pa.RecordBatch]:
        """What a commit changed."""
        log, key = self.log, self.table_key
        before, after = f"{self.branch}@{part.parent}", f"{self.branch}@{part.commit}"
        if key is None:
            for batch in log.entries(before, after):
                yield _with_commit(batch.drop_columns(["type_id"]), part)
            return
        target = pa.schema([CHANGE, *log.columns(self.branch, key)])
        for op, rows in log.changed(before, after, key):
            for batch in _typed(op, rows, target):
                yield _with_commit(batch, part)


@dataclass
class CommitPartOf(InputPartition):
    """Some columns of what one commit changed."""

    part: CommitPart
    columns: tuple[str, ...]


def _with_commit(batch: pa.RecordBatch, part: CommitPart) -> pa.RecordBatch:
    values = (part.commit, part.version, part.micros)
    columns = [
        pa.repeat(pa.scalar(value).cast(field.type), batch.num_rows)
        for value, field in zip(values, COMMIT_COLUMNS, strict=True)
    ]
    schema = pa.schema([*COMMIT_COLUMNS, *batch.schema])
    return pa.RecordBatch.from_arrays([*columns, *batch.columns], schema=schema)


def _typed(op: str, rows: pa.Table, target: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Changed entities in the columns that the type has today."""
    arrays = [pa.repeat(pa.scalar(op), rows.num_rows)]
    for field in list(target)[1:]:
        known = field.name in rows.schema.names
        column = rows.column(field.name) if known else pa.nulls(rows.num_rows, field.type)
        arrays.append(column.cast(field.type))
    yield from pa.Table.from_arrays(arrays, schema=_nullable(target)).to_batches()


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])


class ChangeStream(DataSourceStreamReader):
    """The changes of a branch as a stream; Spark's checkpoint keeps the last commit."""

    def __init__(self, reading: ChangeReading, schema: StructType) -> None:
        self._reading = reading
        self._schema = schema

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"commit": self._reading.since}

    def latestOffset(  # noqa: N802
        self,
        start: dict[str, Any] | None = None,
        limit: Any = None,  # noqa: ANN401
    ) -> dict[str, Any]:
        return {"commit": self._reading.head()}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        columns = tuple(self._schema.names)
        parts = self._reading.between(start["commit"], end["commit"])
        return [CommitPartOf(part, columns) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(for_spark(self._reading.read(partition), self._schema))


def change_reading(location: GraphLocation, options: Any, table_key: str | None) -> ChangeReading:  # noqa: ANN401
    """What the options `from`, `at` and `branch` ask for."""
    log = branch_log_of(location)
    branch = options.get("branch") or options.get("at", "main").partition("@")[0]
    at, start = options.get("at"), options.get("from", "now")
    if start == "now":
        since = log.commit(branch)
    elif start == "beginning":
        since = log.commits(branch)[-1].commit
    else:
        since = log.commit(start if "@" in start else f"{branch}@{start}")
    if at is not None and "@" not in at and at != branch:
        raise InvalidInput(
            f"`at` names another branch than `branch`: {at!r}, {branch!r}",
            hint="Leave `branch` out.",
        )
    until = log.commit(at) if at is not None and "@" in at else None
    return ChangeReading(location, branch, since, until, table_key)
