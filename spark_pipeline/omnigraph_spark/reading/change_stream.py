"""The changes of a branch, commit by commit: as a table, or as a stream that goes on for ever.

An offset is a commit, a part is one commit: what it changed never changes, so a batch that runs
again after a restart gives the same rows.
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
from omnigraph_spark.reading.branch_log import BranchLog, CommitPart, history_of
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

    place: GraphLocation
    branch: str
    since: str
    """The commit whose successors are read."""
    until: str | None
    """The last commit; none is the head."""
    table_key: str | None = None

    # ------------------------------------------------------------------ what there is

    @property
    def history(self) -> BranchLog:
        return history_of(self.place)

    def schema(self) -> pa.Schema:
        """Of one type: its columns after the change, or before it if the entity is gone."""
        if self.table_key is None:
            return pa.schema([*COMMIT_COLUMNS, *(f for f in CHANGE_SCHEMA if f.name != "type_id")])
        columns = self.history.columns(self.branch, self.table_key)
        return pa.schema([*COMMIT_COLUMNS, CHANGE, *columns])

    def head(self) -> str:
        """The newest commit of the branch."""
        return self.history.commit(self.branch)

    def between(self, since: str, until: str) -> list[CommitPart]:
        """The commits after one up to another, oldest first."""
        found: list[CommitPart] = []
        wanted = False
        for part in self.history.commits(self.branch):
            wanted = wanted or part.commit == until
            if part.commit == since:
                return found[::-1]
            if wanted and part.parent is not None:
                found.append(part)
        raise Reclaimed(
            f"{self.branch} has no commit {since} any more",
            hint="Start the stream anew, with another checkpoint.",
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
        history, key = self.history, self.table_key
        before, after = f"{self.branch}@{part.parent}", f"{self.branch}@{part.commit}"
        if key is None:
            for batch in history.entries(before, after):
                yield _with_commit(batch.drop_columns(["type_id"]), part)
            return
        target = pa.schema([CHANGE, *history.columns(self.branch, key)])
        for op, rows in history.changed(before, after, key):
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


def change_reading(place: GraphLocation, options: Any, table_key: str | None) -> ChangeReading:  # noqa: ANN401
    """What the options `from`, `at` and `branch` ask for."""
    history = history_of(place)
    branch = options.get("branch") or options.get("at", "main").partition("@")[0]
    at, start = options.get("at"), options.get("from", "now")
    if start == "now":
        since = history.commit(branch)
    elif start == "beginning":
        since = history.commits(branch)[-1].commit
    else:
        since = history.commit(start if "@" in start else f"{branch}@{start}")
    if at is not None and "@" not in at and at != branch:
        raise InvalidInput(f"{at!r} is no moment of {branch}", hint="Leave `branch` out.")
    until = history.commit(at) if at is not None and "@" in at else None
    return ChangeReading(place, branch, since, until, table_key)
