"""The truth table of a merge: what becomes of entities that the source changed (branching.md §7).

An entity that only the source changed is taken over; one that both changed equally stays; else it
is a conflict, which the caller may have decided beforehand. All of it on whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import CandidateRows, touched_rows
from omnigraph.branching.merge.changeset import Changeset, UnreadRows, counts_sources
from omnigraph.branching.merge.conflicts import Conflicts, EntityConflict, OnConflict
from omnigraph.branching.merge.project_rows import ProjectedChanges, lifted_changes, rows_with_ids
from omnigraph.branching.merge.three_way import ThreeWayType
from omnigraph.common.array_types import Mask
from omnigraph.common.spilled_rows import spilled_to_disk
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import common_rows, rows_at, split_by_overlap

Granularity = Literal["entity", "property"]

FEW_ROWS = 64
"""So many rows are compared in any case: it costs little, and tells exactly what changed."""

_NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class ConflictPolicy:
    """How a caller wants conflicts decided."""

    on_conflict: OnConflict = "fail"
    granularity: Granularity = "entity"


def changes_of_source(tables: TableStore, sides: ThreeWayType) -> Changeset:
    """Everything that the source changed, for a table that is taken as a whole."""
    assert sides.merged is not None and sides.source is not None
    taken = Changeset(sides.merged, spilled_to_disk(_checked_columns(sides.merged)))
    before = sides.base.image if sides.base else None
    for changes in lifted_changes(tables, before, sides.source.image, sides.merged):
        taken.insert(changes.inserted)
        taken.update(changes.updated_before, changes.updated_after, changes.updated_at)
        taken.remove(changes.deleted, changes.deleted_at)
    taken.buffer.finish()
    return taken


def _checked_columns(type_: GraphType) -> pa.Schema:
    """The columns that checks between entities read."""
    members = {member for rule in type_.uniques for member in rule.members}
    wanted = members | {"id", "src", "dst"}
    return pa.schema([field for field in table_schema(type_) if field.name in wanted])


def merge_entities(
    tables: TableStore,
    sides: ThreeWayType,
    decisions: ConflictPolicy,
    conflicts: Conflicts,
    *,
    compared: bool = False,
) -> Changeset:
    """What the target takes over of a type whose rows both sides changed.

    Rows of the base that only the source touched leave by their place and are not read, unless
    they are few or are to be `compared`: which of them have other values now, and which are gone.
    """
    assert sides.merged is not None and sides.source is not None and sides.target is not None
    if sides.base is None:
        merge = _Merge(tables, sides, decisions, conflicts)
        parts = lifted_changes(tables, None, sides.source.image, sides.merged)
    else:
        before = sides.base.image
        old, new = touched_rows(tables, before, sides.source.image)
        old_of_target, new_of_target = touched_rows(tables, before, sides.target.image)
        met = common_rows(tables, old_of_target, old)
        merge = _Merge(tables, sides, decisions, conflicts, (met, new_of_target))
        rest, alone = split_by_overlap(tables, old, old_of_target)
        if len(alone) > FEW_ROWS and not compared:
            rows = rows_at(tables, before.version, alone)
            merge.taken.unread = UnreadRows(tables, rows, counts_sources(sides.merged))
            old = rest
        parts = lifted_changes(tables, before, sides.source.image, sides.merged, (old, new))
    if sides.source_moved:
        for changes in parts:
            merge.apply(changes)
    merge.taken.buffer.finish()
    return merge.taken


class _Merge:
    """One pass over the source's changes of one type."""

    def __init__(
        self,
        tables: TableStore,
        sides: ThreeWayType,
        decisions: ConflictPolicy,
        conflicts: Conflicts,
        met: CandidateRows | None = None,
    ) -> None:
        """`met` are the rows of the base that both sides touched, and what the target wrote."""
        assert sides.merged is not None and sides.target is not None
        self.type = sides.merged
        self.target = sides.target.image
        self.tables = tables
        self.decisions = decisions
        self.conflicts = conflicts
        self.taken = Changeset(self.type, spilled_to_disk(table_schema(self.type)))
        self.inserted, self.updated, self.deleted = self._changes_of_target(sides, met)

    def _changes_of_target(
        self, sides: ThreeWayType, met: CandidateRows | None
    ) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Ids that the target inserted, updated and deleted since the base.

        Told rightly for those that the source touched too; others are not read where they were.
        """
        found: tuple[list[pa.Array], ...] = ([], [], [])
        before = sides.base.image if sides.base else None
        if sides.target_moved:
            for changes in lifted_changes(self.tables, before, self.target, self.type, met):
                parts = (changes.inserted, changes.updated_after, changes.deleted)
                for ids, rows in zip(found, parts, strict=True):
                    ids.append(rows.column("id").combine_chunks())
        inserted, updated, deleted = (pa.concat_arrays([_NO_IDS, *ids]) for ids in found)
        return inserted, updated, deleted

    def apply(self, changes: ProjectedChanges) -> None:
        """Decide one part of the source's changes."""
        new, met = _split(changes.inserted, self.inserted)
        self.taken.insert(new)
        self._both(None, met, "divergent_insert")

        again = pc.is_in(changes.updated_after.column("id"), self.updated)
        gone = pc.is_in(changes.updated_after.column("id"), self.deleted)
        alone = pc.invert(pc.or_(again, gone))
        self.taken.update(
            changes.updated_before.filter(alone),
            changes.updated_after.filter(alone),
            changes.updated_at[_mask(alone)],
        )
        self._both(
            changes.updated_before.filter(again),
            changes.updated_after.filter(again),
            "divergent_update",
        )
        if self._decided("delete_vs_update", changes.updated_after.filter(gone)):
            self.taken.insert(changes.updated_after.filter(gone))

        met = changes.deleted.filter(pc.is_in(changes.deleted.column("id"), self.updated))
        touched = pa.concat_arrays([self.updated, self.deleted])
        alone = pc.invert(pc.is_in(changes.deleted.column("id"), touched))
        self.taken.remove(changes.deleted.filter(alone), changes.deleted_at[_mask(alone)])
        if met.num_rows and self._decided("delete_vs_update", met):
            self.taken.remove(self._ours(met))

    def _both(self, base: pa.Table | None, theirs: pa.Table, kind: EntityConflict) -> None:
        """Entities that both sides inserted or updated."""
        if not theirs.num_rows:
            return
        ours = self._ours(theirs)
        if base is not None and self.decisions.granularity == "property":
            wanted, clash = by_property(base, theirs, ours, self.decisions.on_conflict)
            self.taken.combined = True
            self._decided(kind, theirs.filter(pa.array(clash)))
        else:
            clash = differing(theirs, ours)
            wins = self._decided(kind, theirs.filter(pa.array(clash)))
            wanted = theirs if wins else ours
        chosen = pa.array(differing(wanted, ours))
        self.taken.update(ours.filter(chosen), wanted.filter(chosen))

    def _ours(self, rows: pa.Table) -> pa.Table:
        ids = rows.column("id").combine_chunks()
        return rows_with_ids(self.tables, self.target, ids, self.type)

    def _decided(self, kind: EntityConflict, rows: pa.Table) -> bool:
        """Whether the source's rows win; without a decision, they are conflicts."""
        if self.decisions.on_conflict == "fail":
            self.conflicts.add_entities(self.type, kind, rows.column("id").combine_chunks())
        return self.decisions.on_conflict == "theirs"


