"""The truth table of a merge: what becomes of entities that the source changed.

It is docs/design/branching.md#entity-truth-table.

An entity that only the source changed gets the source's values; one that both changed equally
stays; else it is a conflict, which the caller may have decided beforehand. All on whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import CandidateRows, touched_rows
from omnigraph.branching.merge.changeset import NO_IDS, Changeset, UnreadRows, counts_sources
from omnigraph.branching.merge.conflicts import Conflicts, EntityConflict, OnConflict
from omnigraph.branching.merge.project_rows import (
    ProjectedChanges,
    projected_changes,
    rows_with_ids,
)
from omnigraph.branching.merge.three_way import ThreeWayType
from omnigraph.common.array_types import Mask
from omnigraph.common.spilled_rows import spilled_to_disk
from omnigraph.errors import InvalidInput
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import common_rows, rows_at, split_by_overlap

Granularity = Literal["entity", "property"]

FEW_ROWS = 64
"""So many rows are compared in any case: it costs little, and tells exactly what changed."""


@dataclass(frozen=True)
class ConflictPolicy:
    """How a caller wants conflicts decided."""

    on_conflict: OnConflict = "fail"
    granularity: Granularity = "entity"

    def __post_init__(self) -> None:
        known = {"on_conflict": get_args(OnConflict), "granularity": get_args(Granularity)}
        for name, values in known.items():
            if (given := getattr(self, name)) not in values:
                hint = f"Use {' or '.join(map(repr, values))}."
                raise InvalidInput(f"{name} cannot be {given!r}", hint=hint)


def source_changeset(tables: TableStore, three_way: ThreeWayType) -> Changeset:
    """Everything that the source changed, for a table that becomes the target's as a whole."""
    assert three_way.merged is not None and three_way.source is not None
    changeset = Changeset(three_way.merged, spilled_to_disk(_checked_columns(three_way.merged)))
    before = three_way.base.state if three_way.base else None
    for changes in projected_changes(tables, before, three_way.source.state, three_way.merged):
        changeset.insert(changes.inserted)
        changeset.update(changes.updated_before, changes.updated_after, changes.updated_at)
        changeset.remove(changes.deleted, changes.deleted_at)
    changeset.buffer.finish()
    return changeset


def _checked_columns(type_: GraphType) -> pa.Schema:
    """The columns that checks between entities read."""
    members = {member for rule in type_.uniques for member in rule.members}
    checked = members | {"id", "src", "dst"}
    return pa.schema([field for field in table_schema(type_) if field.name in checked])


def merge_rows(
    tables: TableStore,
    three_way: ThreeWayType,
    policy: ConflictPolicy,
    conflicts: Conflicts,
    *,
    compared: bool = False,
) -> Changeset:
    """The changeset of the target for a type whose rows both sides changed.

    Rows of the base that only the source touched are deleted by address and not read, unless they
    are few or are to be `compared`: which of them have other values now, and which were deleted.
    """
    base, source, target = three_way.base, three_way.source, three_way.target
    assert three_way.merged is not None and source is not None and target is not None
    if base is None:
        merge = _RowMerge(tables, three_way, policy, conflicts)
        parts = projected_changes(tables, None, source.state, three_way.merged)
    else:
        old, new = touched_rows(tables, base.state, source.state)
        old_of_target, new_of_target = touched_rows(tables, base.state, target.state)
        touched_by_both = common_rows(tables, old_of_target, old)
        merge = _RowMerge(tables, three_way, policy, conflicts, (touched_by_both, new_of_target))
        overlapping, source_only = split_by_overlap(tables, old, old_of_target)
        if len(source_only) > FEW_ROWS and not compared:
            rows = rows_at(tables, base.state.version, source_only)
            merge.changeset.unread = UnreadRows(tables, rows, counts_sources(three_way.merged))
            old = overlapping
        parts = projected_changes(tables, base.state, source.state, three_way.merged, (old, new))
    if three_way.source_changed:
        for changes in parts:
            merge.apply(changes)
    merge.changeset.buffer.finish()
    return merge.changeset


