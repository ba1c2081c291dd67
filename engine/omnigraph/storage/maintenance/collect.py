"""The collector: deletes files that no kept commit needs.

Safe without clocks (architecture §2.5): (1) list candidates; (2) one swap raises the epoch in
every head, so that every transaction pinned before it must start again; (3) find what the manifest
after that swap still reaches; (4) delete the candidates that are not reached. A file written after
(1) is no candidate; a file written before (2) by a transaction still open can no longer be
published, unless the transaction registered, in which case its tables are left alone.

Clocks say only what is wanted: which commits are old, and which branches outlived their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from omnigraph.common.durations import parse_duration
from omnigraph.errors import Corruption, StorageError
from omnigraph.storage.core.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.core.model import (
    ALLOCATOR_ID,
    Commit,
    Head,
    head_id,
    head_row,
    now,
    parse_commit,
    parse_registration,
    to_micros,
)
from omnigraph.storage.core.object_store import StoredFile
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.retention import Retention, readable_commits
from omnigraph.storage.manifest.manifest import KEPT_VERSIONS, ManifestView, Swap, version_of
from omnigraph.storage.manifest.tag_rows import read_tags
from omnigraph.storage.refs.branches import TTL_UNTIL
from omnigraph.storage.refs.merge_base import needed_bases

STALE_REGISTRATION = timedelta(days=1)
"""A bulk job that registered longer ago is taken for dead; if it is not, it must start again."""
DELETED_AT_ONCE = 1000
TRIMMED_MEANWHILE = 10
"""How often the versions of the manifest are listed again when one of them goes meanwhile."""

Progress = Callable[[int, int], None]


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
            "tables": {
                key: {"files": freed.files, "bytes": freed.bytes}
                for key, freed in self.tables.items()
            },
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
    are kept for merging them, even where they cannot be read any more.
    """
    retention = Retention(keep, None if keep_for is None else parse_duration(keep_for))
    store.ready_to_write()
    candidates = [
        file for folder in TABLE_FOLDERS.values() for file in store.raw.list(folder)
    ] + list(store.raw.list(MANIFEST))
    if dry_run:
        state = _judged(store, store.publisher.refresh(), retention)
        view, heads = state.view, state.after
    else:
        state, view = _raise_epoch(store, retention, stale_after)
        heads = store.heads(view)
    commits = state.commits if dry_run else _all_commits(store, view)
    kept = list(readable_commits(heads, read_tags(view), commits))
    registered = [parse_registration(row) for row in view.rows("transaction")]
    spared = {location for row in registered for location in row.locations}
    needed = _needed(
        store,
        _versions([*heads, *kept]),
        _versions(needed_bases(heads, commits)),
        on_progress,
    )
    needed_by_manifest = _manifest_files(view)
    oldest = view.version - KEPT_VERSIONS
    garbage = [
        file
        for file in candidates
        if not _is_needed(file, needed, spared, needed_by_manifest, oldest)
    ]
    if not dry_run:
        _delete(store, garbage, on_progress)
    kept_ids = {commit.id for commit in kept}
    were_readable = readable_commits(state.before, read_tags(state.view), state.commits)
    given_up = {c.id: c for c in were_readable if c.id not in kept_ids}
    return CollectReport(
        dry_run=dry_run,
        files=len(garbage),
        bytes=sum(file.size for file in garbage),
        kept_commits=len(kept_ids),
        spared_transactions=len(registered),
        tables=_by_table(garbage, _table_names(view, heads)),
        given_up=tuple(sorted(given_up.values(), key=lambda c: (c.time, c.id), reverse=True)),
        expired_branches=tuple(state.expired),
    )


def _judged(store: GraphStore, view: ManifestView, retention: Retention) -> _State:
    """What becomes of the heads of a view: some go, the others may give up some of their past."""
    at = now()
    commits = _all_commits(store, view)
    heads = store.heads(view)
    staying = [
        head
        for head in heads
        if head.protected or head.properties.get(TTL_UNTIL, to_micros(at)) >= to_micros(at)
    ]
    return _State(view, heads, [retention.applied(head, commits, at) for head in staying], commits)


