"""The commits of a branch and what they changed, from storage or from a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from omnigraph import CHANGE_SCHEMA, Graph
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.pinned_moment import pinned_moment
from omnigraph_spark.server_connection import (
    connected,
    fetch_table,
    quoted,
    relation,
    text_literal,
)

KINDS = ("node", "edge")
TIME = pa.timestamp("us", "UTC")


@dataclass
class CommitPart(InputPartition):
    """One commit, and the one before it; the first of a graph has none."""

    commit: str
    parent: str | None
    version: int
    micros: int


class BranchLog(Protocol):
    """The commits of a graph, and what each of them changed."""

    def columns(self, moment: str, table_key: str) -> pa.Schema:
        """The columns that a type has."""

    def commit(self, moment: str) -> str:
        """The commit that a branch or moment stands for."""

    def commits(self, branch: str) -> list[CommitPart]:
        """All commits of a branch, newest first."""

    def entries(self, before: str, after: str) -> Iterator[pa.RecordBatch]:
        """The changes of all entities between two moments, in the columns of a diff."""

    def changed(self, before: str, after: str, table_key: str) -> Iterator[tuple[str, pa.Table]]:
        """The changes of one type, by the name that the branch has for it today: the operation, and
        entities after it, or before if they were deleted."""


def branch_log_of(location: GraphLocation) -> BranchLog:
    """The log of the graph at a location."""
    return ServerBranchLog(location) if location.is_server else StorageBranchLog(location.graph())


@dataclass(frozen=True)
class StorageBranchLog:
    """The log of a graph whose storage can be reached."""

    graph: Graph

    def columns(self, moment: str, table_key: str) -> pa.Schema:
        return self.graph.snapshot(moment).schema(table_key)

    def commit(self, moment: str) -> str:
        return self.graph.snapshot(moment).commit

    def commits(self, branch: str) -> list[CommitPart]:
        return [
            CommitPart(each.id, each.parent, each.version, pa.scalar(each.time, TIME).value)
            for each in self.graph.commits(branch)
        ]

    def entries(self, before: str, after: str) -> Iterator[pa.RecordBatch]:
        yield from self.graph.diff(before, after, kinds=KINDS).batches()

    def changed(self, before: str, after: str, table_key: str) -> Iterator[tuple[str, pa.Table]]:
        if not any(self._has(moment, table_key) for moment in (before, after)):
            return
        for changes in self.graph.diff(before, after, types=[table_key], kinds=KINDS).changes():
            yield "insert", changes.inserted
            yield "update", changes.updated_after
            yield "delete", changes.deleted

    def _has(self, moment: str, table_key: str) -> bool:
        """Whether a type existed at a moment; one that was renamed keeps its identity."""
        branch = moment.partition("@")[0]
        today = self.graph.snapshot(branch).moment.tables[table_key].identity
        tables = self.graph.snapshot(moment).moment.tables.values()
        return any(table.identity == today for table in tables)


@dataclass(frozen=True)
class ServerBranchLog:
    """The log of a graph behind a server."""

    location: GraphLocation

    def columns(self, moment: str, table_key: str) -> pa.Schema:
        with connected(self.location, moment) as server, server.cursor() as cursor:
            return cursor.adbc_execute_schema(f"SELECT * FROM {relation(table_key)}")

    def commit(self, moment: str) -> str:
        return pinned_moment(self.location, moment).rpartition("@")[2]

    def commits(self, branch: str) -> list[CommitPart]:
        sql = (
            "SELECT commit_id, parent_id, version, created_at FROM system.commits "
            "ORDER BY version DESC"
        )
        rows = fetch_table(self.location, branch, sql)
        micros = rows.column("created_at").cast(TIME).cast(pa.int64())
        columns = [*(rows.column(index).to_pylist() for index in range(3)), micros.to_pylist()]
        return [CommitPart(*values) for values in zip(*columns, strict=True)]

    def entries(self, before: str, after: str) -> Iterator[pa.RecordBatch]:
        kinds = ", ".join(map(text_literal, KINDS))
        names = ", ".join(map(quoted, CHANGE_SCHEMA.names))
        sql = f"SELECT {names} FROM {_changes(before, after)} WHERE kind IN ({kinds})"
        with connected(self.location, after) as server, server.cursor() as cursor:
            cursor.execute(sql)
            yield from cursor.fetch_record_batch()

    def changed(self, before: str, after: str, table_key: str) -> Iterator[tuple[str, pa.Table]]:
        changes = _changes(before, after)
        for moment, ops in ((after, ("insert", "update")), (before, ("delete",))):
            for op in ops if self._has(moment, table_key) else ():
                yield op, fetch_table(self.location, moment, _entities(changes, op, table_key))

    def _has(self, moment: str, table_key: str) -> bool:
        """Whether a type existed at a moment; a renamed one has its new name there, too."""
        kind, _, name = table_key.partition(":")
        sql = (
            "SELECT 1 FROM information_schema.tables WHERE table_name = "
            f"{text_literal(name)} AND table_schema = {text_literal(f'{kind}s')}"
        )
        return bool(fetch_table(self.location, moment, sql).num_rows)


def _changes(before: str, after: str) -> str:
    return f"system.changes({text_literal(before)}, {text_literal(after)})"


def _entities(changes: str, op: str, table_key: str) -> str:
    """The query for the entities of a type that an operation changed."""
    kind, _, name = table_key.partition(":")
    return (
        f"SELECT t.* FROM {changes} AS c JOIN {relation(table_key)} AS t ON t.id = c.id "
        f"WHERE c.kind = {text_literal(kind)} AND c.type_name = {text_literal(name)} "
        f"AND c.op = {text_literal(op)}"
    )
