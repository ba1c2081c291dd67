"""Branches: create, list, delete. A branch is a pointer map; none of this touches data."""

from __future__ import annotations

from typing import Any

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound, did_you_mean
from omnigraph.schema.keys import new_ulid
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest import ManifestView, Swap
from omnigraph.storage.moments import (
    DEFERRED_CHECKS,
    KEPT_FROM,
    PURGED,
    branch_name,
    reclaimed,
    resolve,
)
from omnigraph.storage.plan import HeadMoved, read_head
from omnigraph.storage.values import ALLOCATOR_ID, MAIN, Head, Row, head_id, head_row

HIDDEN = "__"
"""So begin the names of branches that users neither make nor see: those of SQL transactions."""
INHERITED = (KEPT_FROM, PURGED)
"""Head properties that say what of the shared history is gone; a fork has the same history."""


def is_hidden(branch: str) -> bool:
    """Whether a branch belongs to the machinery and not to users."""
    return branch.startswith(HIDDEN)


def create_branch(
    store: GraphStore, name: str, from_: str = MAIN, *, deferred_checks: bool = False
) -> Head:
    """A new branch at a moment of another one; one manifest write, however many tables.

    With `deferred_checks`, endpoints, references and cardinality are left to the merge of the
    branch, so that nodes and edges can be replaced in any order.
    """
    name = branch_name(name)
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
        source = resolve(store, from_)
        pointers = source.tables.values()
        if any(source.version < source.purged.get(str(p.identity), 0) for p in pointers):
            raise reclaimed(source.commit)
        origin = read_head(view, source.branch)
        epochs = [int(_epoch(view, row)) for row in view.rows("graph_head")]
        made.append(
            Head(
                branch=name,
                commit=source.commit,
                version=source.version,
                schema=source.schema,
                epoch=max(epochs),
                incarnation=new_ulid(),
                fork=source.commit,
                tables=source.tables,
                definitions=source.definitions,
                retired=origin.retired if origin and origin.commit == source.commit else {},
                properties=_properties(origin, deferred_checks),
            )
        )
        return Swap(replace=[view.named[ALLOCATOR_ID].row], add=[head_row(made[-1])])

    store.publisher.refresh()
    store.publisher.change_names(build)
    return made[-1]


def delete_branch(store: GraphStore, name: str, *, only: Head | None = None) -> None:
    """Remove a branch; others that were forked from it hold their own pointers.

    With `only`, it must still be exactly that; raises `HeadMoved` otherwise.
    """
    name = branch_name(name)
    if name == MAIN:
        raise InvalidInput("main cannot be deleted", hint="Delete other branches only.")
    store.ready_to_write()
    started = False

    def build(view: ManifestView) -> Swap | None:
        nonlocal started
        if head_id(name) not in view.named:
            if started:
                return None
            known = [head.branch for head in store.heads(view)]
            raise NotFound(
                f"there is no branch {name!r}{did_you_mean(name, known)}",
                hint="List branches with `omnigraph branch list`.",
            )
        head = read_head(view, name)
        if only is not None and head is not None and head != only:
            raise HeadMoved(head, head_id(name))
        started = True
        return Swap(
            replace=[view.named[ALLOCATOR_ID].row],
            remove=[head_id(name)],
            remove_addresses=store.manifest.own_rows(view, name),
        )

    store.publisher.refresh()
    store.publisher.change_names(build)


def _properties(origin: Head | None, deferred_checks: bool) -> dict[str, Any]:
    known = origin.properties if origin else {}
    inherited = {key: known[key] for key in INHERITED if key in known}
    # A fork of a branch that was not checked has not been checked either.
    if deferred_checks or known.get(DEFERRED_CHECKS):
        inherited[DEFERRED_CHECKS] = True
    return inherited


def _epoch(view: ManifestView, row: Row) -> int:
    head = read_head(view, row["table_branch"] or MAIN)
    assert head is not None
    return head.epoch
