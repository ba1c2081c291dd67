"""What a merge of two heads comes to: its outcome, what changes, and every conflict.

Reads what the branches changed since they parted and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from omnigraph.branching.merge.conflicts import Conflicts, of_schema
from omnigraph.branching.merge.drop_conflicts import dropped_and_changed
from omnigraph.branching.merge.merge_rows import ConflictPolicy, merge_entities
from omnigraph.branching.merge.merged_constraints import TableMergePlan, check_integrity
from omnigraph.branching.merge.opaque_objects import WholeChanges, merge_wholes
from omnigraph.branching.merge.three_way import ThreeWayType, type_sides
from omnigraph.errors import Corruption
from omnigraph.schema.evolution.merge_schemas import (
    MergedSchema,
    SchemaConflict,
    SchemaVersion,
    merge_schemas,
)
from omnigraph.storage.commit.publish_plan import UNIFIED
from omnigraph.storage.core.model import Commit, Head, SchemaRecord, schema_record
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.merge_base import merge_base
from omnigraph.storage.refs.moments import DEFERRED_CHECKS

Outcome = Literal["already_up_to_date", "fast_forward", "merged"]


@dataclass(frozen=True)
class MergePlan:
    """A merge as decided on two heads."""

    outcome: Outcome
    source: Head
    target: Head
    schema: SchemaRecord | None
    """The schema that the target gets; none when it keeps its own."""
    unified: Mapping[int, int]
    """Identities that are known to be one thing, from now on also on the target."""
    pieces: Mapping[str, TableMergePlan]
    """What becomes of each type's table, by its key after the merge."""
    gone: frozenset[str]
    """Keys under which the target has a table and will have none, or another one."""
    wholes: WholeChanges
    conflicts: Conflicts


def find_base(store: GraphStore, source: Head, target: Head) -> str:
    """The commit at which two branches parted."""
    if source.commit == target.commit:
        return source.commit
    parents = store.manifest.parents(store.publisher.view)
    return merge_base(parents, source.commit, target.commit, lambda c: _commit(store, c).version)


def prepare(
    store: GraphStore,
    base: str,
    source: Head,
    target: Head,
    decisions: ConflictPolicy,
    *,
    compared: bool = False,
) -> MergePlan:
    """Decide a merge of branches that parted at a commit; a valid source ahead is not read.

    With `compared`, it is found out exactly which entities change, at the cost of reading them.
    """
    forward = base == target.commit
    ancestor = target if forward else _commit(store, base)
    schema = _merged_schema(store, ancestor, source, target)
    conflicts = Conflicts()
    for conflict in schema.conflicts:
        conflicts.add(of_schema(conflict))
    sides = list(
        type_sides(
            schema,
            ancestor.tables,
            source.tables,
            (store.catalog(target.schema), target.tables),
        )
    )
    pieces = {
        each.merged.table_key: TableMergePlan(store.tables, each, each.merged, each.strategy)
        for each in sides
        if each.merged is not None and not _disputed(each, schema.conflicts)
    }
    if not forward and not schema.conflicts:
        for conflict in dropped_and_changed(store.tables, sides):
            conflicts.add(of_schema(conflict))
    wholes = merge_wholes(
        (ancestor.tables, ancestor.definitions),
        (source.tables, source.definitions),
        (target.tables, target.definitions),
        decisions.on_conflict,
    )
    for whole in wholes.conflicts:
        conflicts.add(whole)
    for piece in pieces.values():
        if piece.strategy == "rows":
            piece.rows_taken = merge_entities(
                store.tables, piece.sides, decisions, conflicts, compared=compared
            )
    trusted = not source.properties.get(DEFERRED_CHECKS)
    if not conflicts and not (forward and trusted):
        check_integrity(schema.merged.catalog, pieces, conflicts, trusted=trusted)
    return MergePlan(
        "fast_forward" if forward else "merged",
        source,
        target,
        _new_schema(store, schema, source, target, forward=forward),
        {**dict(_same(source)), **schema.unified},
        pieces,
        frozenset(s.target.type.table_key for s in sides if s.target and _leaves(s)),
        wholes,
        conflicts,
    )


def _commit(store: GraphStore, commit: str) -> Commit:
    found = store.commit(commit)
    if found is None:
        raise Corruption(
            f"commit {commit} is missing", hint="Run `omnigraph verify` to see what is affected."
        )
    return found


def _leaves(sides: ThreeWayType) -> bool:
    """Whether the target's table no longer has its key after the merge."""
    assert sides.target is not None
    return sides.merged is None or sides.merged.table_key != sides.target.type.table_key


# --------------------------------------------------------------------------- schemas


def _merged_schema(
    store: GraphStore, base: Commit | Head, source: Head, target: Head
) -> MergedSchema:
    theirs, ours = (
        SchemaVersion(record.source, catalog)
        for record, catalog in (store.schema(source.schema), store.schema(target.schema))
    )
    same = [*_same(source), *_same(target)]
    return merge_schemas(store.catalog(base.schema), theirs, ours, same)


def _same(head: Head) -> Iterator[tuple[int, int]]:
    for identity, kept in head.properties.get(UNIFIED, {}).items():
        yield int(identity), kept


def _new_schema(
    store: GraphStore, schema: MergedSchema, source: Head, target: Head, *, forward: bool
) -> SchemaRecord | None:
    if forward:
        # The source's schema and text, but under identities that the target's past knows.
        record, catalog = store.schema(source.schema)
        if schema.source != catalog:
            record = schema_record(record.source, schema.source)
    else:
        record = schema_record(schema.merged.source, schema.merged.catalog)
    return None if record.hash == target.schema else record


def _disputed(sides: ThreeWayType, conflicts: Collection[SchemaConflict]) -> bool:
    """Whether the schemas disagree about a type, so that its rows cannot be compared."""
    disputed = {conflict.entity.partition(".")[0] for conflict in conflicts}
    named = {s.type.table_key for s in (sides.base, sides.source, sides.target) if s}
    return bool(disputed & named)
