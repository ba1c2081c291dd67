"""What a merge changes in the target's table of one type; constraint checks read it as a change.

A row that the source replaced and the target left alone is deleted from the target's table by its
address. Its values matter only to some rules and for counting, and are read on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import concat_texts
from omnigraph.common.spilled_rows import SpillingRows
from omnigraph.schema.model.catalog import EdgeType, GraphType
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows, stored_bytes

READ_BYTES = 4096
"""About what reading one value of one row takes: a page of its column."""
COUNTED_SHARE = 50
"""Rows are read for the sake of counting alone if that takes less than this part of a table."""

NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class UnreadRows:
    """Rows of the base that the source replaced or deleted, and that the target left alone."""

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


@dataclass
class Changeset:
    """The rows that the target's table gets, and those that are deleted from it."""

    type: GraphType
    buffer: SpillingRows
    unread: UnreadRows | None = None
    inserted: int = 0
    """New rows that replace none that was read."""
    updated: int = 0
    replaced_ids: pa.StringArray = field(default_factory=lambda: NO_IDS)
    """Entities that are updated or deleted: those that the target left alone since the base,"""
    replaced_at: Addresses = field(default_factory=lambda: NO_ADDRESSES)
    """where the base has them,"""
    lookup_ids: pa.StringArray = field(default_factory=lambda: NO_IDS)
    """and the others, which have to be looked up."""
    has_merged_rows: bool = False
    """Whether some row has properties of both sides."""
    replaced: bool = False
    one_file: bool = False
    _removed: pa.StringArray = field(default_factory=lambda: NO_IDS)
    _touched: pa.StringArray = field(default_factory=lambda: NO_IDS)

    def insert(self, rows: pa.Table) -> None:
        """Entities that the target does not have, or has in a row that is not read."""
        self.inserted += rows.num_rows
        self._append(rows)

    def update(self, before: pa.Table, after: pa.Table, at: Addresses | None = None) -> None:
        """Entities that get new values, what they are in the target, and where in the base."""
        self.updated += after.num_rows
        self._append(after)
        self._touch(before, at)

    def remove(self, rows: pa.Table, at: Addresses | None = None) -> None:
        """Entities that are deleted, as they are in the target, and where in the base."""
        self._removed = pa.concat_arrays([self._removed, rows.column("id").combine_chunks()])
        self._touch(rows, at)

    def _append(self, rows: pa.Table) -> None:
        self.buffer.append(rows.select(self.buffer.schema.names).cast(self.buffer.schema))

    def _touch(self, rows: pa.Table, at: Addresses | None) -> None:
        ids = rows.column("id").combine_chunks()
        if at is None:
            self.lookup_ids = pa.concat_arrays([self.lookup_ids, ids])
        else:
            self.replaced_ids = pa.concat_arrays([self.replaced_ids, ids])
            self.replaced_at = np.concatenate([self.replaced_at, at])
        if counts_sources(self.type):
            sources = rows.column("src").combine_chunks().unique()
            self._touched = pa.concat_arrays([self._touched, sources])

    @property
    def written(self) -> tuple[Changeset, ...]:
        return (self,)

    @property
    def unread_at(self) -> Addresses:
        """Where the base has the rows that are deleted without having been read."""
        return self.unread.rows.addresses if self.unread else NO_ADDRESSES

    @property
    def rows_deleted(self) -> int:
        """How many rows are deleted from the target's table, replaced ones included."""
        return len(self.lookup_ids) + len(self.replaced_at) + len(self.unread_at)

    @property
    def has_changes(self) -> bool:
        return bool(self.buffer.rows or self.rows_deleted)

    @cached_property
    def inserted_ids(self) -> pa.StringArray:
        """The ids of the rows that the table gets."""
        return concat_texts(rows.column("id") for rows in self.buffer.scan(["id"])).combine_chunks()

    @cached_property
    def removed(self) -> pa.StringArray:
        """The ids of entities that are deleted."""
        if self.unread is None:
            return self._removed
        ids = self.unread.keys.column("id").combine_chunks()
        deleted = ids.filter(pc.invert(pc.is_in(ids, self.inserted_ids)))
        return pa.concat_arrays([self._removed, deleted])

    @cached_property
    def touched(self) -> pa.StringArray:
        """Sources (of edges with a cardinality) that lost an edge."""
        if self.unread is None or not self.unread.with_sources:
            return self._touched
        sources = self.unread.keys.column("src").combine_chunks()
        return pa.concat_arrays([self._touched, sources.unique()])

    def counts(self) -> tuple[int, int, int] | None:
        """How many entities are inserted, updated and deleted; none where that would read much.

        A row that was not read counts as updated even if its values were written again.
        """
        if self.unread is None:
            return self.inserted, self.updated, len(self.removed)
        if self.unread.costly:
            return None
        replaced = len(self.unread_at) + len(self._removed) - len(self.removed)
        return self.inserted - replaced, self.updated + replaced, len(self.removed)


def counts_sources(type_: GraphType) -> bool:
    """Whether a rule counts the edges of each source."""
    return isinstance(type_, EdgeType) and not type_.cardinality.is_free
