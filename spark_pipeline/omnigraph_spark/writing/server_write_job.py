"""Writes through a server: every task ingests a staging table, one transaction copies them.

The staging tables are on a branch of the job. Only those that finished tasks name are read by the
transaction, which makes one commit on the target branch; the job's branch is dropped with
everything on it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
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
"""The schema of the staging tables."""
BRANCH_TTL = "1d"
"""How long the branch of a job lives whose driver died; collection deletes it then."""
_ORDER = ("node", "edge", "table")
"""Nodes go in before the edges between them."""


@dataclass(frozen=True)
class ServerTarget:
    """A target, and the columns and key that the server has for it."""

    target: Target
    columns: tuple[str, ...] = ()
    """Of a type: all of its columns."""
    keyed: bool = False
    """Of a node type: whether ids come from a key."""

    @property
    def may_update(self) -> bool:
        """Whether rows may be those of existing entities; other ids are generated."""
        assert self.target.columns is not None
        return self.target.mode == "merge" and (self.keyed or "id" in self.target.columns.names)

    @property
    def assignments(self) -> str:
        """The SET clause that replaces an existing entity: columns that are not given are null."""
        assert self.target.columns is not None
        given = self.target.columns.names
        values = {name: f"excluded.{quoted(name)}" for name in given if name != "id"}
        values |= {name: "NULL" for name in self.columns if name not in ("id", *given)}
        return ", ".join(f"{quoted(name)} = {value}" for name, value in values.items())


@dataclass(frozen=True)
class ServerJob:
    """A write through a server."""

    location: GraphLocation
    branch: str
    staging: str
    """The branch of the job."""
    server_targets: tuple[ServerTarget, ...]

    def write(self, table_key: str, batches: Iterable[pa.RecordBatch], schema: StructType) -> Part:
        """A task's rows as a staging table, whose name no other attempt has."""
        filled = (batch for batch in batches if batch.num_rows)
        first = next(filled, None)
        if first is None:
            return Part(table_key, 0, None)
        rows = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in chain([first], filled):
                rows += batch.num_rows
                yield batch

        reader = pa.RecordBatchReader.from_batches(arrow_schema(schema), counted())
        name = self._ingest(reader)
        return Part(table_key, rows, name)

    def finish(self, parts: Iterable[Part], commit_options: CommitOptions) -> None:
        """Copy the staging tables of finished tasks in one transaction."""
        try:
            self._copy(parts, commit_options)
        finally:
            self.abandon()

    def _copy(self, parts: Iterable[Part], commit_options: CommitOptions) -> None:
        staged: dict[str, list[str]] = defaultdict(list)
        for part in parts:
            if part.rows:
                staged[part.table_key].append(part.written)
        targets = sorted((each.target for each in self.server_targets), key=_write_order)
        examples = {
            target.table_key: next(iter(staged[target.table_key]), None) or self._example(target)
            for target in targets
            if target.plain_name is not None
        }
        by_key = {each.target.table_key: each for each in self.server_targets}
        with connected(self.location, self.branch, autocommit=False) as connection:
            if commit_options.once is not None:
                stream, batch = commit_options.once
                _run(connection, f"SET commit_once = {text_literal(f'{stream}@{batch}')}")
            if commit_options.message is not None:
                _run(connection, f"SET commit_message = {text_literal(commit_options.message)}")
            for key in (target.table_key for target in targets):
                for sql in statements(self.staging, by_key[key], staged[key], examples.get(key)):
                    _run(connection, sql)
            connection.commit()

    def _example(self, target: Target) -> str:
        """A staging table with the columns of a target, where no task had rows.

        It has a row that is never read: ADBC sends nothing at all of a table that has none.
        """
        assert target.columns is not None
        nulls = [pa.nulls(1, field.type) for field in target.columns]
        rows = pa.Table.from_arrays(nulls, names=target.columns.names)
        return self._ingest(rows)

    def _ingest(self, rows: pa.Table | pa.RecordBatchReader) -> str:
        """The name of a new staging table, which no other attempt has."""
        name = f"t{uuid.uuid4().hex}"
        with connected(self.location, self.staging) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, rows, mode="create", db_schema_name=STAGING)
        return name

    def abandon(self) -> None:
        """Drop the branch of the job and everything on it; else its time to live ends it."""
        with (
            cleaning(f"branch {self.staging}"),
            connected(self.location, self.branch) as connection,
        ):
            _run(connection, f"DROP BRANCH IF EXISTS {quoted(self.staging)}")


def begin_server_job(
    location: GraphLocation, branch: str, targets: Sequence[Target], actor: str | None
) -> ServerJob:
    """Create the branch of a job, once its actor and targets are known to be valid."""
    staging = f"spark/{uuid.uuid4().hex}"
    with connected(location, branch) as connection:
        _require_actor(connection, actor)
        server_targets = tuple(_server_target(connection, target) for target in targets)
        create = f"CREATE BRANCH {quoted(staging)} FROM {quoted(branch)}"
        _run(connection, f"{create} WITH (ttl = {text_literal(BRANCH_TTL)}, owner = 'spark')")
    return ServerJob(location, branch, staging, server_targets)


def _require_actor(connection: Any, actor: str | None) -> None:  # noqa: ANN401
    """Refuse another actor: through a server, it is the user who calls."""
    if actor is None:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (user,) = cursor.fetchone()
    if user != actor:
        raise InvalidInput(
            f"the actor of a write through the server is its user {user!r}, not {actor!r}",
            hint="Leave `actor` out, or give the token or the name and password of that user.",
            details={"user": user, "actor": actor},
        )


def _server_target(connection: Any, target: Target) -> ServerTarget:  # noqa: ANN401
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
    staging: str, server_target: ServerTarget, names: Sequence[str], example: str | None = None
) -> list[str]:
    """The SQL that copies staging tables to their target; a plain one is created like `example`."""
    target = server_target.target
    assert target.columns is not None
    into, where = relation(target.table_key), f"{quoted(staging)}.{STAGING}"
    staged = [f"{where}.{quoted(name)}" for name in names]
    columns = ", ".join(map(quoted, target.columns.names))
    rows = " UNION ALL ".join(f"SELECT {columns} FROM {table}" for table in staged)
    if target.plain_name is not None and example is not None:
        schema = target.plain_name.partition(".")[0]
        create = "OR REPLACE TABLE" if target.mode == "overwrite" else "TABLE IF NOT EXISTS"
        return [
            f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}",
            f"CREATE {create} {into} AS SELECT * FROM {where}.{quoted(example)} WHERE FALSE",
            *([f"INSERT INTO {into} ({columns}) {rows}"] if staged else []),
        ]
    if target.mode == "overwrite":
        # Not DELETE, which cascades to the edges of a node, even if it is inserted again.
        overwritten = f"INSERT OVERWRITE {into} ({columns}) {rows}"
        return [overwritten if staged else f"TRUNCATE TABLE {into}"]
    if not staged:
        return []
    insert = f"INSERT INTO {into} ({columns}) {rows}"
    if server_target.may_update:
        return [f"{insert} ON CONFLICT DO UPDATE SET {server_target.assignments}"]
    return [insert]


def _write_order(target: Target) -> int:
    return _ORDER.index(target.table_key.partition(":")[0])


def _run(connection: Any, sql: str) -> None:  # noqa: ANN401
    with connection.cursor() as cursor:
        cursor.execute(sql)
