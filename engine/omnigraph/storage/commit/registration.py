"""How a transaction that writes files long before it publishes asks collections to spare them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from omnigraph.errors import PublishContention, StorageError, TransactionExpired
from omnigraph.storage.commit.publish_plan import existing_head, require_same_branch
from omnigraph.storage.commit.publisher import Publisher
from omnigraph.storage.commit.retry import expired
from omnigraph.storage.core.model import Head
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from omnigraph.storage.manifest.row_codec import (
    ALLOCATOR_ID,
    parse_registration,
    registration_id,
    registration_row,
)


def register(
    publisher: Publisher, pin: Head, transaction: str, locations: Iterable[str], actor: str | None
) -> str:
    """Before the first file: the name of the row that makes collections leave tables alone.

    A row that is there already gets the locations as they are now.
    """
    row = registration_row(transaction, locations, actor)

    def build(view: ManifestView) -> ManifestChange | None:
        known = view.row(row["object_id"])
        if known == row:
            return None
        head = existing_head(view, pin.branch)
        require_same_branch(head, pin)
        if head.epoch != pin.epoch:
            raise expired()
        if known is not None:
            return ManifestChange(replace=[view.named[ALLOCATOR_ID].row, row])
        return ManifestChange(replace=[view.named[ALLOCATOR_ID].row], add=[row])

    publisher.change_names(build, queues=False)  # rows may spill in a thread of an attempt
    name: str = row["object_id"]
    return name


def unregister(publisher: Publisher, name: str) -> None:
    """Forget the row, unless the publish has done so."""
    if name not in publisher.view.named:
        return
    # What the caller must hear is how the commit ended; a collection forgets the row in time.
    with suppress(StorageError, PublishContention):
        publisher.change_names(
            lambda view: (
                ManifestChange(replace=[view.named[ALLOCATOR_ID].row], remove=[name])
                if name in view.named
                else None
            )
        )


def resume(publisher: Publisher, transaction: str) -> tuple[str, frozenset[str]]:
    """The name of the row that another process registered, and the tables that collections spare
    for it; unless one gave it up."""
    name = registration_id(transaction)
    row = publisher.view.row(name)
    if row is None:
        raise TransactionExpired(
            "the transaction is not registered: it ended, or a collection dropped it as stale",
            hint="Start it again.",
        )
    return name, frozenset(parse_registration(row).locations)
