"""How a long transaction asks collections to spare its files: a row in the manifest (§2.5)."""

from __future__ import annotations

from contextlib import suppress

from omnigraph.errors import PublishContention, StorageError, TransactionExpired
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest import ManifestView, Swap
from omnigraph.storage.plan import read_head
from omnigraph.storage.values import ALLOCATOR_ID, Head, registration_id, registration_row


class Sparing:
    """The registration of one transaction."""

    def __init__(self, store: GraphStore, transaction: str, actor: str | None) -> None:
        self._store = store
        self._transaction = transaction
        self._actor = actor
        self._locations: set[str] = set()
        self.name: str | None = None
        """The name of the row, once it is there."""

    def ask(self, pin: Head, locations: set[str]) -> None:
        """Ask collections to spare these tables, from a head on that none has touched yet."""
        if locations <= self._locations:
            return
        row = registration_row(self._transaction, locations, self._actor)

        def build(view: ManifestView) -> Swap | None:
            known = view.row(row["object_id"])
            if known == row:
                return None
            head = read_head(view, pin.branch)
            if head is None or head.epoch != pin.epoch:
                raise TransactionExpired(
                    "a collection ran while this transaction was open",
                    hint="Start the transaction again.",
                )
            if known is not None:
                return Swap(replace=[view.named[ALLOCATOR_ID].row, row])
            return Swap(replace=[view.named[ALLOCATOR_ID].row], add=[row])

        self._store.publisher.change_names(build)
        self._locations = locations
        self.name = row["object_id"]

    def resume(self) -> None:
        """Go on with what another process asked for, unless it was given up."""
        name = registration_id(self._transaction)
        if name not in self._store.publisher.view.named:
            raise TransactionExpired(
                "the transaction is not registered any more: it ended, or was taken for dead",
                hint="Start it again.",
            )
        self.name = name

    def end(self) -> None:
        """Need nothing any more."""
        name = self.name
        if name is None or name not in self._store.publisher.view.named:
            return
        # What the caller must hear is how the commit ended; a collection forgets the row in time.
        with suppress(StorageError, PublishContention):
            self._store.publisher.change_names(
                lambda view: (
                    Swap(replace=[view.named[ALLOCATOR_ID].row], remove=[name])
                    if name in view.named
                    else None
                )
            )
