"""Merge one branch into another: one commit, or nothing.

The rules are docs/design/branching.md#7-merge.

`decide_merge` plans on the heads it is given and writes nothing. The plan is then staged and
published on exactly those heads; when the target moved meanwhile, the merge is planned again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from omnigraph.branching.merge.conflicts import MergeConflictDetail, next_step
from omnigraph.branching.merge.merge_rows import ConflictPolicy
from omnigraph.branching.merge.merged_constraints import TableMergePlan
from omnigraph.branching.merge.plan_merge import MergePlan, Outcome, decide_merge, find_base
from omnigraph.branching.merge.stage_merge import MergeStaging
from omnigraph.errors import InvalidInput, MergeConflict, StorageError
from omnigraph.storage.commit.publish_plan import (
    PublishPlan,
    recreated,
    require_new,
    require_unprotected,
)
from omnigraph.storage.commit.retry import Attempt, collected_reads, publish_with_retry
from omnigraph.storage.core.failpoints import AFTER_VALIDATION, BEFORE_STAGE, failpoint
from omnigraph.storage.core.model import MAIN, Commit, Head
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.branches import delete_branch, is_hidden
from omnigraph.storage.refs.moments import resolve


@dataclass(frozen=True)
class MergeRequest:
    """What a caller asks for."""

    source: str
    into: str
    policy: ConflictPolicy
    delete_source: bool = False
    actor: str | None = None
    message: str | None = None
    once: tuple[str, int] | None = None
    """A stream and the number of its batch, which lands at most once, and leaves a commit."""
    target_incarnation: str | None = None
    """The target must be the branch of its name that has this one."""


@dataclass(frozen=True, slots=True)
class TableMerge:
    """What a merge does to one table of the target.

    A plan counts entities. A merge counts them where it knows them; where that would take reading
    much of the table, it says how many rows were written and how many deleted.
    """

    way: str
    """`taken` over as a whole, `merged` row by row, or `dropped`."""
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    rows_in: int | None = None
    rows_out: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class MergeResult:
    """What a merge did, or for a plan what it would do."""

    outcome: Outcome
    source: str
    target: str
    commit: Commit | None = None
    """The merge commit; none when there was nothing to do, and for a plan."""
    tables: Mapping[str, TableMerge] = field(default_factory=dict)
    """What changes in the target, by table key."""
    conflicts: tuple[MergeConflictDetail, ...] = ()
    """Only a plan has conflicts; a merge that meets them raises `MergeConflict`."""
    conflict_counts: Mapping[str, int] = field(default_factory=dict)
    branch_deleted: bool = False
    branch_delete_error: str | None = None

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {
            "commit": self.commit.to_json() if self.commit else None,
            "tables": {key: table.to_json() for key, table in self.tables.items()},
            "conflicts": [conflict.to_json() for conflict in self.conflicts],
            "conflict_counts": dict(self.conflict_counts),
        }


def plan_merge(store: GraphStore, request: MergeRequest) -> MergeResult:
    """What a merge would do, and every conflict it would meet; writes nothing."""
    source, target = _heads(store, request)
    base = find_base(store, source, target)
    if base == source.commit:
        return MergeResult("already_up_to_date", request.source, request.into)
    with _reading(store, base):
        plan = decide_merge(store, base, source, target, request.policy, compared=True)
        tables = dict(_tables(plan, counted=not plan.conflicts))
    return MergeResult(
        plan.outcome,
        request.source,
        request.into,
        tables=tables,
        conflicts=tuple(plan.conflicts.shown),
        conflict_counts=dict(plan.conflicts.counts),
    )


def merge(store: GraphStore, request: MergeRequest) -> MergeResult:
    """Merge, and publish one commit on the target; the source is not changed, or deleted."""
    store.ready_to_write()
    return publish_with_retry(store.publisher, request.into, partial(_attempt, store, request))


def _attempt(store: GraphStore, request: MergeRequest, attempt: Attempt) -> MergeResult:
    _require_two(request)
    target, source = attempt.head(), attempt.head_of(request.source)
    if request.target_incarnation not in (None, target.incarnation):
        raise recreated(target.branch)
    if is_hidden(source.branch):
        require_unprotected(target)
    error = _delete_error(source) if request.delete_source else None
    deletes = source if request.delete_source and error is None else None
    require_new(target, request.once)
    base = find_base(store, source, target)
    nothing_new = base == source.commit
    unchanged = MergeResult(
        "already_up_to_date",
        request.source,
        request.into,
        branch_deleted=deletes is not None,
        branch_delete_error=error,
    )
    if nothing_new and request.once is None:
        if deletes is not None:
            delete_branch(store, source.branch, only=source)
        return unchanged
    with _reading(store, base, target):
        merge_plan = decide_merge(store, base, source, target, request.policy)
        if merge_plan.conflicts:
            raise _refusal(request, merge_plan)
        failpoint(BEFORE_STAGE)
        staging = MergeStaging(store, attempt.commit, target, source, request.actor)
        try:
            pointers = staging.pointers(merge_plan.table_merges.values())
            failpoint(AFTER_VALIDATION)
            plan = PublishPlan(
                commit=attempt.commit,
                base=target,
                tables={
                    **dict.fromkeys(merge_plan.dropped_keys),
                    **pointers,
                    **merge_plan.opaque.tables,
                },
                actor=request.actor,
                message=request.message or f"merge {request.source}",
                merged=None if nothing_new else source.commit,
                direct=is_hidden(source.branch),  # the work of one write, not a branch of users
                schema=merge_plan.schema,
                definitions={
                    key: store.definition(key, text) if text else None
                    for key, text in merge_plan.opaque.definitions.items()
                },
                unified=merge_plan.unified,
                only_on_base=True,
                sources=(source,),
                deletes=deletes,
                registration=staging.registration,
                once=request.once,
            )
            published = attempt.publish(plan)
        finally:
            staging.close()
    tables = dict(_tables(merge_plan, counted=False))
    return replace(unchanged, outcome=merge_plan.outcome, commit=published, tables=tables)


def _heads(store: GraphStore, request: MergeRequest) -> tuple[Head, Head]:
    """Source and target as one view of the graph shows them."""
    _require_two(request)
    target = store.head(request.into)
    return store.head(request.source, fresh=False), target


def _require_two(request: MergeRequest) -> None:
    if request.source == request.into:
        raise InvalidInput(
            f"{request.source} cannot be merged into itself", hint="Name two different branches."
        )


@contextmanager
def _reading(store: GraphStore, base: str, target: Head | None = None) -> Iterator[None]:
    """Tell damage from data that a collection reclaimed, before or while it was read."""
    try:
        with collected_reads(store.publisher, target) if target else nullcontext():
            yield
    except StorageError as error:
        if error.code in ("corruption", "storage"):
            resolve(store, base)
        raise


def _delete_error(source: Head) -> str | None:
    """Why the source may not be deleted."""
    if source.branch == MAIN:
        return "main cannot be deleted"
    return f"{source.branch} is protected" if source.protected else None


def _refusal(request: MergeRequest, plan: MergePlan) -> MergeConflict:
    source, target, counts = request.source, request.into, plan.conflicts.counts
    hint = next_step(counts, source, target)
    return MergeConflict(source, target, plan.conflicts.to_json(), counts, hint)


def _tables(plan: MergePlan, *, counted: bool) -> Iterator[tuple[str, TableMerge]]:
    """What happens to each table that does not stay as the target has it."""
    for key in sorted(plan.dropped_keys - plan.table_merges.keys()):
        yield key, TableMerge("dropped")
    for key, table_merge in plan.table_merges.items():
        if table_merge.changeset is not None or (table_merge.strategy == "take_source" and counted):
            yield key, _counted(table_merge)
        elif table_merge.strategy == "take_source":
            yield key, TableMerge("taken")
    for key, pointer in sorted(plan.opaque.tables.items()):
        yield key, TableMerge("taken" if pointer else "dropped")


def _counted(table_merge: TableMergePlan) -> TableMerge:
    way = "taken" if table_merge.changeset is None else "merged"
    changeset = table_merge.full_changeset
    counts = changeset.counts()
    if counts is None:
        return TableMerge(way, rows_in=changeset.buffer.rows, rows_out=changeset.rows_deleted)
    return TableMerge(way, *counts)
