"""Statements as the server runs them: SQL through the facade, `.gq` through the graph.

A text that begins with `query` is `.gq`; a text that is nothing but the name of a stored query runs
that query; everything else is SQL.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.query import CompiledQuery, compile_query, result_schema
from omnigraph.query.logical import ReadPlan
from omnigraph.schema import arrow_type

_GQ = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/)*query\s+[A-Za-z_]\w*\s*\(", re.S)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*;?\s*")
COUNT = pa.schema([pa.field("count", pa.int64(), nullable=False)])
"""What a client that reads the result of an update gets: how many rows it changed."""


class GqStatement:
    """One `.gq` query, by its text or the name of a stored one, used as an SQL statement is."""

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
        pins, descriptor = connection.pins(), self._compiled.descriptor
        pins.touch_types("read", connection.catalog, descriptor.reads)
        pins.touch_types("write", connection.catalog, descriptor.writes)
        self.touched = frozenset(pins.touched)
        self.is_update = self.changes = self._compiled.kind == "mutation"

    @property
    def target(self) -> str:
        return self._connection.catalog

    def slices(self, at_most: int, *, rows_each: int = 0) -> int:  # noqa: ARG002
        return 1

    def single_row(self, params: pa.RecordBatch | None) -> pa.Table | None:  # noqa: ARG002
        return None

    @property
    def result_schema(self) -> pa.Schema | None:
        plan = self._compiled.ir
        return result_schema(plan) if isinstance(plan, ReadPlan) else None

    @property
    def parameter_schema(self) -> pa.Schema:
        return pa.schema(
            pa.field(name, arrow_type(type_), type_.nullable)
            for name, type_ in self._compiled.params.items()
        )

    def execute(self, params: pa.RecordBatch | None) -> pa.RecordBatchReader | int:
        return self._update(params) if self.is_update else self._read(params)

    def _read(self, params: pa.RecordBatch | None) -> pa.RecordBatchReader:
        results = [
            self._graph.query(self._source, self._compiled.name, values, self._moment)
            for values in self._parameter_sets(params)
        ]
        batches = (batch for result in results for batch in result.batches())
        return pa.RecordBatchReader.from_batches(self.result_schema, batches)

    def _update(self, params: pa.RecordBatch | None) -> int:
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


ServerStatement: TypeAlias = omnigraph_sql.Statement | omnigraph_sql.Script | GqStatement


def prepare(connection: omnigraph_sql.Connection, text: str) -> ServerStatement:
    """Check a text without running it."""
    if _GQ.match(text):
        return GqStatement(connection, text, None)
    name = _NAME.fullmatch(text)
    if name is not None and _is_stored(connection, name[1]):
        return GqStatement(connection, text, name[1])
    return connection.prepare(text)


def _is_stored(connection: omnigraph_sql.Connection, name: str) -> bool:
    try:
        snapshot = connection.pins().snapshot()
        connection.graph.stored_query(name, f"{snapshot.branch}@{snapshot.commit}")
    except NotFound:
        return False
    return True


def schema_of_rows(statement: ServerStatement) -> pa.Schema:
    """The schema of a statement's rows; of an update, of its count."""
    return statement.result_schema or COUNT


def read(
    statement: ServerStatement, params: pa.RecordBatch | None, index: int = 0, of: int = 1
) -> pa.RecordBatchReader:
    """The rows of one of so many slices of a statement's result."""
    if of > 1 and not isinstance(statement, GqStatement):
        return statement.read_slice(index, of, params)
    if statement.changes and params is not None and params.num_rows != 1:
        # The rows that every set of parameters changes, one after the other.
        sets = (params.slice(number, 1) for number in range(params.num_rows))
        rows = (batch for each in sets for batch in _rows(statement.execute(each)))
        return pa.RecordBatchReader.from_batches(schema_of_rows(statement), rows)
    # Planned now, while its moment is pinned; the rows of all sets are made as they are read.
    return _rows(statement.execute(params))


def update(statement: ServerStatement, params: pa.RecordBatch | None) -> int:
    """Run a statement; how many rows it changed."""
    return _count(statement.execute(params))


def run_text(connection: omnigraph_sql.Connection, text: str) -> int:
    """Run a text of any number of SQL statements, or one of `.gq`; how many rows it changed."""
    if _GQ.match(text) or _NAME.fullmatch(text):
        return update(prepare(connection, text), None)
    return _count(connection.execute(text))


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
