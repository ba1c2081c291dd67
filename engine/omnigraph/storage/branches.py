"""Branches: create, protect, delete. A branch is a pointer map; none of this touches data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from omnigraph.durations import parse_duration
from omnigraph.errors import (
    AlreadyExists,
    BranchProtected,
    InvalidInput,
    NotFound,
    did_you_mean,
)
from omnigraph.schema.keys import new_ulid
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest import ManifestView, Swap
from omnigraph.storage.moments import (
    KEPT_FROM,
    PURGED,
    Moment,
    branch_name,
    keeper,
    reclaimed,
    resolve,
)
from omnigraph.storage.plan import read_head
from omnigraph.storage.tag_rows import tag_id
from omnigraph.storage.values import (
    ALLOCATOR_ID,
    MAIN,
    PROTECTED,
    Head,
    head_id,
    head_row,
    now,
    to_micros,
)

INHERITED = (KEPT_FROM, PURGED)
"""Head properties that say what of the shared history is gone; a fork has the same history."""
OWNER, TTL_UNTIL = "owner", "ttl_until"
"""Who a branch is for, and the microsecond from which a collection may take it away."""
INTERNAL = "__"
"""How names of branches begin that programs make for themselves and listings leave out."""


def create_branch(
    store: GraphStore,
    name: str,
    from_: str = MAIN,
    *,
    ttl: str | timedelta | None = None,
    owner: str | None = None,
) -> Head:
    """A new branch at a moment of another one; one manifest write, however many tables.

    With a time to live, collections remove the branch once it is over.
    """
    name = branch_name(name)
    own: dict[str, Any] = {} if owner is None else {OWNER: owner}
    if ttl is not None:
        own[TTL_UNTIL] = to_micros(now() + parse_duration(ttl))
    store.ready_to_write()
    made: list[Head] = []

    def build(view: ManifestView) -> Swap | None:
        if head_id(name) in view.named:
            if made and view.row(head_id(name)) == head_row(made[-1]):
                return None
            raise AlreadyExists(
                f"there is a branch {name!r} already",
                hint="Choose another name, or delete the branch first.",
            )
        if tag_id(name) in view.named:
            raise AlreadyExists(
                f"there is a tag {name!r}, and a name means one thing",
                hint="Choose another name for the branch.",
            )
        source = resolve(store, from_)
        pointers = source.tables.values()
        if any(source.version < source.purged.get(str(p.identity), 0) for p in pointers):
            raise reclaimed(source.commit)
        origin = read_head(view, source.branch)
        made.append(
            Head(
                branch=name,
                commit=source.commit,
                version=source.version,
                schema=source.schema,
                epoch=max(head.epoch for head in store.heads(view)),
                incarnation=new_ulid(),
                fork=source.commit,
                tables=source.tables,
                queries=source.queries,
                retired=origin.retired if origin and origin.commit == source.commit else {},
                properties=_inherited(store, source, origin) | own,
            )
        )
        return Swap(replace=[view.named[ALLOCATOR_ID].row], add=[head_row(made[-1])])

    store.publisher.refresh()
    store.publisher.change_names(build)
    return made[-1]


def _inherited(store: GraphStore, source: Moment, origin: Head | None) -> dict[str, Any]:
    """What of its history a new branch cannot read. A tag may have outlived all that led to it."""
    if source.tag is not None:
        commit = store.commit(source.commit)
        origin = keeper(store, commit) if commit else None
        purged = origin.properties.get(PURGED, {}) if origin else {}
        if origin is None or any(
            source.version < purged.get(str(p.identity), 0) for p in source.tables.values()
        ):
            return {KEPT_FROM: source.version}
    return {k: origin.properties[k] for k in INHERITED if k in origin.properties} if origin else {}


def set_protected(store: GraphStore, name: str, protected: bool) -> Head:
    """Let a branch be moved by merges only, or by anybody again; no commit."""
    name = branch_name(name)
    store.ready_to_write()

    def build(view: ManifestView) -> Swap | None:
        head = _existing(store, view, name)
        if head.protected == protected:
            return None
        properties = {k: v for k, v in head.properties.items() if k != PROTECTED}
        if protected:
            properties[PROTECTED] = True
        return Swap(replace=[head_row(replace(head, properties=properties))])

    store.publisher.refresh()
    return _existing(store, store.publisher.change_names(build), name)


def delete_branch(store: GraphStore, name: str) -> None:
    """Remove a branch; others that were forked from it hold their own pointers."""
    name = branch_name(name)
    if name == MAIN:
        raise InvalidInput("main cannot be deleted", hint="Delete other branches only.")
    store.ready_to_write()
    started = False

    def build(view: ManifestView) -> Swap | None:
        nonlocal started
        if started and head_id(name) not in view.named:
            return None
        if _existing(store, view, name).protected:
            raise BranchProtected(name, "is not deleted")
        started = True
        return Swap(
            replace=[view.named[ALLOCATOR_ID].row],
            remove=[head_id(name)],
            remove_addresses=own_rows(store, view, [name]),
        )

    store.publisher.refresh()
    store.publisher.change_names(build)


def own_rows(store: GraphStore, view: ManifestView, names: Iterable[str]) -> list[int]:
    """Where the version rows of branches are, which go with them: later branches of the same
    names start numbering again."""
    quoted = ", ".join(f"'{name}'" for name in names)
    if not quoted:
        return []
    kinds = "object_type IN ('table_version', 'table_tombstone')"
    found = store.manifest.history(view, f"table_branch IN ({quoted}) AND {kinds}")
    return [address for _, address in found]


def _existing(store: GraphStore, view: ManifestView, name: str) -> Head:
    head = read_head(view, name)
    if head is None:
        known = [each.branch for each in store.heads(view)]
        raise NotFound(
            f"there is no branch {name!r}{did_you_mean(name, known)}",
            hint="List branches with `omnigraph branch list`.",
        )
    return head
