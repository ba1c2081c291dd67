"""What a transaction wants to become true, and the head it was prepared on.

See docs/design/architecture.md#publish.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from omnigraph.errors import (
    AlreadyApplied,
    BranchProtected,
    Conflict,
    NotFound,
    did_you_mean,
)
from omnigraph.storage.core.model import Head, SchemaRecord, TablePointer, now
from omnigraph.storage.manifest.definitions import Definition
from omnigraph.storage.manifest.format_version import require_heads
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import (
    ALLOCATOR_ID,
    head_id,
    parse_allocator,
    parse_head,
)

APPLIED = "applied"
"""The head property that keeps the last batch of every stream."""
UNIFIED = "unified"
"""A head property: identities that merges found to be one thing, each to the one that stays."""


class HeadMoved(Exception):
    """The branch moved in a way that the plan must not be rebased on by itself."""

    def __init__(self, head: Head, member: str, expired: bool = False) -> None:
        super().__init__(member)
        self.head = head
        self.member = member
        """The table, `schema`, `head` or the key of a definition that moved."""
        self.expired = expired
        """A collection ran: files staged before it may be deleted."""


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What one transaction wants to become true, all at once."""

    commit: str
    """The id of the commit, fixed before the first attempt and the same for all retries."""
    base: Head
    tables: Mapping[str, TablePointer | None] = field(default_factory=dict)
    """Where pointers go; none drops the table. Version numbers are given out by the publisher."""
    relies_on: frozenset[str] = frozenset()
    """Keys of tables and definitions that the plan was decided on, besides those it moves."""
    relies_on_schema: bool = True
    """Whether it matters that the schema stays; it does not to plain tables and views."""
    actor: str | None = None
    message: str | None = None
    time: datetime = field(default_factory=now)
    merged: str | None = None
    schema: SchemaRecord | None = None
    identities: range | None = None
    """The identities that its schema gives out for the first time."""
    definitions: Mapping[str, Definition | None] = field(default_factory=dict)
    """Definitions that are set, or with none removed, by key."""
    if_commit: str | None = None
    expected_table_versions: Mapping[str, int] = field(default_factory=dict)
    purge: tuple[int, ...] = ()
    """Identities of tables whose data before this commit is reclaimed."""
    once: tuple[str, int] | None = None
    """A stream's name and the number of its batch, which may land only once, and in order."""
    only_on_base: bool = False
    """Whether it was decided on everything the head shows, and holds on no other commit."""
    deletes: Head | None = None
    """A branch that this commit deletes, which must still be exactly this."""
    unified: Mapping[int, int] = field(default_factory=dict)
    """Identities of declarations that a merge found to be one thing."""
    staged_in: int | None = None
    """The epoch in which the oldest of its files was staged; that of the base unless given."""
    sources: tuple[Head, ...] = ()
    """Other branches that it was made from, which must still be there."""
    registration: str | None = None
    """The name of the row by which this transaction asked collections to spare its files."""
    direct: bool = True
    """Whether it is a write of its own, which a protected branch refuses.

    Merges of branches are not, nor is upkeep that changes no entity.
    """

    @property
    def branches(self) -> set[str]:
        """Every branch that it names."""
        others = (*self.sources, *([self.deletes] if self.deletes else []))
        return {self.base.branch, *(head.branch for head in others)}

    @property
    def epoch(self) -> int:
        """The epoch that its files belong to."""
        return self.base.epoch if self.staged_in is None else self.staged_in


def require_unprotected(head: Head) -> None:
    """Refuse direct writes to a protected branch."""
    if head.protected:
        raise BranchProtected(head.branch)


def require_same_branch(head: Head, known: Head) -> None:
    """Refuse a branch that was deleted and created again since a head of it was read."""
    if head.incarnation != known.incarnation:
        raise recreated(head.branch)


def recreated(branch: str) -> Conflict:
    """The error of a write that was begun on a branch that another one has the name of now."""
    return Conflict(
        f"branch {branch!r} was deleted and created again",
        hint="Start the write again on the new branch.",
    )


def require_new(head: Head, once: tuple[str, int] | None) -> None:
    """Refuse a batch of a stream that a branch has already."""
    if once is not None and applied(head, once[0]) >= once[1]:
        raise AlreadyApplied(head.branch, *once)


def applied(head: Head, stream: str) -> int:
    """The number of the last batch of a stream that a branch has; below 0 when it has none."""
    return int(head.properties.get(APPLIED, {}).get(stream, -1))


def read_head(view: ManifestView, branch: str) -> Head | None:
    """The head of a branch in a view."""
    head = view.heads.get(branch)
    row = view.row(head_id(branch)) if head is None else None
    if row is not None:
        head = view.heads[branch] = parse_head(row)
    return head


def existing_head(view: ManifestView, branch: str) -> Head:
    """The head of a branch that must be there."""
    head = read_head(view, branch)
    if head is None:
        require_heads(view.dataset)
        known = [parse_head(row).branch for row in view.rows("graph_head")]
        raise NotFound(
            f"there is no branch {branch!r}{did_you_mean(branch, known)}",
            hint="List branches with `omnigraph branch list`.",
        )
    return head


def read_allocator(view: ManifestView) -> int:
    """The next free identity in a view."""
    row = view.row(ALLOCATOR_ID)
    if row is None:
        raise Conflict(
            f"the manifest row {ALLOCATOR_ID} is missing", hint="Run `omnigraph verify`."
        )
    return parse_allocator(row)