def _all_commits(store: GraphStore, view: ManifestView) -> dict[str, Commit]:
    rows = store.manifest.history(view, "object_type = 'graph_commit'")
    return {commit.id: commit for commit in (parse_commit(row) for row, _ in rows)}


def _raise_epoch(
    store: GraphStore, retention: Retention, stale_after: timedelta
) -> tuple[_State, ManifestView]:
    """The swap after which no transaction pinned before it can publish."""
    raised: list[tuple[int, _State]] = []

    def build(view: ManifestView) -> Swap | None:
        heads = store.heads(view)
        if raised and all(head.epoch >= raised[-1][0] for head in heads):
            return None
        epoch = max(head.epoch for head in heads) + 1
        state = _judged(store, view, retention)
        raised.append((epoch, state))
        horizon = now() - stale_after
        stale = [
            row["object_id"]
            for row in view.rows("transaction")
            if parse_registration(row).time < horizon
        ]
        return Swap(
            replace=[
                *(head_row(replace(head, epoch=epoch)) for head in state.after),
                view.named[ALLOCATOR_ID].row,
            ],
            remove=[*stale, *map(head_id, state.expired)],
            remove_addresses=[
                address for name in state.expired for address in store.manifest.own_rows(view, name)
            ],
        )

    view = store.publisher.change_names(build)
    return raised[-1][1], view


def _versions(states: Iterable[Head | Commit]) -> set[TableVersion]:
    return {
        TableVersion(pointer.location, pointer.lance)
        for state in states
        for pointer in state.tables.values()
    }


def _needed(
    store: GraphStore,
    readable: set[TableVersion],
    bases: set[TableVersion],
    on_progress: Progress | None,
) -> set[str]:
    """Names of everything that some version refers to, as prefixes of paths."""

    def files(version: TableVersion) -> set[str]:
        try:
            return store.tables.files(version)
        except Corruption:
            if version in readable:
                raise
            return set()  # a base that was given up before bases were kept

    needed: set[str] = set()
    in_order = sorted(readable | bases, key=lambda v: (v.location, v.lance))
    for done, found in enumerate(store.workers.map(files, in_order), 1):
        needed |= found
        if on_progress:
            on_progress(done, len(in_order))
    return needed


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
        location = _location(file.path)
        name = names.get(location, location)
        so_far = freed.get(name, Freed(0, 0))
        freed[name] = Freed(so_far.files + 1, so_far.bytes + file.size)
    return dict(sorted(freed.items()))


def _location(path: str) -> str:
    """The table that a file belongs to."""
    folder, _, rest = path.partition("/")
    return folder if folder == MANIFEST else f"{folder}/{rest.partition('/')[0]}"


def _manifest_files(view: ManifestView) -> set[str]:
    """What the versions of the manifest that are still listed refer to."""
    last: Exception | None = None
    for _ in range(TRIMMED_MEANWHILE):
        try:
            tracked = view.dataset.tracked_files().read_all()
        except (OSError, pa.ArrowException) as error:
            # A busy writer trims old versions, also between their listing and their reading.
            last = error
            continue
        return {f"{MANIFEST}/{path}" for path in tracked.column("path").to_pylist()}
    raise StorageError(f"cannot read the versions of the manifest: {last}") from last


def _is_needed(
    file: StoredFile, needed: set[str], spared: set[str], by_manifest: set[str], oldest: int
) -> bool:
    folder, _, rest = file.path.partition("/")
    number = version_of(file.path)
    if folder == MANIFEST:
        if number is not None:
            return number >= oldest
        collected = rest.startswith(("data/", "_deletions/", "_transactions/"))
        return not collected or file.path in by_manifest
    location = _location(file.path)
    inner = file.path.removeprefix(f"{location}/")
    if location in spared or number is not None:
        return True
    if not inner.startswith(("data/", "_versions/d", "_deletions/", "_indices/", "_transactions/")):
        return True
    return f"{location}/{stem(inner)}" in needed


def stem(inner: str) -> str:
    """What identifies a file within a table: data files share a stem with their blobs."""
    parts = inner.split("/")
    if parts[0] == "data":
        return f"data/{parts[1].removesuffix('.lance')}"
    return "/".join(parts[:2])
