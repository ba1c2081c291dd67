"""Keep collections away from a graph while it is copied: a registration over all of its tables.

What is copied is the state after the registration, so that every collection either came before and
left that state whole, or finds the registration and spares every table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from omnigraph.common.ulid import new_ulid
from omnigraph.errors import Conflict, PublishContention, StorageError
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, registration_row

RENEWED_AFTER = 3600.0
"""Seconds. Collections take registrations that are older than a day for abandoned."""
OVERTAKEN_AT_MOST = 1000
"""So many empty changes are made, at most, for versions that are newer than a backup's own."""


class Hold:
    """The registration of one run on one graph."""

    def __init__(self, store: GraphStore, locations: Iterable[str] = ()) -> None:
        self._store = store
        self._transaction = new_ulid()
        self._name = ""
        self._taken = 0.0
        self.locations = set(locations)
        """The tables that are spared; every time it is taken, those that there are by then."""

    def take(self, newer_than: int = 0) -> ManifestView:
        """Register, or register again, and give the state after it, of a version above another."""
        for _ in range(OVERTAKEN_AT_MOST):
            view = self._store.publisher.change_names(self._registered)
            if view.version > newer_than:
                self._taken = time.monotonic()
                return view
        raise Conflict(
            f"the backup is at version {newer_than} of the manifest, the graph at {view.version}",
            hint="The backup was changed by itself; make a new one in another place.",
        )

    def renew(self) -> None:
        """Register again if that was long ago."""
        if time.monotonic() - self._taken > RENEWED_AFTER:
            self.take()

    def release(self) -> ManifestView | None:
        """Let collections go on; the state after it, if the row could be removed."""
        with suppress(StorageError, PublishContention):  # a collection forgets the row in time
            return self._store.publisher.change_names(remove_rows([self._name]))
        return None

    def _registered(self, view: ManifestView) -> ManifestChange:
        self.locations |= _locations(self._store, view)
        row = registration_row(self._transaction, self.locations, "backup")
        self._name = row["object_id"]
        allocator = view.named[ALLOCATOR_ID].row
        if self._name in view.named:
            return ManifestChange(replace=[allocator, row])
        return ManifestChange(replace=[allocator], add=[row])


@contextmanager
def holding(store: GraphStore, locations: Iterable[str] = ()) -> Iterator[Hold]:
    """A hold that is released at the end of the block at the latest."""
    hold = Hold(store, locations)
    try:
        yield hold
    finally:
        hold.release()


def remove_rows(names: Iterable[str]) -> Callable[[ManifestView], ManifestChange | None]:
    """The change that removes those of some named rows that are there."""
    wanted = list(names)

    def build(view: ManifestView) -> ManifestChange | None:
        there = [name for name in wanted if name in view.named]
        if not there:
            return None
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], remove=there)

    return build


def _locations(store: GraphStore, view: ManifestView) -> set[str]:
    """The folders of every table that was ever made, and of every table of a branch."""
    made = {row["location"] for row in view.rows("table")}
    return made | {p.location for head in store.heads(view) for p in head.tables.values()}
