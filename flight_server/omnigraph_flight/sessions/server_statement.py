"""Statements as the server runs them: SQL through the facade, `.gq` through the engine.

A text that begins with `query` is `.gq`; a text that is nothing but the name of a stored query runs
that query; everything else is SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol

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


class ServerStatement(Protocol):
    """A statement that is checked and ready to run on one connection."""

    @property
    def language(self) -> Language: ...
    @property
    def text(self) -> str: ...
    @property
    def is_update(self) -> bool:
        """Whether it gives a count instead of rows."""

    @property
    def changes(self) -> bool:
        """Whether it changes something; it may give the changed rows."""

    @property
    def target(self) -> str:
        """The branch it writes to, if it gives the rows it changes."""

    @property
    def touched(self) -> frozenset[AccessRequest]:
        """What its rows come from."""

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of its rows; for an update, of its count."""

    @property
    def parameter_schema(self) -> pa.Schema: ...
    def pinned(self) -> str:
        """The moment it reads."""

    @property
    def is_scan(self) -> bool:
        """Whether parts of one table give parts of its result."""

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:
        """Into how many slices its result can be read in parallel."""

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:
        """Its one row, if it is certain that there is no more and that it is found quickly."""

    def read(self, params: pa.RecordBatch | None, index: int, of: int) -> pa.RecordBatchReader: ...
    def update(self, params: pa.RecordBatch | None) -> int: ...


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
    """One SQL statement."""

    language: Language = "sql"

    def __init__(self, connection: omnigraph_sql.Connection, text: str) -> None:
        self.text = text
        self._statement = connection.prepare(text)

    @property
    def is_update(self) -> bool:
        return self._statement.is_update

    @property
    def changes(self) -> bool:
        return self._statement.changes

    @property
    def target(self) -> str:
        return self._statement.target

    @property
    def touched(self) -> frozenset[AccessRequest]:
        return self._statement.touched

    @property
    def result_schema(self) -> pa.Schema:
        return self._statement.result_schema or COUNT

    @property
    def parameter_schema(self) -> pa.Schema:
        return self._statement.parameter_schema

    def pinned(self) -> str:
        return self._statement.pinned()

    @property
    def is_scan(self) -> bool:
        return self._statement.is_scan

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:
        return self._statement.slices(at_most, rows_each=rows_each)

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:
        return self._statement.single_row(params)

    def read(self, params: pa.RecordBatch | None, index: int, of: int) -> pa.RecordBatchReader:
        if of > 1:
            return self._statement.read_slice(index, of, params)
        if self.changes and params is not None and params.num_rows != 1:
            return pa.RecordBatchReader.from_batches(self.result_schema, self._each(params))
        # Planned now, while its moment is pinned; the rows of all sets are made as they are read.
        return _rows(self._statement.execute(params))

    def update(self, params: pa.RecordBatch | None) -> int:
        return _count(self._statement.execute(params))

    def _each(self, params: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows that every set of parameters changes, one after the other."""
        for index in range(params.num_rows):
            yield from _rows(self._statement.execute(params.slice(index, 1)))


class GqStatement:
    """One `.gq` query: its text, or the name of a stored one."""

    language: Language = "gq"

    def __init__(self, connection: omnigraph_sql.Connection, text: str, stored: str | None) -> None:
        self.text = text
        self._connection = connection
        self._graph = connection.graph
        snapshot = connection.pins().snapshot()
        self._moment = f"{snapshot.branch}@{snapshot.commit}"
        self._source = (
            text if stored is None else self._graph.stored_query(stored, self._moment).source
        )
        self._compiled: CompiledQuery = compile_query(self._source, snapshot.catalog, stored)
        self.touched = _touch(connection, self._compiled)

    @property
    def is_update(self) -> bool:
        return self._compiled.kind == "mutation"

    @property
    def changes(self) -> bool:
        return self.is_update

    @property
    def target(self) -> str:
        return self._connection.catalog

    @cached_property
    def result_schema(self) -> pa.Schema:
        plan = self._compiled.ir
        return result_schema(plan) if isinstance(plan, ReadPlan) else COUNT

    @cached_property
    def parameter_schema(self) -> pa.Schema:
        return pa.schema(
            pa.field(name, arrow_type(type_), type_.nullable)
            for name, type_ in self._compiled.params.items()
        )

    def pinned(self) -> str:
        return self._moment

    @property
    def is_scan(self) -> bool:
        return False

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:  # noqa: ARG002
        return 1

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:  # noqa: ARG002
        return None

    def read(self, params: pa.RecordBatch | None, index: int, of: int) -> pa.RecordBatchReader:  # noqa: ARG002
        results = [
            self._graph.query(self._source, self._compiled.name, values, self._moment)
            for values in self._values(params)
        ]
        batches = (batch for result in results for batch in result.batches())
        return pa.RecordBatchReader.from_batches(self.result_schema, batches)

    def update(self, params: pa.RecordBatch | None) -> int:
        connection, changed, sets = self._connection, 0, self._values(params)
        # One set is one commit by itself.
        with nullcontext() if len(sets) == 1 else connection.one_publish():
            for values in sets:
                done = self._graph.mutate(
                    self._source,
                    self._compiled.name,
                    values,
                    branch=connection.writable(connection.catalog, self.text),
                    actor=connection.user,
                )
                changed += done.affected_nodes + done.affected_edges
        return changed

    def _values(self, params: pa.RecordBatch | None) -> list[Mapping[str, Any]]:
        """Each set of parameters by name; columns that carry no known name go by position."""
        names = list(self._compiled.params)
        if params is None or not params.num_columns:
            return [{}]
        given = params.schema.names
        if not set(given) <= set(names):
            if len(given) != len(names):
                raise InvalidInput(
                    f"{self._compiled.name} takes {len(names)} parameters, {len(given)} are given",
                    hint=f"It takes {', '.join(f'${name}' for name in names) or 'none'}.",
                )
            params = params.rename_columns(names)
        return [_json_values(row) for row in params.to_pylist()]


def _touch(connection: omnigraph_sql.Connection, query: CompiledQuery) -> frozenset[AccessRequest]:
    """Tell the session's guard which types a query reads and writes; the same for later."""
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


def _json_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in the form in which the language takes them."""
    return {name: _json_value(value) for name, value in row.items()}


def _json_value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _rows(result: pa.RecordBatchReader | int) -> pa.RecordBatchReader:
    if isinstance(result, int):
        return counted(result)
    return result


def _count(result: pa.RecordBatchReader | int) -> int:
    if isinstance(result, int):
        return result
    result.close()
    return -1


def counted(count: int) -> pa.RecordBatchReader:
    """The count of an update as rows."""
    batch = pa.record_batch([pa.array([count], pa.int64())], schema=COUNT)
    return pa.RecordBatchReader.from_batches(COUNT, [batch])