@dataclass
class _RowMerge:
    """One pass over the source's changes of one type."""

    tables: TableStore
    three_way: ThreeWayType
    policy: ConflictPolicy
    conflicts: Conflicts
    candidates: CandidateRows | None = None
    """The rows of the base that both touched, and those the target wrote."""

    def __post_init__(self) -> None:
        assert self.three_way.merged is not None and self.three_way.target is not None
        self.type = self.three_way.merged
        self.target = self.three_way.target.state
        self.changeset = Changeset(self.type, spilled_to_disk(table_schema(self.type)))
        self.inserted, self.updated, self.deleted = self._target_changes()

    def _target_changes(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Ids that the target inserted, updated and deleted since the base.

        Exact for those that the source touched too; others are not read where they were.
        """
        inserted, updated, deleted = [NO_IDS], [NO_IDS], [NO_IDS]
        before = self.three_way.base.state if self.three_way.base else None
        if self.three_way.target_changed:
            for changes in projected_changes(
                self.tables, before, self.target, self.type, self.candidates
            ):
                inserted.append(_ids(changes.inserted))
                updated.append(_ids(changes.updated_after))
                deleted.append(_ids(changes.deleted))
        return pa.concat_arrays(inserted), pa.concat_arrays(updated), pa.concat_arrays(deleted)

    def apply(self, changes: ProjectedChanges) -> None:
        """Decide one part of the source's changes."""
        inserted, updated, deleted = changes.inserted, changes.updated_after, changes.deleted
        by_both = pc.is_in(inserted.column("id"), self.inserted)
        self.changeset.insert(inserted.filter(pc.invert(by_both)))
        self._merge_both(None, inserted.filter(by_both), "divergent_insert")

        by_both = pc.is_in(updated.column("id"), self.updated)
        deleted_by_target = pc.is_in(updated.column("id"), self.deleted)
        source_only = pc.invert(pc.or_(by_both, deleted_by_target))
        self.changeset.update(
            changes.updated_before.filter(source_only),
            updated.filter(source_only),
            changes.updated_at[_mask(source_only)],
        )
        before = changes.updated_before.filter(by_both)
        self._merge_both(before, updated.filter(by_both), "divergent_update")
        if self._source_wins("delete_vs_update", updated.filter(deleted_by_target)):
            self.changeset.insert(updated.filter(deleted_by_target))

        updated_by_target = pc.is_in(deleted.column("id"), self.updated)
        by_both = pc.is_in(deleted.column("id"), self.deleted)
        source_only = pc.invert(pc.or_(updated_by_target, by_both))
        self.changeset.remove(deleted.filter(source_only), changes.deleted_at[_mask(source_only)])
        contested = deleted.filter(updated_by_target)
        if contested.num_rows and self._source_wins("delete_vs_update", contested):
            self.changeset.remove(self._target_rows(contested))

    def _merge_both(self, base: pa.Table | None, theirs: pa.Table, kind: EntityConflict) -> None:
        """Entities that both sides inserted or updated."""
        if not theirs.num_rows:
            return
        ours = self._target_rows(theirs)
        if base is not None and self.policy.granularity == "property":
            merged, clash = merge_by_property(base, theirs, ours, self.policy.on_conflict)
            self.changeset.has_merged_rows = True
            self._source_wins(kind, theirs.filter(pa.array(clash)))
        else:
            clash = differing(theirs, ours)
            merged = theirs if self._source_wins(kind, theirs.filter(pa.array(clash))) else ours
        changed = pa.array(differing(merged, ours))
        self.changeset.update(ours.filter(changed), merged.filter(changed))

    def _target_rows(self, rows: pa.Table) -> pa.Table:
        """The same entities as the target has them."""
        return rows_with_ids(self.tables, self.target, _ids(rows), self.type)

    def _source_wins(self, kind: EntityConflict, rows: pa.Table) -> bool:
        """Whether the source's rows win; where nothing was decided, they are conflicts."""
        if self.policy.on_conflict == "fail":
            self.conflicts.add_entities(self.type, kind, _ids(rows))
        return self.policy.on_conflict == "theirs"


def _ids(rows: pa.Table) -> pa.StringArray:
    return rows.column("id").combine_chunks()


def _mask(values: pa.ChunkedArray) -> Mask:
    mask: Mask = values.to_numpy()
    return mask


def merge_by_property(
    base: pa.Table, theirs: pa.Table, ours: pa.Table, on_conflict: OnConflict
) -> tuple[pa.Table, Mask]:
    """Rows merged column by column, and which of them have a column that both changed differently.

    Such a column has the value of the side that the policy prefers, ours by default.
    """
    clash: Mask = np.zeros(theirs.num_rows, np.bool_)
    columns = []
    for name in theirs.column_names:
        old, new, other = base.select([name]), theirs.select([name]), ours.select([name])
        changed = differing(old, new)
        by_both = changed & differing(old, other) & differing(new, other)
        clash |= by_both
        from_source = changed if on_conflict == "theirs" else changed & ~by_both
        positions = np.arange(len(clash)) + np.where(from_source, 0, len(clash))
        columns.append(pa.concat_tables([new, other]).column(0).take(pa.array(positions)))
    return pa.Table.from_arrays(columns, schema=theirs.schema), clash