def _mask(values: pa.ChunkedArray) -> Mask:
    """Truth values for numpy."""
    found: Mask = values.to_numpy()
    return found


def _split(rows: pa.Table, ids: pa.StringArray) -> tuple[pa.Table, pa.Table]:
    """Rows whose ids are not among some, and those whose are."""
    met = pc.is_in(rows.column("id"), ids)
    return rows.filter(pc.invert(met)), rows.filter(met)


def by_property(
    base: pa.Table, theirs: pa.Table, ours: pa.Table, on_conflict: OnConflict
) -> tuple[pa.Table, Mask]:
    """Images merged column by column, and which rows have a column that both changed differently.

    Such a column has the value of the side that the caller chose, ours unless told otherwise.
    """
    clash: Mask = np.zeros(theirs.num_rows, np.bool_)
    columns = []
    for name in theirs.column_names:
        old, new, other = base.select([name]), theirs.select([name]), ours.select([name])
        changed = differing(old, new)
        both = changed & differing(old, other) & differing(new, other)
        clash |= both
        take = changed if on_conflict == "theirs" else changed & ~both
        places = np.arange(len(take)) + np.where(take, 0, len(take))
        columns.append(pa.concat_tables([new, other]).column(0).take(pa.array(places)))
    return pa.Table.from_arrays(columns, schema=theirs.schema), clash
