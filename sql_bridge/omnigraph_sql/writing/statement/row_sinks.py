"""Where changed rows go: a plain table, by address, or a type of the graph, by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from omnigraph.tables import ADDRESS, conformed
from omnigraph_sql.writing.statement.column_mapping import cast_rows, columns_of, renamed
from omnigraph_sql.writing.statement.write_statement import WriteStatement, tables_of
from omnigraph_sql.writing.statement.write_target import WriteTarget


class Sink(Protocol):
    """Takes the rows that a statement adds, changes and removes."""

    handle: str
    """The column that identifies a row of the target."""
    schema: pa.Schema
    addresses: bool
    """Whether the handle is the address of a row, which a query gives only on request."""

    def insert(self, rows: pa.Table) -> pa.Table:
        """Add rows; columns that are missing are null or have their default. Gives all columns."""

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
        """Give rows new contents, all columns of them."""

    def delete(self, handles: pa.ChunkedArray) -> None:
        """Remove rows."""


class PlainSink:
    """A plain table."""

    handle = ADDRESS
    addresses = True

    def __init__(self, work: WriteStatement, target: WriteTarget) -> None:
        self._plain = work.txn.plain
        self._name = target.full
        self.schema = columns_of(work, target)

    def insert(self, rows: pa.Table) -> pa.Table:
        complete = conformed(rows, self.schema)
        self._plain.append(self._name, complete)
        return complete

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
        self.delete(handles)
        return self.insert(rows)

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._plain.remove(self._name, handles.to_numpy())


class TypeSink:
    """A node or edge type. A change that was decided on its rows is refused if they move."""

    handle = "id"
    addresses = False

    def __init__(self, work: WriteStatement, target: WriteTarget) -> None:
        self._work = work
        self._txn = work.txn
        self._type_name = target.type_name
        self.schema = columns_of(work, target)

    def insert(self, rows: pa.Table) -> pa.Table:
        given = cast_rows(rows, self.schema)
        if self._work.returned is not None:  # RETURNING shows the ids they will have
            columns = dict(zip(given.schema.names, given.columns, strict=True))
            given = pa.table({**columns, "id": self._txn.ids_for(self._type_name, given)})
        self._txn.insert(self._type_name, given)
        for field in self.schema:
            if field.name not in given.schema.names:
                given = given.append_column(field, pa.nulls(given.num_rows, field.type))
        return given.select(self.schema.names)

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
        self._txn.expect_unmoved(self._type_name)
        new = cast_rows(rows, self.schema)
        self._txn.upsert(self._type_name, new)
        return new

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._txn.expect_unmoved(self._type_name)
        self._txn.delete(self._type_name, handles)


def sink_for(work: WriteStatement, target: WriteTarget) -> Sink:
    """Where rows of a target go."""
    return TypeSink(work, target) if target.is_type else PlainSink(work, target)


def clear_rows(work: WriteStatement, target: WriteTarget) -> int:
    """Remove all rows of a target; how many there were."""
    if target.is_type:
        work.txn.clear(target.type_name)
        return work.snapshot.count(target.type_name)
    count = work.txn.plain.table(target.full).rows
    work.txn.plain.clear(target.full)
    return count


def insert_all(sink: Sink, reader: pa.RecordBatchReader, columns: Sequence[str]) -> int:
    """Insert the rows of a stream, whose columns are those of the target; how many."""
    count = 0
    for rows in tables_of(reader):
        sink.insert(renamed(rows, columns))
        count += rows.num_rows
    return count
