"""Writes through a server: every task ingests a table of its own, one transaction takes them over.

The tables of the tasks are on a branch of the job. Only those that finished tasks name are read by
the transaction, which makes one commit on the branch that is written to; the job's branch goes with
everything on it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from omnigraph.bulk import Target, refuse_merge
from omnigraph.errors import InvalidInput
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.server_connection import connected, quoted, relation, text_literal
from omnigraph_spark.spark_types import arrow_schema
from omnigraph_spark.writing.write_job import CommitOptions, Part, cleaning

STAGING = "public"
"""The schema of the tables of tasks."""
KEPT = "1d"
"""How long the branch of a job stays whose driver died: a collection takes it then."""
_ORDER = ("node", "edge", "table")
"""Nodes go in before the edges between them."""


@dataclass(frozen=True)
class ServerTarget:
    """A target, and what the server has under its name."""

    target: Target
    columns: tuple[str, ...] = ()
    """Of a type: all of its columns."""
    keyed: bool = False
    """Of a node type: whether ids come from a key."""

    @property
    def meets_others(self) -> bool:
        """Whether rows may be those of entities that are there; other ids are made up."""
        assert self.target.columns is not None
        return self.target.mode == "merge" and (self.keyed or "id" in self.target.columns.names)

    @property
    def changes(self) -> str:
        """An entity that is there is replaced: what the rows do not say about it is null."""
        assert self.target.columns is not None
        given = self.target.columns.names
        values = {name: f"excluded.{quoted(name)}" for name in given if name != "id"}
        values |= {name: "NULL" for name in self.columns if name not in ("id", *given)}
        return ", ".join(f"{quoted(name)} = {value}" for name, value in values.items())


@dataclass(frozen=True)
class ServedJob:
    """A write through a server."""

    place: GraphLocation
    branch: str
    staging: str
    """The branch of the job."""
    goals: tuple[ServerTarget, ...]

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        """A task's rows as a table of their own, whose name no other attempt has."""
        name = f"t{uuid.uuid4().hex}"
        found = (batch for batch in batches if batch.num_rows)
        first = next(found, None)
        if first is None:
            return Part(table_key, 0, None)
        rows = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in chain([first], found):
                rows += batch.num_rows
                yield batch

        reader = pa.RecordBatchReader.from_batches(arrow_schema(schema), counted())
        with connected(self.place, self.staging) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, reader, mode="create", db_schema_name=STAGING)
        return Part(table_key, rows, name)

    def finish(self, parts: Iterable[Part], ending: CommitOptions) -> None:
        """Take over the tables of finished tasks in one transaction."""
        try:
            self._take_over(parts, ending)
        finally:
            self.abandon()

    def _take_over(self, parts: Iterable[Part], ending: CommitOptions) -> None:
        found = [part for part in parts if part.rows]
        named = {
            goal.target.table_key: [
                part.written for part in found if part.table_key == goal.target.table_key
            ]
            for goal in self.goals
        }
        examples = {
            goal.target.table_key: next(iter(named[goal.target.table_key]), None)
            or self._example(goal.target)
            for goal in self.goals
            if goal.target.plain_name is not None
        }
        with connected(self.place, self.branch, autocommit=False) as connection:
            if ending.once is not None:
                stream, batch = ending.once
                _run(connection, f"SET commit_once = {text_literal(f'{stream}@{batch}')}")
            if ending.message is not None:
                _run(connection, f"SET commit_message = {text_literal(ending.message)}")
            for goal in sorted(self.goals, key=_place):
                key = goal.target.table_key
                for sql in statements(self.staging, goal, named[key], examples.get(key)):
                    _run(connection, sql)
            connection.commit()

    def _example(self, target: Target) -> str:
        """A table that says which columns there are, where no task had rows.

        It has a row that nobody reads: ADBC sends nothing at all of a table that has none.
        """
        assert target.columns is not None
        nulls = [pa.nulls(1, field.type) for field in target.columns]
        rows = pa.Table.from_arrays(nulls, names=target.columns.names)
        name = f"t{uuid.uuid4().hex}"
        with connected(self.place, self.staging) as server, server.cursor() as cursor:
            cursor.adbc_ingest(name, rows, mode="create", db_schema_name=STAGING)
        return name

    def abandon(self) -> None:
        """Drop the branch of the job and everything on it; its time to live ends it otherwise."""
        with cleaning(f"branch {self.staging}"), connected(self.place, self.branch) as connection:
            _run(connection, f"DROP BRANCH IF EXISTS {quoted(self.staging)}")


