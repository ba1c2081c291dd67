"""The collector: deletes files that no retained commit needs.

Safe without clocks (docs/design/decisions/0008-epochs-and-not-clocks.md):
(1) list candidates; (2) one change raises the epoch in
every head, so that every transaction pinned before it must start again; (3) find what the manifest
still reaches after it; (4) delete the candidates that are not reached. A file written after (1) is
no candidate; a file written before (2) by a transaction still open can no longer be
published, unless the transaction registered, in which case its tables are left alone.

Clocks only say what to retain: which commits are old, and which branches outlived their time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from omnigraph.common.durations import parse_duration
from omnigraph.common.progress import Progress
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.core.model import Commit, Head, now, to_micros
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.reachable_files import (
    Needed,
    manifest_files,
    needed_files,
    spared_locations,
    table_location,
    table_versions,
)
from omnigraph.storage.maintenance.retention import Retention, readable_commits
from omnigraph.storage.maintenance.store_clock import StoreClock
from omnigraph.storage.manifest.manifest import KEPT_VERSIONS, ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import (
    ALLOCATOR_ID,
    head_id,
    head_row,
    parse_registration,
)
from omnigraph.storage.manifest.tag_rows import read_tags
from omnigraph.storage.refs.branches import TTL_UNTIL
from omnigraph.storage.refs.merge_base import needed_bases

STALE_REGISTRATION = timedelta(days=1)
"""A bulk job that registered longer ago counts as abandoned; if it is not, it must start again."""
DELETED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Freed:
    """What a collection frees of one table."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CollectReport:
    """What a collection did, or would do."""

    dry_run: bool
    files: int
    bytes: int
    kept_commits: int
    spared_transactions: int
    tables: Mapping[str, Freed] = field(default_factory=dict)
    """By table key, and `__manifest`; tables of which nothing is freed are not in it."""
    given_up: tuple[Commit, ...] = ()
    """Commits that could be read before and cannot any more, newest first."""
    expired_branches: tuple[str, ...] = ()
    """Branches whose time to live was over."""

    def to_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "files": self.files,
            "bytes": self.bytes,
            "kept_commits": self.kept_commits,
            "spared_transactions": self.spared_transactions,
            "tables": {key: asdict(freed) for key, freed in self.tables.items()},
            "given_up": [commit.id for commit in self.given_up],
            "expired_branches": list(self.expired_branches),
        }


@dataclass(frozen=True, slots=True)
class _State:
    """The heads and all commits of a view, before and after the retention is applied."""

    view: ManifestView
    before: list[Head]
    after: list[Head]
    commits: Mapping[str, Commit]

    @property
    def expired(self) -> list[str]:
        staying = {head.branch for head in self.after}
        return [head.branch for head in self.before if head.branch not in staying]


def collect(
    store: GraphStore,
    *,
    keep: int | None = None,
    keep_for: str | timedelta | None = None,
    dry_run: bool = False,
    stale_after: timedelta = STALE_REGISTRATION,
    on_progress: Progress | None = None,
) -> CollectReport:
    """Delete what no branch and no tag needs.

    On each branch the newest `keep` commits stay readable, and every state it had within
    `keep_for`; all of its past when neither is given. The commits at which two branches parted
    are retained for merging them, even where they cannot be read any more.
    """
    retention = Retention(keep, None if keep_for is None else parse_duration(keep_for))
    store.ready_to_write()
    candidates = [
        file for folder in TABLE_FOLDERS.values() for file in store.raw.list(folder)
    ] + list(store.raw.list(MANIFEST))
    clock = StoreClock(candidates, now() if dry_run else min(now(), store.raw.now()))
    if dry_run:
        state = _apply_retention(store, store.publisher.refresh(), retention, clock)
        view, heads, commits = state.view, state.after, state.commits
    else:
        state, view = _raise_epoch(store, retention, clock, stale_after)
        heads, commits = store.heads(view), store.all_commits(view)
    readable = list(readable_commits(heads, read_tags(view), commits))
    of_branches = table_versions([*heads, *readable])
    of_bases = table_versions(needed_bases(heads, commits))
    needed = Needed(
        needed_files(store, of_branches, of_bases, on_progress),
        {version.location for version in of_branches | of_bases},
        spared_locations(view),
        manifest_files(view),
        view.version - KEPT_VERSIONS,
    )
    garbage = [file for file in candidates if not needed.holds(file.path)]
    if not dry_run:
        _delete(store, garbage, on_progress)
        tables = {table_location(file.path) for file in garbage}
        store.raw.delete_empty_folders(tables - needed.locations - needed.spared - {MANIFEST})
    readable_ids = {commit.id for commit in readable}
    were_readable = readable_commits(state.before, read_tags(state.view), state.commits)
    reclaimed = {c.id: c for c in were_readable if c.id not in readable_ids}
    return CollectReport(
        dry_run=dry_run,
        files=len(garbage),
        bytes=sum(file.size for file in garbage),
        kept_commits=len(readable_ids),
        spared_transactions=len(view.rows("transaction")),
        tables=_by_table(garbage, _table_names(state.view, heads)),
        given_up=tuple(sorted(reclaimed.values(), key=lambda c: (c.time, c.id), reverse=True)),
        expired_branches=tuple(state.expired),
    )


