"""What one side of a merge dropped while the other went on changing it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import table_changes
from omnigraph.branching.merge.project_rows import lifted_changes
from omnigraph.branching.merge.three_way import MergeSide, ThreeWayType, same_rows
from omnigraph.schema.evolution.merge_schemas import SchemaConflict
from omnigraph.storage.tables.tables import TableStore


def dropped_and_changed(
    tables: TableStore, sides: Collection[ThreeWayType]
) -> Iterator[SchemaConflict]:
    """Types whose entities, and properties whose values, one side dropped and the other changed."""
    for each in sides:
        found = _type(tables, each) if each.merged is None else None
        if found is not None:
            yield found
        for kept, by, other in (
            (each.source, "source", "target"),
            (each.target, "target", "source"),
        ):
            if kept is not None:
                yield from _properties(tables, each, kept, by, other)


def _type(tables: TableStore, sides: ThreeWayType) -> SchemaConflict | None:
    other = sides.source or sides.target
    if sides.base is None or other is None:
        return None
    moved = sides.source_moved if sides.source else sides.target_moved
    if not moved or not any(lifted_changes(tables, sides.base.image, other.image, sides.base.type)):
        return None
    entity = other.type.table_key
    gone, kept = ("target", "source") if sides.source else ("source", "target")
    message = f"{entity} was dropped on the {gone}; its entities changed on the {kept}"
    return SchemaConflict(entity, message)


def _properties(
    tables: TableStore, sides: ThreeWayType, kept: MergeSide, by: str, dropper: str
) -> Iterator[SchemaConflict]:
    """New values of known entities; those of new entities go with the property."""
    if sides.merged is None or sides.base is None or same_rows(sides.base, kept):
        return
    had = sides.base.type.by_identity.keys() & kept.type.by_identity.keys()
    names = {kept.type.by_identity[i].name for i in had - sides.merged.by_identity.keys()}
    if not names:
        return
    changed = set()
    for changes in table_changes(tables, sides.base.image, kept.image):
        before, after = changes.updated_before, changes.updated_after
        changed |= {n for n in names if differing(before.select([n]), after.select([n])).any()}
        if changed == names:
            break
    for name in sorted(changed):
        entity = f"{kept.type.table_key}.{name}"
        message = f"{entity} was dropped on the {dropper}; its values changed on the {by}"
        yield SchemaConflict(entity, message)
