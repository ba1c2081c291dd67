"""The collector: deletes files that no kept commit needs.

Safe without clocks (architecture §2.5): (1) list candidates; (2) one swap raises the epoch in
every head, so that every transaction pinned before it must start again; (3) find what the manifest
after that swap still reaches; (4) delete the candidates that are not reached. A file written after
(1) is no candidate; a file written before (2) by a transaction still open can no longer be
published, unless the transaction registered, in which case its tables are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from omnigraph.errors import InvalidInput
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.layout import MANIFEST, TABLE_FOLDERS
from omnigraph.storage.manifest import KEPT_VERSIONS, ManifestView, Swap, version_of
from omnigraph.storage.moments import KEPT_FROM, PURGED
from omnigraph.storage.reading import TableVersion
from omnigraph.storage.store import StoredFile
from omnigraph.storage.tables import Tables
from omnigraph.storage.values import (
    ALLOCATOR_ID,
    Commit,
    Head,
    head_row,
    now,
    parse_head,
    parse_registration,
)

STALE_REGISTRATION = timedelta(days=1)
"""A bulk job that registered longer ago is taken for dead; if it is not, it must start again."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CollectReport:
    """What a collection did, or would do."""

    dry_run: bool
    files: int
    bytes: int
    kept_commits: int
    spared_transactions: int

    def to_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "files": self.files,
            "bytes": self.bytes,
            "kept_commits": self.kept_commits,
            "spared_transactions": self.spared_transactions,
        }


def collect(
    store: GraphStore,
    *,
    keep: int | None = None,
    dry_run: bool = False,
    stale_after: timedelta = STALE_REGISTRATION,
    on_progress: Progress | None = None,
) -> CollectReport:
    """Delete what is not needed. `keep` commits stay readable per branch; all of them if none."""
    if keep is not None and keep < 1:
        raise InvalidInput("at least one commit per branch must be kept", hint="Use keep=1.")
    store.ready_to_write()
    candidates = [
        file for folder in TABLE_FOLDERS.values() for file in store.raw.list(folder)
    ] + list(store.raw.list(MANIFEST))
    view = store.publisher.refresh() if dry_run else _raise_epoch(store, keep, stale_after)
    heads = [parse_head(row) for row in view.rows("graph_head")]
    kept = _kept_commits(store, heads, keep)
    registered = [parse_registration(row) for row in view.rows("transaction")]
    spared = {location for row in registered for location in row.locations}
    needed = _needed(store.tables, _reachable(heads, kept), on_progress)
    needed_by_manifest = _manifest_files(view)
    oldest = view.version - KEPT_VERSIONS
    garbage = [
        file
        for file in candidates
        if not _is_needed(file, needed, spared, needed_by_manifest, oldest)
    ]
    if not dry_run:
        store.raw.delete(file.path for file in garbage)
    return CollectReport(
        dry_run=dry_run,
        files=len(garbage),
        bytes=sum(file.size for file in garbage),
        kept_commits=len({commit.id for commit in kept}),
        spared_transactions=len(registered),
    )


def _raise_epoch(store: GraphStore, keep: int | None, stale_after: timedelta) -> ManifestView:
    """The swap after which no transaction pinned before it can publish."""

    raised: list[int] = []

    def build(view: ManifestView) -> Swap | None:
        heads = [parse_head(row) for row in view.rows("graph_head")]
        if raised and all(head.epoch >= raised[-1] for head in heads):
            return None
        epoch = max(head.epoch for head in heads) + 1
        raised.append(epoch)
        horizon = now() - stale_after
        stale = [
            row["object_id"]
            for row in view.rows("transaction")
            if parse_registration(row).time < horizon
        ]
        return Swap(
            replace=[
                *(head_row(_collected(head, epoch, keep)) for head in heads),
                view.named[ALLOCATOR_ID].row,
            ],
            remove=stale,
        )

    return store.publisher.change_names(build)


def _collected(head: Head, epoch: int, keep: int | None) -> Head:
    properties = dict(head.properties)
    if keep is not None:
        properties[KEPT_FROM] = max(properties.get(KEPT_FROM, 0), head.version - keep + 1)
    return replace(head, epoch=epoch, properties=properties)


def _kept_commits(store: GraphStore, heads: Iterable[Head], keep: int | None) -> list[Commit]:
    """Commits that stay readable: on each branch the newest ones, back to what was kept before."""
    commits = store.all_commits()
    kept: dict[str, Commit] = {}
    for head in heads:
        current: str | None = head.commit
        floor = head.properties.get(KEPT_FROM, 0)
        if keep is not None:
            floor = max(floor, head.version - keep + 1)
        purged = head.properties.get(PURGED, {})
        while current is not None and current in commits:
            commit = commits[current]
            if commit.version < floor:
                break
            kept[f"{commit.id}@{head.branch}"] = replace(
                commit,
                tables={
                    key: pointer
                    for key, pointer in commit.tables.items()
                    if commit.version >= purged.get(str(pointer.identity), 0)
                },
            )
            current = commit.parent
    return list(kept.values())


def _reachable(heads: Iterable[Head], commits: Iterable[Commit]) -> set[TableVersion]:
    maps = [head.tables for head in heads] + [commit.tables for commit in commits]
    return {
        TableVersion(pointer.location, pointer.lance)
        for pointers in maps
        for pointer in pointers.values()
    }


def _needed(tables: Tables, versions: set[TableVersion], on_progress: Progress | None) -> set[str]:
    """Names of everything that some reachable version refers to, as prefixes of paths."""
    needed: set[str] = set()
    for done, version in enumerate(sorted(versions, key=lambda v: (v.location, v.lance)), 1):
        needed |= tables.files(version)
        if on_progress:
            on_progress(done, len(versions))
    return needed


def _manifest_files(view: ManifestView) -> set[str]:
    tracked = view.dataset.tracked_files().read_all()
    return {f"{MANIFEST}/{path}" for path in tracked.column("path").to_pylist()}


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
    location, inner = "/".join(file.path.split("/")[:2]), "/".join(file.path.split("/")[2:])
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
