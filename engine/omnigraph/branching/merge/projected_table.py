"""A table as a merge would leave it, before any of it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.merge.changeset import Changeset
from omnigraph.branching.merge.project_rows import stored_names
from omnigraph.branching.merge.three_way import MergeSide
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.table_view import Among, StoredTable
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows
from omnigraph.storage.transaction.migrate_rows import evolved_column


@dataclass(frozen=True)
class ProjectedTable:
    """A side's table, projected to the columns of the merged type."""

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
        return StoredTable(self.tables, self.side.pointer.address, self.rows)

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        names = stored_names(self.side.type, self.merged, columns)
        pushed = (names[among[0]], among[1]) if among and among[0] in names else None
        # An id is read in any case: a scan needs a column to say how many rows there are.
        stored = list(dict.fromkeys(["id", *names.values()]))
        schema = pa.schema([table_schema(self.merged).field(column) for column in columns])
        for rows in self._read(stored, pushed):
            arrays = [evolved_column(rows, f, names.get(f.name), self.merged) for f in schema]
            yield pa.Table.from_arrays(arrays, schema=schema)

    def _read(self, columns: Sequence[str], among: Among | None) -> Iterator[pa.Table]:
        if self.only is None:
            return self._stored.scan(columns, among)
        batches = read_rows(self.tables, self.only, columns)
        return (pa.Table.from_batches([batch]) for batch in batches)

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        return self._stored.present_ids(ids)


@dataclass(frozen=True)
class TableAfterMerge:
    """A projected table with a changeset applied: rows are deleted, replaced and inserted."""

    before: ProjectedTable
    changeset: Changeset

    @property
    def rows(self) -> int:
        return self.before.rows + self.changeset.buffer.rows - self.changeset.rows_deleted

    @cached_property
    def _superseded_ids(self) -> pa.Array:
        """Ids whose rows are not those of the table any more."""
        if self.before.only is None:
            deleted = [self.changeset.removed]
        else:
            # Unread rows are where the base has them, so they are not among new files.
            deleted = [self.changeset.lookup_ids, self.changeset.replaced_ids]
        return pa.concat_arrays([self.changeset.inserted_ids, *deleted])

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        with_id = list(dict.fromkeys([*columns, "id"]))
        for rows in self.before.scan(with_id, among):
            remains = pc.invert(pc.is_in(rows.column("id"), self._superseded_ids))
            yield rows.filter(remains).select(list(columns))
        yield from self.changeset.buffer.scan(columns)

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        before = self.before.present_ids(ids)
        remaining = before.filter(pc.invert(pc.is_in(before, self._superseded_ids)))
        inserted = ids.filter(pc.is_in(ids, self.changeset.inserted_ids))
        return pa.concat_arrays([remaining, inserted])
