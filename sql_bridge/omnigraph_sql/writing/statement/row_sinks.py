"""Where changed rows go: a plain table, by address, or a type of the graph, by id."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from omnigraph.loading.typed_batch import ids_for
from omnigraph.tables import ADDRESS, conformed
from omnigraph_sql.writing.statement.column_mapping import columns_of, typed
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget


class Sink(Protocol):
    """Takes the rows that a statement adds, changes and removes."""

    handle: str
    """The column that says which row of the target is meant."""
    schema: pa.Schema
    addresses: bool
    """Whether a query must be asked for the handle."""

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
        whole = conformed(rows, self.schema)
        self._plain.append(self._name, whole)
        return whole

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
        self.delete(handles)
        return self.insert(rows)

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._plain.remove(self._name, handles.to_numpy())


class TypeSink:
    """A node or edge type. What was decided on its rows is refused if they move."""

    handle = "id"
    addresses = False

    def __init__(self, work: WriteStatement, target: WriteTarget) -> None:
        self._work = work
        self._type = target.type(work.snapshot)
        self._txn = work.txn
        self._type_name = target.type_name
        self.schema = columns_of(work, target)

    def insert(self, rows: pa.Table) -> pa.Table:
        given = typed(rows, self.schema)
        if self._work.kept is not None:
            given = self._with_ids(given)
        self._txn.insert(self._type_name, given)
        return self._whole(given)

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> pa.Table:
        self._txn.expect_unmoved(self._type_name)
        new = typed(rows, self.schema)
        self._txn.upsert(self._type_name, new)
        return new

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._txn.expect_unmoved(self._type_name)
        self._txn.delete(self._type_name, handles)

    def _with_ids(self, rows: pa.Table) -> pa.Table:
        """Rows with the ids they will have, which RETURNING shows."""
        columns = {name: rows.column(name).combine_chunks() for name in rows.schema.names}
        ids, _ = ids_for(self._type, columns.pop("id", None), columns, rows.num_rows)
        return pa.table({"id": ids, **columns})

    def _whole(self, rows: pa.Table) -> pa.Table:
        missing = pa.nulls(rows.num_rows)
        return pa.table(
            [
                rows.column(f.name) if f.name in rows.schema.names else missing.cast(f.type)
                for f in self.schema
            ],
            names=self.schema.names,
        )


def sink_for(work: WriteStatement, target: WriteTarget) -> Sink:
    """Where rows of a target go."""
    return TypeSink(work, target) if target.is_type else PlainSink(work, target)
