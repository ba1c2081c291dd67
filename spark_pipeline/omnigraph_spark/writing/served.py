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

from omnigraph.bulk import Target
from omnigraph.errors import InvalidInput
from omnigraph_spark.places import Place
from omnigraph_spark.served import asking, connected, quoted, relation
from omnigraph_spark.sparktypes import arrow_schema
from omnigraph_spark.writing.jobs import Ending, Part

STAGING = "public"
"""The schema of the tables of tasks."""
_ORDER = ("node", "edge", "table")
"""Nodes go in before the edges between them."""


@dataclass(frozen=True)
class ServedJob:
    """A write through a server."""

    place: Place
    branch: str
    staging: str
    """The branch of the job."""
    targets: tuple[Target, ...]

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

    def finish(self, parts: Iterable[Part], ending: Ending) -> None:
        """Take over the tables of finished tasks in one transaction."""
        if ending.once is not None:
            raise InvalidInput(
                "a stream cannot be written through a server: it does not count batches",
                hint="Use the storage uri of the graph.",
            )
        found = [part for part in parts if part.rows]
        with asking(), connected(self.place, self.branch, autocommit=False) as connection:
            for target in sorted(self.targets, key=_place):
                names = [part.written for part in found if part.table_key == target.table_key]
                for sql in statements(self.staging, target, names):
                    _run(connection, sql)
            connection.commit()
        self.abandon()

    def abandon(self) -> None:
        """Drop the branch of the job and everything on it."""
        with asking(), connected(self.place, self.branch) as connection:
            _run(connection, f"DROP BRANCH {quoted(self.staging)}")


def begin_served(place: Place, branch: str, targets: Sequence[Target]) -> ServedJob:
    """Make the branch of a job."""
    staging = f"spark/{uuid.uuid4().hex}"
    with asking(), connected(place, branch) as connection:
        _run(connection, f"CREATE BRANCH {quoted(staging)} FROM {quoted(branch)}")
    return ServedJob(place, branch, staging, tuple(targets))


def statements(staging: str, target: Target, names: Sequence[str]) -> list[str]:
    """The SQL that brings the tables of tasks to their target."""
    assert target.columns is not None
    into = relation(target.table_key)
    staged = [f"{quoted(staging)}.{STAGING}.{quoted(name)}" for name in names]
    found: list[str] = []
    if target.table_key.startswith("table:"):
        made = "OR REPLACE TABLE" if target.mode == "overwrite" else "TABLE IF NOT EXISTS"
        if staged:
            schema = target.table_key.removeprefix("table:").partition(".")[0]
            found.append(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
            found.append(f"CREATE {made} {into} AS SELECT * FROM {staged[0]} WHERE FALSE")
    elif target.mode == "overwrite":
        found.append(f"DELETE FROM {into}")
    if not staged:
        return found
    columns = ", ".join(quoted(name) for name in target.columns.names)
    rows = " UNION ALL ".join(f"SELECT {columns} FROM {table}" for table in staged)
    insert = f"INSERT INTO {into} ({columns}) {rows}"
    if target.mode == "merge":
        changes = (f"{quoted(n)} = excluded.{quoted(n)}" for n in target.columns.names)
        insert += f" ON CONFLICT DO UPDATE SET {', '.join(changes)}"
    return [*found, insert]


def _place(target: Target) -> int:
    return _ORDER.index(target.table_key.partition(":")[0])


def _run(connection: Any, sql: str) -> None:  # noqa: ANN401
    with connection.cursor() as cursor:
        cursor.execute(sql)