def _apply_retention(
    store: GraphStore, view: ManifestView, retention: Retention, clock: StoreClock
) -> _State:
    """The heads of a view after it: some are deleted, others reclaim some of their past."""
    commits = store.all_commits(view)
    heads = store.heads(view)
    at = to_micros(clock.at)
    staying = [h for h in heads if h.protected or h.properties.get(TTL_UNTIL, at) >= at]
    dated = clock.dated(commits)
    after = [retention.applied(head, dated, clock.at) for head in staying]
    return _State(view, heads, after, commits)


def _raise_epoch(
    store: GraphStore, retention: Retention, clock: StoreClock, stale_after: timedelta
) -> tuple[_State, ManifestView]:
    """The change after which no transaction pinned before it can publish, and the state before.

    It is built on every view and lands itself: an epoch that somebody else raised may be older than
    the listing. When the store does not say whether it landed, the epoch is raised once more.
    """
    before: list[_State] = []

    def build(view: ManifestView) -> ManifestChange:
        state = _apply_retention(store, view, retention, clock)
        before.append(state)
        epoch = max(head.epoch for head in state.before) + 1
        horizon = clock.at - stale_after
        stale = [
            row["object_id"]
            for row in view.rows("transaction")
            if parse_registration(row).time < horizon
        ]
        return ManifestChange(
            replace=[
                *(head_row(replace(head, epoch=epoch)) for head in state.after),
                view.named[ALLOCATOR_ID].row,
            ],
            remove=[*stale, *map(head_id, state.expired), *_rows_of_dropped_tables(state)],
            remove_addresses=[
                address for name in state.expired for address in store.manifest.own_rows(view, name)
            ],
        )

    store.publisher.refresh()
    view = store.publisher.change_names(build)
    return before[0], view


def _rows_of_dropped_tables(state: _State) -> list[str]:
    """The rows that say where tables are of which no version is retained."""
    heads, commits = state.after, state.commits
    readable = readable_commits(heads, read_tags(state.view), commits)
    retained = table_versions(heads) | table_versions(readable)
    retained |= table_versions(needed_bases(heads, commits))
    used = {version.location for version in retained} | spared_locations(state.view)
    return [row["object_id"] for row in state.view.rows("table") if row["location"] not in used]


def _delete(store: GraphStore, garbage: Sequence[StoredFile], on_progress: Progress | None) -> None:
    for start in range(0, len(garbage), DELETED_AT_ONCE):
        if on_progress:
            on_progress(start, len(garbage))
        store.raw.delete(file.path for file in garbage[start : start + DELETED_AT_ONCE])


def _table_names(view: ManifestView, heads: Iterable[Head]) -> dict[str, str]:
    """What the table at each location is called: by its branches today, else as it was made."""
    made = {row["location"]: row["table_key"] for row in view.rows("table")}
    today = {p.location: key for head in heads for key, p in head.tables.items()}
    return made | today | {MANIFEST: MANIFEST}


def _by_table(garbage: Iterable[StoredFile], names: Mapping[str, str]) -> dict[str, Freed]:
    freed: dict[str, Freed] = {}
    for file in garbage:
        location = table_location(file.path)
        name = names.get(location, location)
        so_far = freed.get(name, Freed(0, 0))
        freed[name] = Freed(so_far.files + 1, so_far.bytes + file.size)
    return dict(sorted(freed.items()))
