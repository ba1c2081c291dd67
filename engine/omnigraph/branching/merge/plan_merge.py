"""The plan of a merge of two heads: its outcome, what changes, and every conflict.

Reads what the branches changed since their merge base and writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from omnigraph.branching.merge.conflicts import Conflicts, declaration_conflict
from omnigraph.branching.merge.drop_conflicts import drop_conflicts
from omnigraph.branching.merge.merge_rows import ConflictPolicy, merge_rows
from omnigraph.branching.merge.merged_constraints import TableMergePlan, check_integrity
from omnigraph.branching.merge.opaque_objects import OpaqueChanges, merge_opaque_objects
from omnigraph.branching.merge.three_way import ThreeWayType, three_way_types
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
    """Identities that are known to be one declaration, from now on also on the target."""
    table_merges: Mapping[str, TableMergePlan]
    """What becomes of each type's table, by its key after the merge."""
    dropped_keys: frozenset[str]
    """Keys under which the target has a table and will have none, or another one."""
    opaque: OpaqueChanges
    conflicts: Conflicts


def find_base(store: GraphStore, source: Head, target: Head) -> str:
    """The merge base of two heads."""
    if source.commit == target.commit:
        return source.commit
    parents = store.manifest.parents(store.publisher.view)
    return merge_base(parents, source.commit, target.commit, lambda c: _commit(store, c).version)


def decide_merge(
    store: GraphStore,
    base: str,
    source: Head,
    target: Head,
    policy: ConflictPolicy,
    *,
    compared: bool = False,
) -> MergePlan:
    """Decide a merge of two heads with a merge base; a fast-forward to a valid source reads no row.

    With `compared`, the plan says exactly which entities change, at the cost of reading them.
    """
    fast_forward = base == target.commit
    ancestor = target if fast_forward else _commit(store, base)
    schema = _merged_schema(store, ancestor, source, target)
    conflicts = Conflicts()
    for conflict in schema.conflicts:
        conflicts.add(declaration_conflict(conflict))
    target_side = (store.catalog(target.schema), target.tables)
    types = list(three_way_types(schema, ancestor.tables, source.tables, target_side))
    table_merges = {
        each.merged.table_key: TableMergePlan(store.tables, each, each.merged, each.strategy)
        for each in types
        if each.merged is not None and not _in_conflict(each, schema.conflicts)
    }
    if not fast_forward and not schema.conflicts:
        for conflict in drop_conflicts(store.tables, types):
            conflicts.add(declaration_conflict(conflict))
    opaque = merge_opaque_objects(
        (ancestor.tables, ancestor.definitions),
        (source.tables, source.definitions),
        (target.tables, target.definitions),
        policy.on_conflict,
    )
    for opaque_conflict in opaque.conflicts:
        conflicts.add(opaque_conflict)
    for table_merge in table_merges.values():
        if table_merge.strategy == "merge_rows":
            table_merge.changeset = merge_rows(
                store.tables, table_merge.three_way, policy, conflicts, compared=compared
            )
    trusted = not source.properties.get(DEFERRED_CHECKS)
    if not conflicts and not (fast_forward and trusted):
        check_integrity(schema.merged.catalog, table_merges, conflicts, trusted=trusted)
    return MergePlan(
        "fast_forward" if fast_forward else "merged",
        source,
        target,
        _new_schema(store, schema, source, target, fast_forward=fast_forward),
        {**dict(_unified(source)), **schema.unified},
        table_merges,
        frozenset(_dropped_keys(types)),
        opaque,
        conflicts,
    )


def _commit(store: GraphStore, commit: str) -> Commit:
    found = store.commit(commit)
    if found is None:
        raise Corruption(
            f"commit {commit} is missing", hint="Run `omnigraph verify` to see what is affected."
        )
    return found


def _dropped_keys(types: Iterable[ThreeWayType]) -> Iterator[str]:
    """Keys of the target's tables that they no longer have after the merge."""
    for each in types:
        key = each.target.type.table_key if each.target else None
        if key is not None and (each.merged is None or each.merged.table_key != key):
            yield key


# --------------------------------------------------------------------------- schemas


def _merged_schema(
    store: GraphStore, base: Commit | Head, source: Head, target: Head
) -> MergedSchema:
    theirs, ours = (
        SchemaVersion(record.source, catalog)
        for record, catalog in (store.schema(source.schema), store.schema(target.schema))
    )
    unified = [*_unified(source), *_unified(target)]
    return merge_schemas(store.catalog(base.schema), theirs, ours, unified)


def _unified(head: Head) -> Iterator[tuple[int, int]]:
    """Pairs of identities that earlier merges found to be one declaration."""
    for identity, representative in head.properties.get(UNIFIED, {}).items():
        yield int(identity), representative


def _new_schema(
    store: GraphStore, schema: MergedSchema, source: Head, target: Head, *, fast_forward: bool
) -> SchemaRecord | None:
    if fast_forward:
        # The source's schema and text, but under identities that the target's past knows.
        record, catalog = store.schema(source.schema)
        if schema.source != catalog:
            record = schema_record(record.source, schema.source)
    else:
        record = schema_record(schema.merged.source, schema.merged.catalog)
    return None if record.hash == target.schema else record


def _in_conflict(three_way: ThreeWayType, conflicts: Collection[SchemaConflict]) -> bool:
    """Whether the schemas conflict about a type, so that its rows cannot be compared."""
    sides = (three_way.base, three_way.source, three_way.target)
    keys = {side.type.table_key for side in sides if side}
    return not keys.isdisjoint(conflict.entity.partition(".")[0] for conflict in conflicts)
