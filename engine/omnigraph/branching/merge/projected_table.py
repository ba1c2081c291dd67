"""A table as a merge would leave it, before any of it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.merge.changeset import Changeset
from omnigraph.branching.merge.project_rows import stored_names
from omnigraph.branching.merge.three_way import MergeSide, version_of
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.table_view import Among, StoredTable
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows
from omnigraph.storage.transaction.migrate_rows import evolved_column


@dataclass(frozen=True)
class ProjectedTable:
    """A side's table in the columns of the merged type."""

    tables: TableStore
    side: MergeSide
    merged: GraphType
    only: RowSet | None = None
    """The rows that it shows; all of them unless given."""

    @property
    def rows(self) -> int:
        return self.side.pointer.rows

    @cached_property
    def _stored(self) -> StoredTable:
        return StoredTable(self.tables, version_of(self.side.pointer), self.rows)

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        names = stored_names(self.side.type, self.merged, columns)
        pushed = (names[among[0]], among[1]) if among and among[0] in names else None
        schema = table_schema(self.merged)
        # An id is read in any case: a scan needs a column to say how many rows there are.
        wanted = dict.fromkeys(["id", *names.values()])
        fields = [schema.field(column) for column in columns]
        for rows in self._read(list(wanted), pushed):
            found = [evolved_column(rows, f, names.get(f.name), self.merged) for f in fields]
            yield pa.Table.from_arrays(found, schema=pa.schema(fields))

    def _read(self, columns: Sequence[str], among: Among | None) -> Iterator[pa.Table]:
        if self.only is None:
            return self._stored.scan(columns, among)
        batches = read_rows(self.tables, self.only, columns)
        return (pa.Table.from_batches([batch]) for batch in batches)

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        return self._stored.present_ids(ids)


@dataclass(frozen=True)
class TableAfterMerge:
    """The same with what a merge takes over: rows go, are replaced, and come."""

    below: ProjectedTable
    taken: Changeset

    @property
    def rows(self) -> int:
        return self.below.rows + self.taken.buffer.rows - self.taken.left

    @cached_property
    def _covered(self) -> pa.Array:
        # What leaves without having been read is where it was in the base: not in new files.
        known = [self.taken.sought, self.taken.replaced_ids]
        gone = [self.taken.removed] if self.below.only is None else known
        return pa.concat_arrays([self.taken.arriving, *gone])

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        with_id = list(dict.fromkeys([*columns, "id"]))
        for rows in self.below.scan(with_id, among):
            stays = pc.invert(pc.is_in(rows.column("id"), self._covered))
            yield rows.filter(stays).select(list(columns))
        for rows in self.taken.buffer.scan(columns):
            yield rows

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        below = self.below.present_ids(ids)
        stays = below.filter(pc.invert(pc.is_in(below, self._covered)))
        return pa.concat_arrays([stays, ids.filter(pc.is_in(ids, self.taken.arriving))])