def begin_served(
    place: GraphLocation, branch: str, targets: Sequence[Target], actor: str | None
) -> ServedJob:
    """Make the branch of a job, once everything that it asks for is known to be there."""
    staging = f"spark/{uuid.uuid4().hex}"
    with connected(place, branch) as connection:
        _require_actor(connection, actor)
        goals = tuple(_goal(connection, target) for target in targets)
        made = f"CREATE BRANCH {quoted(staging)} FROM {quoted(branch)}"
        _run(connection, f"{made} WITH (ttl = {text_literal(KEPT)}, owner = 'spark')")
    return ServedJob(place, branch, staging, goals)


def _require_actor(connection: Any, actor: str | None) -> None:  # noqa: ANN401
    """Who writes through a server is whom it knows the caller as."""
    if actor is None:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (user,) = cursor.fetchone()
    if user != actor:
        raise InvalidInput(
            f"the server takes this write for one of {user!r}, not of {actor!r}",
            hint="Leave `actor` out, or give the token or the name and password of that user.",
            details={"user": user, "actor": actor},
        )


def _goal(connection: Any, target: Target) -> ServerTarget:  # noqa: ANN401
    name = target.plain_name
    if name is not None:
        refuse_merge(target)
        return ServerTarget(target)
    into, type_name = relation(target.table_key), target.table_key.partition(":")[2]
    with connection.cursor() as cursor:
        columns = cursor.adbc_execute_schema(f"SELECT * FROM {into}").names
        cursor.execute(
            "SELECT 1 FROM information_schema.table_constraints "
            "WHERE table_schema = 'nodes' AND constraint_type = 'PRIMARY KEY' "
            f"AND table_name = {text_literal(type_name)}"
        )
        keyed = cursor.fetchone() is not None
    return ServerTarget(target, tuple(columns), keyed)


def statements(
    staging: str, goal: ServerTarget, names: Sequence[str], example: str | None = None
) -> list[str]:
    """The SQL that brings the tables of tasks to their target; plain ones are made like another."""
    target = goal.target
    assert target.columns is not None
    into, where = relation(target.table_key), f"{quoted(staging)}.{STAGING}"
    staged = [f"{where}.{quoted(name)}" for name in names]
    columns = ", ".join(map(quoted, target.columns.names))
    rows = " UNION ALL ".join(f"SELECT {columns} FROM {table}" for table in staged)
    if target.plain_name is not None and example is not None:
        schema = target.plain_name.partition(".")[0]
        made = "OR REPLACE TABLE" if target.mode == "overwrite" else "TABLE IF NOT EXISTS"
        return [
            f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}",
            f"CREATE {made} {into} AS SELECT * FROM {where}.{quoted(example)} WHERE FALSE",
            *([f"INSERT INTO {into} ({columns}) {rows}"] if staged else []),
        ]
    if target.mode == "overwrite":
        # Not DELETE: a node that is deleted takes its edges along, even if it comes back.
        overwritten = f"INSERT OVERWRITE {into} ({columns}) {rows}"
        return [overwritten if staged else f"TRUNCATE TABLE {into}"]
    if not staged:
        return []
    insert = f"INSERT INTO {into} ({columns}) {rows}"
    return [f"{insert} ON CONFLICT DO UPDATE SET {goal.changes}" if goal.meets_others else insert]


def _place(goal: ServerTarget) -> int:
    return _ORDER.index(goal.target.table_key.partition(":")[0])


def _run(connection: Any, sql: str) -> None:  # noqa: ANN401
    with connection.cursor() as cursor:
        cursor.execute(sql)
