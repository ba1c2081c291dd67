"""Pages of the change feed, and how much goes into one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omnigraph.branching.changelog.commit_changes import Cause, Change
from omnigraph.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Limit:
    """How much one page holds by default, and at most."""

    name: str
    default: int
    most: int

    def checked(self, given: int | None) -> int:
        """The limit of a request."""
        if given is None:
            return self.default
        if not 1 <= given <= self.most:
            raise InvalidInput(
                f"{self.name} cannot be {given}", hint=f"Choose from 1 to {self.most:,}."
            )
        return given


MAX_CHANGES = Limit("max_changes", 1_000, 8_192)
MAX_BYTES = Limit("max_bytes", 4 << 20, 32 << 20)
MAX_COMMITS = Limit("max_commits", 128, 512)


@dataclass(frozen=True, slots=True)
class PageSize:
    """Where a page ends at the latest; a single change that is larger comes alone."""

    changes: int
    bytes: int
    commits: int


def page_size(changes: int | None, bytes_: int | None, commits: int | None) -> PageSize:
    """The limits of a page, checked."""
    return PageSize(
        MAX_CHANGES.checked(changes), MAX_BYTES.checked(bytes_), MAX_COMMITS.checked(commits)
    )


@dataclass(frozen=True, slots=True)
class Block:
    """Changes of one commit; a page may hold a part of them."""

    cause: Cause
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        return {"cause": self.cause.to_json(), "changes": [c.to_json() for c in self.changes]}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the feed. One that ends inside a block has a page token, any other a cursor."""

    blocks: tuple[Block, ...]
    next_page_token: str | None = None
    cursor: str | None = None
    caught_up: bool = False
    """Whether the cursor stands where the head of the branch stood when the poll began."""

    def to_json(self) -> dict[str, Any]:
        blocks = [block.to_json() for block in self.blocks]
        if self.next_page_token is not None:
            return {"blocks": blocks, "next_page_token": self.next_page_token}
        return {"blocks": blocks, "cursor": self.cursor, "caught_up": self.caught_up}


@dataclass(frozen=True, slots=True)
class FeedChange:
    """One change as its JSON line, and its position in the block."""

    edges: bool
    type_id: int
    id: str
    line: str
    bytes: int


class PeekableChanges:
    """The changes of one block; the next one can be looked at before it is consumed."""

    def __init__(self, changes: Iterator[FeedChange]) -> None:
        self._changes = changes
        self.next: FeedChange | None = next(changes, None)

    def pop(self) -> FeedChange:
        """The next change, which is consumed."""
        change = self.next
        assert change is not None
        self.next = next(self._changes, None)
        return change


class PageBuilder:
    """Fills one page."""

    def __init__(self, size: PageSize) -> None:
        self._size = size
        self._changes = 0
        self._bytes = 0
        self.blocks: list[Block] = []
        self.last: FeedChange | None = None
        """The last change that was added."""

    @property
    def full(self) -> bool:
        """Whether no further block may begin."""
        return len(self.blocks) >= self._size.commits or self._changes >= self._size.changes

    def add(self, cause: Cause, changes: PeekableChanges) -> bool:
        """Add what fits of a block; whether it was all of it. A part that is empty is left out.

        What reading the changes raises is raised before the page changes.
        """
        added: list[FeedChange] = []
        count, size = self._changes, self._bytes
        while changes.next is not None and self._fits(changes.next, count, size):
            count, size = count + 1, size + changes.next.bytes
            added.append(changes.pop())
        complete = changes.next is None
        if complete or added:
            self.blocks.append(Block(cause, tuple(Change.from_text(c.line) for c in added)))
        self._changes, self._bytes = count, size
        self.last = added[-1] if added else self.last
        return complete

    def _fits(self, change: FeedChange, count: int, size: int) -> bool:
        fits = count < self._size.changes and size + change.bytes <= self._size.bytes
        return count == 0 or fits
