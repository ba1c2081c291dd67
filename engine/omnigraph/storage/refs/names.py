"""Names of commits, branches and tags alike: one row of the manifest that comes or goes.

Each name means one thing: branches and tags share their names. The allocator's row is replaced by
every change of a name, so that of two changes built on one view only one lands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from omnigraph.errors import AlreadyExists
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, ManifestRow, head_id, parse_head
from omnigraph.storage.manifest.tag_rows import tag_id
from omnigraph.storage.refs.moments import Moment, reclaimed, resolve

RefKind = Literal["branch", "tag"]
_OTHER: dict[RefKind, RefKind] = {"branch": "tag", "tag": "branch"}


def create_name(
    store: GraphStore,
    kind: RefKind,
    name: str,
    at: str,
    build_row: Callable[[ManifestView, Moment], ManifestRow],
) -> ManifestRow:
    """Give a name to a moment whose data is all there; the row that says so."""
    made: list[ManifestRow] = []

    def build(view: ManifestView) -> ManifestChange | None:
        known = view.row(_ids(kind, name))
        if known is not None:
            if made and _lifetime(kind, known) == _lifetime(kind, made[-1]):
                return None
            raise AlreadyExists(
                f"there is a {kind} {name!r} already",
                hint=f"Choose another name, or delete the {kind} first.",
            )
        if _ids(_OTHER[kind], name) in view.named:
            raise AlreadyExists(
                f"there is a {_OTHER[kind]} {name!r}; branches and tags share their names",
                hint=f"Choose another name for the {kind}.",
            )
        moment = resolve(store, at)
        if any(moment.is_purged(pointer) for pointer in moment.tables.values()):
            raise reclaimed(moment.commit)
        made.append(build_row(view, moment))
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], add=[made[-1]])

    _change(store, build)
    return made[-1]


def delete_name(
    store: GraphStore, kind: RefKind, name: str, addresses: Callable[[ManifestView], list[int]]
) -> None:
    """Remove a name; `addresses` refuses one that is not there, and gives the rows that go too.

    A name that was deleted and given again between two attempts is not this one.
    """
    object_id = _ids(kind, name)
    deleted: list[str] = []

    def build(view: ManifestView) -> ManifestChange | None:
        row = view.row(object_id)
        if deleted and (row is None or _lifetime(kind, row) != deleted[0]):
            return None
        history = addresses(view)
        if row is not None and not deleted:
            deleted.append(_lifetime(kind, row))
        return ManifestChange(
            replace=[view.named[ALLOCATOR_ID].row], remove=[object_id], remove_addresses=history
        )

    _change(store, build)


def _change(store: GraphStore, build: Callable[[ManifestView], ManifestChange | None]) -> None:
    store.ready_to_write()
    store.publisher.refresh()
    store.publisher.change_names(build)


def _lifetime(kind: RefKind, row: ManifestRow) -> str:
    """What tells a name from the same name after it was deleted and given again."""
    return parse_head(row).incarnation if kind == "branch" else str(row["metadata"])


def _ids(kind: RefKind, name: str) -> str:
    return head_id(name) if kind == "branch" else tag_id(name)
