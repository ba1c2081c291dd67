"""Statements as the server runs them: SQL through the facade, `.gq` through the graph.

A text that begins with `query` is `.gq`; a text that is nothing but the name of a stored query runs
that query; everything else is SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.query import CompiledQuery, Fact, compile_query, result_schema
from omnigraph.query.logical import ReadPlan
from omnigraph.schema import arrow_type
from omnigraph_flight.protocol.tickets import Language
from omnigraph_sql import EDGES, NODES, AccessRequest, Action

_GQ = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/)*query\s+[A-Za-z_]\w*\s*\(", re.S)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*;?\s*")
COUNT = pa.schema([pa.field("count", pa.int64(), nullable=False)])
"""What a client that reads the result of an update gets: how many rows it changed."""


def prepare(connection: omnigraph_sql.Connection, text: str) -> ServerStatement:
    """Check a text without running it."""
    if _GQ.match(text):
        return GqStatement(connection, text, None)
    name = _NAME.fullmatch(text)
    if name is not None and _is_stored(connection, name[1]):
        return GqStatement(connection, text, name[1])
    return SqlStatement(connection, text)


def _is_stored(connection: omnigraph_sql.Connection, name: str) -> bool:
    try:
        snapshot = connection.pins().snapshot()
        connection.graph.stored_query(name, f"{snapshot.branch}@{snapshot.commit}")
    except NotFound:
        return False
    return True


def run_text(connection: omnigraph_sql.Connection, text: str) -> int:
    """Run a text of any number of SQL statements, or one of `.gq`; how many rows it changed."""
    if _GQ.match(text) or _NAME.fullmatch(text):
        return prepare(connection, text).update(None)
    return _count(connection.execute(text))


class SqlStatement:
    """One SQL statement, checked and ready to run on its connection."""

    language: Language = "sql"

    def __init__(self, connection: omnigraph_sql.Connection, text: str) -> None:
        self._statement = connection.prepare(text)
        self.is_update = self._statement.is_update
        """Whether it gives a count instead of rows."""
        self.changes = self._statement.changes
        """Whether it changes something; it may give the changed rows."""

    @property
    def target(self) -> str:
        """The branch it writes to, if it gives the rows it changes."""
        return self._statement.target

    @property
    def touched(self) -> frozenset[AccessRequest]:
        """What its rows come from, once they were read."""
        return self._statement.touched

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of its rows; for an update, of its count."""
        return self._statement.result_schema or COUNT

    @property
    def parameter_schema(self) -> pa.Schema:
        return self._statement.parameter_schema

    @property
    def is_scan(self) -> bool:
        """Whether parts of one table give parts of its result."""
        return self._statement.is_scan

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:
        """Into how many slices its result can be read in parallel."""
        return self._statement.slices(at_most, rows_each=rows_each)

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:
        """Its one row, if it is certain that there is no more and that it is found quickly."""
        return self._statement.single_row(params)

    def read(
        self, params: pa.RecordBatch | None, index: int = 0, of: int = 1
    ) -> pa.RecordBatchReader:
        """The rows of one of so many slices."""
        if of > 1:
            return self._statement.read_slice(index, of, params)
        if self.changes and params is not None and params.num_rows != 1:
            return pa.RecordBatchReader.from_batches(self.result_schema, self._each(params))
        # Planned now, while its moment is pinned; the rows of all sets are made as they are read.
        return _rows(self._statement.execute(params))

    def update(self, params: pa.RecordBatch | None) -> int:
        """Run it; how many rows it changed."""
        return _count(self._statement.execute(params))

    def _each(self, params: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows that every set of parameters changes, one after the other."""
        for index in range(params.num_rows):
            yield from _rows(self._statement.execute(params.slice(index, 1)))


class GqStatement:
    """One `.gq` query, by its text or the name of a stored one; has what `SqlStatement` has."""

    language: Language = "gq"
    is_scan = False

    def __init__(self, connection: omnigraph_sql.Connection, text: str, stored: str | None) -> None:
        self._text = text
        self._connection = connection
        self._graph = connection.graph
        snapshot = connection.pins().snapshot()
        self._moment = f"{snapshot.branch}@{snapshot.commit}"
        self._source = (
            text if stored is None else self._graph.stored_query(stored, self._moment).source
        )
        self._compiled: CompiledQuery = compile_query(self._source, snapshot.catalog, stored)
        self.touched = _require_access(connection, self._compiled)
        self.is_update = self.changes = self._compiled.kind == "mutation"

    @property
    def target(self) -> str:
        return self._connection.catalog

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:  # noqa: ARG002
        return 1

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:  # noqa: ARG002
        return None

    @property
    def result_schema(self) -> pa.Schema:
        plan = self._compiled.ir
        return result_schema(plan) if isinstance(plan, ReadPlan) else COUNT

    @property
    def parameter_schema(self) -> pa.Schema:
        return pa.schema(
            pa.field(name, arrow_type(type_), type_.nullable)
            for name, type_ in self._compiled.params.items()
        )

    def read(
        self,
        params: pa.RecordBatch | None,
        index: int = 0,  # noqa: ARG002
        of: int = 1,  # noqa: ARG002
    ) -> pa.RecordBatchReader:
        results = [
            self._graph.query(self._source, self._compiled.name, values, self._moment)
            for values in self._parameter_sets(params)
        ]
        batches = (batch for result in results for batch in result.batches())
        return pa.RecordBatchReader.from_batches(self.result_schema, batches)

    def update(self, params: pa.RecordBatch | None) -> int:
        connection, changed, sets = self._connection, 0, self._parameter_sets(params)
        # One set is one commit by itself.
        with nullcontext() if len(sets) == 1 else connection.one_publish():
            for values in sets:
                result = self._graph.mutate(
                    self._source,
                    self._compiled.name,
                    values,
                    branch=connection.writable(connection.catalog, self._text),
                    actor=connection.user,
                )
                changed += result.affected_nodes + result.affected_edges
        return changed

    def _parameter_sets(self, params: pa.RecordBatch | None) -> list[dict[str, Any]]:
        """Each set of parameters by name; columns that carry no known name go by position."""
        names = list(self._compiled.params)
        if params is None or not params.num_columns:
            return [{}]
        given = params.schema.names
        if not set(given) <= set(names):
            if len(given) != len(names):
                raise InvalidInput(
                    f"{self._compiled.name} takes {len(names)} parameters, got {len(given)}",
                    hint=f"It takes {', '.join(f'${name}' for name in names) or 'none'}.",
                )
            params = params.rename_columns(names)
        return [
            {name: _json_value(value) for name, value in row.items()} for row in params.to_pylist()
        ]


ServerStatement: TypeAlias = SqlStatement | GqStatement


def _require_access(
    connection: omnigraph_sql.Connection, query: CompiledQuery
) -> frozenset[AccessRequest]:
    """Ask the connection's guard about the types that a query reads and writes; which they are."""
    pins = connection.pins()
    actions: tuple[tuple[Action, tuple[Fact, ...]], ...] = (
        ("read", query.descriptor.reads),
        ("write", query.descriptor.writes),
    )
    for action, facts in actions:
        for fact in facts:
            schema = NODES if fact.kind == "node" else EDGES
            pins.touch(action, connection.catalog, schema, fact.type_name)
    return frozenset(pins.touched)


def _json_value(value: Any) -> Any:  # noqa: ANN401
    """A parameter in the form in which the language takes it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _rows(result: pa.RecordBatchReader | int) -> pa.RecordBatchReader:
    return counted(result) if isinstance(result, int) else result


def _count(result: pa.RecordBatchReader | int) -> int:
    if isinstance(result, int):
        return result
    result.close()
    return -1


def counted(count: int) -> pa.RecordBatchReader:
    """The count of an update as rows."""
    batch = pa.record_batch([pa.array([count], pa.int64())], schema=COUNT)
    return pa.RecordBatchReader.from_batches(COUNT, [batch])
