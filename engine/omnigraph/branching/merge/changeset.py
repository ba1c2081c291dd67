"""What a merge changes in the target's table of one type; validation reads it as a change.

A row that the source replaced and the target left alone leaves the target's table by its place.
What was in it matters only to some rules and for counting, and is read when they ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.spilled_rows import SpillingRows
from omnigraph.schema.model.catalog import EdgeType, GraphType
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows, stored_bytes

READ_BYTES = 4096
"""About what reading one value of one row takes: a page of its column."""
COUNTED_SHARE = 50
"""Rows are read for the sake of counting alone if that takes less than this part of a table."""

_NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class UnreadRows:
    """Rows of the base that the source replaced or took out, and that the target left alone."""

    tables: TableStore
    rows: RowSet
    with_sources: bool

    @cached_property
    def keys(self) -> pa.Table:
        """The ids of the rows, and the sources of edges that are counted."""
        names = ["id", "src"] if self.with_sources else ["id"]
        schema = pa.schema([(name, pa.string()) for name in names])
        batches = read_rows(self.tables, self.rows, names)
        return pa.Table.from_batches((batch.cast(schema) for batch in batches), schema)

    @property
    def costly(self) -> bool:
        """Whether reading ids would take more than a small part of the table."""
        if "keys" in self.__dict__:
            return False
        size = stored_bytes(self.tables, self.rows.version)
        return self.rows.rows * READ_BYTES * COUNTED_SHARE > size


@dataclass(frozen=True, slots=True)
class Counts:
    """How many entities of the target change."""

    inserted: int
    updated: int
    deleted: int


@dataclass
class Changeset:
    """The rows that arrive in the target's table, and those that leave it."""

    type: GraphType
    buffer: SpillingRows
    unread: UnreadRows | None = None
    arrived: int = 0
    """Rows that arrive and replace none that was read."""
    updated: int = 0
    replaced_ids: pa.StringArray = field(default_factory=lambda: _NO_IDS)
    """Entities that get new values or go: those that the target has not touched since the base,"""
    replaced_at: Addresses = field(default_factory=lambda: NO_ADDRESSES)
    """where the base has them,"""
    sought: pa.StringArray = field(default_factory=lambda: _NO_IDS)
    """and the others, which have to be looked for."""
    combined: bool = False
    """Whether some image has properties of both sides."""
    replaced: bool = False
    one_file: bool = False
    _removed: pa.StringArray = field(default_factory=lambda: _NO_IDS)
    _touched: pa.StringArray = field(default_factory=lambda: _NO_IDS)

    # ------------------------------------------------------------------ what the merge decided

    def insert(self, rows: pa.Table) -> None:
        """Entities that the target does not have, or has in a row that is not read."""
        self.arrived += rows.num_rows
        self._append(rows)

    def update(self, before: pa.Table, after: pa.Table, at: Addresses | None = None) -> None:
        """Entities that get new values, what they are in the target, and where in the base."""
        self.updated += after.num_rows
        self._append(after)
        self._touch(before, at)

    def remove(self, rows: pa.Table, at: Addresses | None = None) -> None:
        """Entities that go, as they are in the target, and where in the base."""
        self._removed = pa.concat_arrays([self._removed, rows.column("id").combine_chunks()])
        self._touch(rows, at)

    def _append(self, rows: pa.Table) -> None:
        self.buffer.append(rows.select(self.buffer.schema.names).cast(self.buffer.schema))

    def _touch(self, rows: pa.Table, at: Addresses | None) -> None:
        ids = rows.column("id").combine_chunks()
        if at is None:
            self.sought = pa.concat_arrays([self.sought, ids])
        else:
            self.replaced_ids = pa.concat_arrays([self.replaced_ids, ids])
            self.replaced_at = np.concatenate([self.replaced_at, at])
        if counts_sources(self.type):
            sources = rows.column("src").combine_chunks().unique()
            self._touched = pa.concat_arrays([self._touched, sources])

    # ------------------------------------------------------------------ what it comes to

    @property
    def written(self) -> tuple[Changeset, ...]:
        return (self,)

    @property
    def unread_at(self) -> Addresses:
        """Where the base has the rows that leave without having been read."""
        return self.unread.rows.addresses if self.unread else NO_ADDRESSES

    @property
    def left(self) -> int:
        """How many rows leave the target's table."""
        return len(self.sought) + len(self.replaced_at) + len(self.unread_at)

    @property
    def anything(self) -> bool:
        return bool(self.buffer.rows or self.left)

    @cached_property
    def arriving(self) -> pa.StringArray:
        """The ids of the rows that arrive."""
        ids = [c for rows in self.buffer.scan(["id"]) for c in rows.column("id").chunks]
        return pa.chunked_array(ids, pa.string()).combine_chunks()

    @cached_property
    def removed(self) -> pa.StringArray:
        """The ids of entities that go."""
        if self.unread is None:
            return self._removed
        ids = self.unread.keys.column("id").combine_chunks()
        return pa.concat_arrays(
            [self._removed, ids.filter(pc.invert(pc.is_in(ids, self.arriving)))]
        )

    @cached_property
    def touched(self) -> pa.StringArray:
        """Sources (of edges with a cardinality) that lost an edge."""
        if self.unread is None or not self.unread.with_sources:
            return self._touched
        sources = self.unread.keys.column("src").combine_chunks()
        return pa.concat_arrays([self._touched, sources.unique()])

    def counts(self) -> Counts | None:
        """How many entities change; not known where finding out would read much of the table.

        A row that was not read counts as updated even if its values were written again.
        """
        if self.unread is None:
            return Counts(self.arrived, self.updated, len(self.removed))
        if self.unread.costly:
            return None
        again = len(self.unread_at) + len(self._removed) - len(self.removed)
        return Counts(self.arrived - again, self.updated + again, len(self.removed))


def counts_sources(type_: GraphType) -> bool:
    """Whether a rule counts the edges of each source."""
    return isinstance(type_, EdgeType) and not type_.cardinality.is_free
