"""The entities that differ between two versions of one table.

Costs what changed: rows in files that both versions share are never read. The others are matched by
id and compared by value, so that rewriting equal values, compaction and indexing are no changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.column_pairing import PairedColumns, pair_columns
from omnigraph.branching.compare.range_partition import ADDRESS, RangeInput, by_ranges
from omnigraph.branching.compare.row_equality import differing
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import (
    RowSet,
    all_rows,
    differing_rows,
)

CandidateRows = tuple[RowSet | None, RowSet | None]
"""The rows before and after that are compared."""


@dataclass(frozen=True, slots=True)
class TableState:
    """A type as it was declared then, and the version of its table."""

    type: GraphType
    version: TableVersion


@dataclass(frozen=True, slots=True)
class Changes:
    """Entities of one type that differ; all tables have the paired columns, sorted by id."""

    columns: PairedColumns
    inserted: pa.Table
    deleted: pa.Table
    updated_before: pa.Table
    updated_after: pa.Table
    """Row by row the new state of `updated_before`."""

    @property
    def type(self) -> GraphType:
        """The type as declared after, or before if it was dropped."""
        return self.columns.type

    def counts(self) -> dict[str, int]:
        """How many entities changed, by operation."""
        return {
            "insert": self.inserted.num_rows,
            "update": self.updated_after.num_rows,
            "delete": self.deleted.num_rows,
        }

    @property
    def count(self) -> int:
        """How many entities changed."""
        return sum(self.counts().values())


def table_changes(
    tables: TableStore,
    before: TableState | None,
    after: TableState | None,
    today: GraphType | None = None,
    *,
    addresses: bool = False,
    candidates: CandidateRows | None = None,
) -> Iterator[Changes]:
    """The entities that differ between two versions of a table; none stands for no table.

    Many come in several parts, each with greater ids than the one before it; no change in none.
    `today` gives properties that it still has their names. With `addresses`, rows also have their
    row address, in `_rowaddr`. With `candidates`, no other rows are read: the answer is exact only
    for entities whose row before is among them.
    """
    if before is None and after is None:
        return
    columns = pair_columns(before.type if before else None, after.type if after else None, today)
    old, new = candidates or _candidates(tables, columns, before, after)
    left = RangeInput(tables, columns, old, after=False)
    right = RangeInput(tables, columns, new, after=True)
    schema = columns.schema.append(ADDRESS) if addresses else columns.schema
    for rows_before, rows_after in by_ranges(schema, left, right):
        changes = compared(columns, rows_before, rows_after)
        if changes.count:
            yield changes


def compared(columns: PairedColumns, before: pa.Table, after: pa.Table) -> Changes:
    """The difference of some entities, given their rows of both sides in the paired columns.

    Other columns are carried along, and not compared.
    """
    names = columns.schema.names
    positions = pc.index_in(after.column("id"), before.column("id"))
    in_both, positions = positions.is_valid(), positions.drop_null()
    old, new = before.take(positions), after.filter(in_both)
    changed = pa.array(differing(old.select(names), new.select(names)))
    is_deleted = np.ones(before.num_rows, np.bool_)
    is_deleted[positions.to_numpy()] = False
    updated = new.filter(changed)
    order = _by_id(updated)
    inserted, deleted = after.filter(pc.invert(in_both)), before.filter(pa.array(is_deleted))
    return Changes(
        columns,
        inserted=inserted.take(_by_id(inserted)),
        deleted=deleted.take(_by_id(deleted)),
        updated_before=old.filter(changed).take(order),
        updated_after=updated.take(order),
    )


def _by_id(rows: pa.Table) -> pa.Array:
    """Row numbers in the order of ids; one array sorts faster than its chunks."""
    return pc.sort_indices(rows.column("id").combine_chunks())


def touched_rows(
    tables: TableStore, before: TableState, after: TableState
) -> tuple[RowSet, RowSet]:
    """The rows of two versions that can differ: the old ones, and the new ones."""
    old, new = _candidates(tables, pair_columns(before.type, after.type), before, after)
    assert old is not None and new is not None
    return old, new


def _candidates(
    tables: TableStore, columns: PairedColumns, before: TableState | None, after: TableState | None
) -> CandidateRows:
    """The rows that can differ: all of them unless both sides have the same properties."""
    if before is not None and after is not None and columns.same_properties:
        return differing_rows(tables, before.version, after.version)
    return (
        all_rows(tables, before.version) if before else None,
        all_rows(tables, after.version) if after else None,
    )
