"""Branches: create, protect, delete. A branch is a pointer map; none of this touches data."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from omnigraph.common.durations import parse_duration
from omnigraph.common.ulid import new_ulid
from omnigraph.errors import BranchProtected, InvalidInput
from omnigraph.storage.commit.publish_plan import UNIFIED, HeadMoved, existing_head, read_head
from omnigraph.storage.core.model import MAIN, PROTECTED, Head, now, to_micros
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import ManifestRow, head_id, head_row, parse_head
from omnigraph.storage.refs.moments import (
    DEFERRED_CHECKS,
    KEPT_FROM,
    PURGED,
    Moment,
    branch_name,
    retaining_branch,
)
from omnigraph.storage.refs.names import create_name, delete_name

HIDDEN = "__"
"""So begin the names of branches that users neither make nor see: those of SQL transactions."""
INHERITED = (KEPT_FROM, PURGED, UNIFIED)
"""Head properties that say something of the shared history; a fork has the same history."""
OWNER, TTL_UNTIL = "owner", "ttl_until"
"""Who a branch is for, and the microsecond from which a collection may take it away."""


def is_hidden(branch: str) -> bool:
    """Whether a branch belongs to the machinery and not to users."""
    return branch.startswith(HIDDEN)


def create_branch(
    store: GraphStore,
    name: str,
    from_: str = MAIN,
    *,
    deferred_checks: bool = False,
    ttl: str | timedelta | None = None,
    owner: str | None = None,
) -> Head:
    """A new branch at a moment of another one; one manifest write, however many tables.

    With `deferred_checks`, endpoints, references and cardinality are left to the merge of the
    branch, so that nodes and edges can be replaced in any order. With a time to live, collections
    remove the branch once it is over.
    """
    name = branch_name(name)
    own: dict[str, Any] = {} if owner is None else {OWNER: owner}
    if deferred_checks:
        own[DEFERRED_CHECKS] = True
    if ttl is not None:
        # A creator whose clock is slow must not make a branch whose time is over. What a hidden one
        # has is not acknowledged yet, and asking the store would cost every transaction of SQL.
        made = now() if is_hidden(name) else max(now(), store.raw.now())
        own[TTL_UNTIL] = to_micros(made + parse_duration(ttl))

    def build_row(view: ManifestView, source: Moment) -> ManifestRow:
        origin = read_head(view, source.branch)
        head = Head(
            branch=name,
            commit=source.commit,
            version=source.version,
            schema=source.schema,
            epoch=max(head.epoch for head in store.heads(view)),
            incarnation=new_ulid(),
            fork=source.commit,
            tables=source.tables,
            definitions=source.definitions,
            retired=origin.retired if origin and origin.commit == source.commit else {},
            properties=_inherited(store, source, origin) | own,
            time=source.time,
        )
        return head_row(head)

    return parse_head(create_name(store, "branch", name, from_, build_row))


def _inherited(store: GraphStore, source: Moment, origin: Head | None) -> dict[str, Any]:
    """What a new branch has from where it starts: what of its history cannot be read any more,
    and whether it has been checked. A tag may have outlived all that led to it."""
    # A fork of a branch that was not checked has not been checked either.
    unchecked = {DEFERRED_CHECKS: True} if origin and origin.properties.get(DEFERRED_CHECKS) else {}
    if source.tag is not None:
        commit = store.commit(source.commit)
        origin = retaining_branch(store, commit) if commit else None
        purged = origin.properties.get(PURGED, {}) if origin else {}
        if origin is None or any(
            source.version < purged.get(str(p.identity), 0) for p in source.tables.values()
        ):
            return unchecked | {KEPT_FROM: source.version}
    known = origin.properties if origin else {}
    return unchecked | {key: known[key] for key in INHERITED if key in known}


def set_protected(store: GraphStore, name: str, protected: bool) -> Head:
    """Let a branch be moved by merges only, or by anybody again; no commit."""
    name = branch_name(name)
    store.ready_to_write()

    def build(view: ManifestView) -> ManifestChange | None:
        head = existing_head(view, name)
        if head.protected == protected:
            return None
        properties = {k: v for k, v in head.properties.items() if k != PROTECTED}
        if protected:
            properties[PROTECTED] = True
        return ManifestChange(replace=[head_row(replace(head, properties=properties))])

    store.publisher.refresh()
    return existing_head(store.publisher.change_names(build), name)


def delete_branch(store: GraphStore, name: str, *, only: Head | None = None) -> None:
    """Remove a branch; others that were forked from it hold their own pointers.

    With `only`, it must still be exactly that; raises `HeadMoved` otherwise.
    """
    name = branch_name(name)
    if name == MAIN:
        raise InvalidInput("main cannot be deleted", hint="Delete other branches only.")

    def version_rows(view: ManifestView) -> list[int]:
        head = existing_head(view, name)
        if head.protected:
            raise BranchProtected(name, "is not deleted")
        if only is not None and head != only:
            raise HeadMoved(head, head_id(name))
        return store.manifest.own_rows(view, name)

    delete_name(store, "branch", name, version_rows)
