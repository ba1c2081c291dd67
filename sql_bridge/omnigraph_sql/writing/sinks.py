"""Where changed rows go: a plain table, by address, or a type of the graph, by id."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from omnigraph.storage.plain_rows import conformed
from omnigraph.storage.providers import ADDRESS
from omnigraph_sql.writing.change import Change
from omnigraph_sql.writing.columns import columns_of, typed
from omnigraph_sql.writing.targets import Target


class Sink(Protocol):
    """Takes the rows that a statement adds, changes and removes."""

    handle: str
    """The column that says which row of the target is meant."""
    schema: pa.Schema
    addresses: bool
    """Whether a query must be asked for the handle."""

    def insert(self, rows: pa.Table) -> None:
        """Add rows; columns that are missing are null or have their default."""

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> None:
        """Give rows new contents, all columns of them."""

    def delete(self, handles: pa.ChunkedArray) -> None:
        """Remove rows."""


class PlainSink:
    """A plain table."""

    handle = ADDRESS
    addresses = True

    def __init__(self, work: Change, target: Target) -> None:
        self._plain = work.txn.plain
        self._name = target.full
        self.schema = columns_of(work, target)

    def insert(self, rows: pa.Table) -> None:
        self._plain.append(self._name, conformed(rows, self.schema))

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> None:
        self.delete(handles)
        self.insert(rows)

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._plain.remove(self._name, handles.to_numpy())


class TypeSink:
    """A node or edge type. What was decided on its rows is refused if they move."""

    handle = "id"
    addresses = False

    def __init__(self, work: Change, target: Target) -> None:
        self._txn = work.txn
        self._type_name = target.type_name
        self.schema = columns_of(work, target)

    def insert(self, rows: pa.Table) -> None:
        self._txn.insert(self._type_name, typed(rows, self.schema))

    def update(self, handles: pa.ChunkedArray, rows: pa.Table) -> None:
        self._txn.expect_unmoved(self._type_name)
        self._txn.upsert(self._type_name, typed(rows, self.schema))

    def delete(self, handles: pa.ChunkedArray) -> None:
        self._txn.expect_unmoved(self._type_name)
        self._txn.delete(self._type_name, handles)


def sink_for(work: Change, target: Target) -> Sink:
    """Where rows of a target go."""
    return TypeSink(work, target) if target.is_type else PlainSink(work, target)
