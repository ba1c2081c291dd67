"""Fixes taken back, one at a time: what storage did before, patched in.

Each names the world in which the simulation must notice.
"""
# ruff: noqa: ANN401  (what is patched in takes whatever the original takes)

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import lance

from omnigraph.storage.commit import publisher, validate_plan
from omnigraph.storage.commit.retry import ReadSet
from omnigraph.storage.core.layout import version_of
from omnigraph.storage.core.model import Head, now
from omnigraph.storage.maintenance import collect, optimize, reachable_files
from omnigraph.storage.manifest import manifest
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, head_row, parse_registration
from omnigraph.storage.plain.plain_writes import PlainWrites
from omnigraph.storage.refs import moments, names, snapshot
from omnigraph.storage.refs.snapshot import Snapshot
from omnigraph.storage.transaction.staged_work import StagedWork
from omnigraph.storage.transaction.write_transaction import WriteTxn

Reverted = Callable[[], AbstractContextManager[Any]]


def an_epoch_of_another_collector_counts() -> AbstractContextManager[Any]:
    """A collector took an epoch for its own that another raised before its listing."""

    def raise_epoch(store: Any, kept: Any, clock: Any, stale_after: timedelta) -> Any:
        raised: list[tuple[int, Any]] = []

        def build(view: Any) -> Any:
            heads = store.heads(view)
            if raised and all(head.epoch >= raised[-1][0] for head in heads):
                return None
            epoch = max(head.epoch for head in heads) + 1
            state = collect._apply_retention(store, view, kept, clock)
            raised.append((epoch, state))
            stale = [
                row["object_id"]
                for row in view.rows("transaction")
                if parse_registration(row).time < now() - stale_after
            ]
            heads_after = [head_row(replace(head, epoch=epoch)) for head in state.after]
            return manifest.ManifestChange(
                replace=[*heads_after, view.named[ALLOCATOR_ID].row], remove=stale
            )

        view = store.publisher.change_names(build)
        return raised[-1][1], view

    return mock.patch.object(collect, "_raise_epoch", raise_epoch)


def optimize_keeps_what_a_collection_took() -> AbstractContextManager[Any]:
    """Tables that optimize staged before a collection were published after it."""

    def keep_unmoved(self: Any, head: Head) -> None:
        self.done = {k: done for k, done in self.done.items() if head.tables.get(k) == done.base}

    return mock.patch.object(optimize._Staged, "keep_valid", keep_unmoved)


def a_retry_keeps_what_a_collection_took() -> AbstractContextManager[Any]:
    """Rows that a write staged before a collection were published after it."""
    original = StagedWork.rebased

    def rebased(self: StagedWork, head: Head, is_kept: Any) -> StagedWork:
        return original(self, head, lambda location: True)

    return mock.patch.object(StagedWork, "rebased", rebased)


def a_schema_may_change_under_a_write() -> AbstractContextManager[Any]:
    """Rows that were staged under one schema were published under another."""
    original = validate_plan._require_unmoved

    def unmoved(plan: Any, *args: Any) -> None:
        original(replace(plan, relies_on_schema=False), *args)

    return mock.patch.object(validate_plan, "_require_unmoved", unmoved)


def a_late_init_adds_a_version() -> AbstractContextManager[Any]:
    """The first version went over a graph that was made since somebody looked for one."""

    def create(self: Any, table: Any) -> None:
        lance.write_dataset(table, self.uri, mode="overwrite", enable_v2_manifest_paths=True)

    return mock.patch.object(manifest.Manifest, "_create_on_disk", create)


def a_commit_is_made_when_its_writer_says() -> AbstractContextManager[Any]:
    """The time of a commit was that of the clock of its writer."""
    return mock.patch.object(validate_plan, "_not_before", lambda plan, head: plan.time)


def reads_through_the_snapshot_are_not_checked() -> AbstractContextManager[Any]:
    """What a transaction read through its snapshot was not in its read set."""
    return mock.patch.object(
        WriteTxn, "snapshot", lambda self: Snapshot(self._store, moments.present(self.pin))
    )


@contextmanager
def a_branch_is_its_name() -> Iterator[None]:
    """A write went on to a branch that was deleted and created again."""
    original, unmoved = validate_plan.validate_plan, ReadSet.require_unmoved

    def validate(plan: Any, head: Head | None, *args: Any) -> Any:
        return original(_as(plan, head), head, *args)

    def require_unmoved(self: ReadSet, head: Head) -> None:
        unmoved(replace(self, head=replace(self.head, incarnation=head.incarnation)), head)

    def _as(plan: Any, head: Head | None) -> Any:
        if head is None:
            return plan
        return replace(plan, base=replace(plan.base, incarnation=head.incarnation))

    with (
        mock.patch.object(publisher, "validate_plan", validate),
        mock.patch.object(ReadSet, "require_unmoved", require_unmoved),
    ):
        yield


def a_clone_is_of_any_moment() -> AbstractContextManager[Any]:
    """A plain table was cloned from a moment that a collection had given up since."""
    original = PlainWrites.clone

    def clone(self: PlainWrites, source: Any, name: str) -> None:
        source.epoch = self._pin.epoch
        original(self, source, name)

    return mock.patch.object(PlainWrites, "clone", clone)


def a_name_is_what_it_names() -> AbstractContextManager[Any]:
    """A branch that was created again was deleted by whoever had deleted the one before."""
    return mock.patch.object(names, "_lifetime", lambda kind, row: "")


def first_versions_stay() -> AbstractContextManager[Any]:
    """Tables that were dropped never left the store."""
    original = reachable_files.Needed.holds

    def holds(self: Any, path: str) -> bool:
        return version_of(path) is not None or original(self, path)

    return mock.patch.object(reachable_files.Needed, "holds", holds)


def a_missing_file_is_a_missing_file() -> AbstractContextManager[Any]:
    """A reader that was paused over a collection was told of damage."""
    return mock.patch.object(snapshot, "reclaimed_since", lambda store, moment: False)


REVERTED: dict[str, tuple[Reverted, str]] = {
    "1.1": (an_epoch_of_another_collector_counts, "collect-beside-a-collector"),
    "1.2": (optimize_keeps_what_a_collection_took, "optimize-collect-write"),
    "1.2 writes": (a_retry_keeps_what_a_collection_took, "registered-collect"),
    "1.3": (a_schema_may_change_under_a_write, "write-unique"),
    "1.4": (a_late_init_adds_a_version, "init-init-write"),
    "1.6": (a_commit_is_made_when_its_writer_says, "clocks"),
    "1.7": (reads_through_the_snapshot_are_not_checked, "increments"),
    "1.8 clones": (a_clone_is_of_any_moment, "clone-collect"),
    "1.8 writers": (a_branch_is_its_name, "recreate-write"),
    "1.8 names": (a_name_is_what_it_names, "delete-create-branch"),
    "1.8 dropped tables": (first_versions_stay, "drop-create-collect"),
    "1.11 readers": (a_missing_file_is_a_missing_file, "read-collect"),
}
"""By the kind of mistake: the fix that is taken back, and the world in which that shows."""
