"""Types and properties that one side of a merge dropped and whose data the other changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import table_changes
from omnigraph.branching.merge.project_rows import projected_changes
from omnigraph.branching.merge.three_way import MergeSide, ThreeWayType, same_version
from omnigraph.schema.evolution.merge_schemas import SchemaConflict
from omnigraph.storage.tables.tables import TableStore


def drop_conflicts(tables: TableStore, types: Collection[ThreeWayType]) -> Iterator[SchemaConflict]:
    """Types whose entities, and properties whose values, one side dropped and the other changed."""
    for each in types:
        yield from _dropped_type(tables, each)
        if each.source is not None:
            yield from _dropped_properties(tables, each, each.source, "source", "target")
        if each.target is not None:
            yield from _dropped_properties(tables, each, each.target, "target", "source")


def _dropped_type(tables: TableStore, three_way: ThreeWayType) -> Iterator[SchemaConflict]:
    base, side = three_way.base, three_way.source or three_way.target
    if three_way.merged is not None or base is None or side is None or same_version(base, side):
        return
    if any(projected_changes(tables, base.state, side.state, base.type)):
        dropper, changer = ("target", "source") if three_way.source else ("source", "target")
        entity = side.type.table_key
        message = f"{entity} was dropped on the {dropper}; its entities changed on the {changer}"
        yield SchemaConflict(entity, message)


def _dropped_properties(
    tables: TableStore, three_way: ThreeWayType, side: MergeSide, changer: str, dropper: str
) -> Iterator[SchemaConflict]:
    """New values of known entities; those of new entities are dropped with the property."""
    merged, base = three_way.merged, three_way.base
    if merged is None or base is None or same_version(base, side):
        return
    dropped = (base.type.by_identity.keys() & side.type.by_identity) - merged.by_identity.keys()
    names = {side.type.by_identity[identity].name for identity in dropped}
    if not names:
        return
    changed = set()
    for changes in table_changes(tables, base.state, side.state):
        before, after = changes.updated_before, changes.updated_after
        changed |= {n for n in names if differing(before.select([n]), after.select([n])).any()}
        if changed == names:
            break
    for name in sorted(changed):
        entity = f"{side.type.table_key}.{name}"
        message = f"{entity} was dropped on the {dropper}; its values changed on the {changer}"
        yield SchemaConflict(entity, message)
