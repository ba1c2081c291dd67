"""Stage, publish, and try again when the branch moved: the one policy of everything that commits.

An attempt stages its work on a head and publishes it. When the branch moved meanwhile it is made
again: after a pause, and from the second attempt on in the queue of this machine's writers, so that
it does not lose for ever. What the write was decided on (`ReadSet`) is checked again first: rows
that were read and moved are for the caller to read again, not for a retry: `run_with_retry` runs
all of a transaction again, reads included.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from omnigraph.errors import (
    ExpectedVersionMismatch,
    InvalidInput,
    PublishContention,
    ReadSetConflict,
    StorageError,
    TransactionExpired,
)
from omnigraph.storage.commit.publish_plan import (
    HeadMoved,
    PublishPlan,
    existing_head,
    require_same_branch,
)
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.core.read_log import is_unmoved

if TYPE_CHECKING:
    from omnigraph.storage.commit.publisher import Publisher

PAUSE_SECONDS = 0.01
MENDED_BY_A_NEW_RUN = (ReadSetConflict, TransactionExpired, PublishContention)
"""Refusals that changed nothing, and that the same work may not meet on a newer head."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often something is tried, and what between two attempts."""

    attempts: int | None = None
    """None for the budget that the graph was opened with."""
    queues: Callable[[int], bool] = lambda number: True
    """Whether a later attempt keeps the other writers of this machine waiting while it stages."""


@dataclass(frozen=True, slots=True)
class ReadSet:
    """What a write was decided on, which must still hold when it is staged on another head."""

    head: Head
    read: frozenset[str] = frozenset()
    """Keys of the tables and definitions that were read."""
    schema: bool = True
    """Whether it holds under this schema alone: it was decided on rows, or changes the schema."""
    strict: bool = False
    """Whether it was decided on the rows it changes: deletes, overwrites, other columns."""
    changes: frozenset[str] = frozenset()
    """Tables whose rows it changes as it found them."""
    registered: bool = False
    """Whether collections were asked to spare its files."""

    def require_repeatable(self, moved: HeadMoved) -> None:
        """Refuse a write that may not be staged again after what moved under its plan."""
        if moved.member == "identities" or (moved.member == "schema" and self.schema):
            raise self._schema_conflict(moved.head)
        if moved.expired and (self.strict or self.registered):
            raise expired()
        if self.strict and moved.member != "schema":
            raise self._moved(moved.member, moved.head)

    def require_unmoved(self, head: Head) -> None:
        """Refuse a head of another branch, of another schema where that matters, or with other rows
        in what was read or is changed as it was found."""
        require_same_branch(head, self.head)
        if self.schema and head.schema != self.head.schema:
            raise self._schema_conflict(head)
        for key in sorted(self.read | self.changes):
            if not is_unmoved(key, self.head, head):
                raise self._moved(key, head)

    def _schema_conflict(self, head: Head) -> ReadSetConflict:
        problem = "another commit made a schema change first"
        return ReadSetConflict("schema", self.head.schema, head.schema, problem)

    def _moved(self, key: str, head: Head) -> ReadSetConflict:
        """The error of a table by its versions; of anything else by the commits."""
        before, after = (each.tables.get(key) for each in (self.head, head))
        if before == after:
            return ReadSetConflict(key, self.head.commit, head.commit)
        versions = (each.version if each else None for each in (before, after))
        return ExpectedVersionMismatch(key, *versions)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to stage and publish a commit."""

    publisher: Publisher
    branch: str
    commit: str
    """The id of the commit, the same for all attempts."""
    number: int = 0
    reads: ReadSet | None = None
    seen: dict[str, Head] = field(default_factory=dict)
    """The first head of each branch that some attempt looked at."""

    def head(self) -> Head:
        """The newest head of the branch, on which the read set still holds."""
        head = self._same(existing_head(self.publisher.refresh(), self.branch))
        if self.reads is not None:
            self.reads.require_unmoved(head)
        return head

    def head_of(self, branch: str) -> Head:
        """The head of another branch, as it was when that of this one was looked up."""
        return self._same(existing_head(self.publisher.view, branch))

    def _same(self, head: Head) -> Head:
        """All attempts are about the same branches: not about others that got their names."""
        require_same_branch(head, self.seen.setdefault(head.branch, head))
        return head

    def publish(self, plan: PublishPlan) -> Commit:
        """Publish what was staged; before the plans of others once an attempt was lost to them."""
        return self.publisher.publish(plan, first=self.number > 0)


def publish_with_retry(
    publisher: Publisher,
    branch: str,
    attempt: Callable[[Attempt], T],
    *,
    policy: RetryPolicy = RetryPolicy(),  # noqa: B008
    reads: Callable[[], ReadSet] | None = None,
    commit: str | None = None,
) -> T:
    """What an attempt gives once it is not moved under; `PublishContention` when the budget ends.

    `reads` says what a failed attempt was decided on; without it every attempt decides anew.
    """
    attempts = publisher.retry_budget if policy.attempts is None else policy.attempts
    seen: dict[str, Head] = {}
    with publisher.one_commit(commit) as commit_id:
        for number in range(attempts):
            if number:
                pause(number)
            queues = number > 0 and policy.queues(number)
            with publisher.exclusive_staging() if queues else nullcontext():
                decided_on = reads() if reads else None
                try:
                    return attempt(Attempt(publisher, branch, commit_id, number, decided_on, seen))
                except HeadMoved as moved:
                    if reads is not None:
                        reads().require_repeatable(moved)
    raise contention(branch, attempts)


def run_with_retry(run: Callable[[], T], attempts: int) -> T:
    """What a whole transaction gives, run again from its start when its commit was refused for
    what others did; the last refusal when all attempts met one.

    It pauses between two runs and never queues: a run may take any length.
    """
    for number in range(attempts):
        if number:
            pause(number)
        try:
            return run()
        except MENDED_BY_A_NEW_RUN:
            if number + 1 == attempts:
                raise
    raise InvalidInput(f"a transaction takes at least one attempt, not {attempts}")


@contextmanager
def collected_reads(
    publisher: Publisher, head: Head, registration: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """A failed read of what was staged on a head is no damage when a collection took the files:
    then the head moved. It spares those of a registered transaction."""
    try:
        yield
    except StorageError as error:
        if error.code in ("storage", "corruption", "sync_failed"):
            view = publisher.refresh()
            newest, name = existing_head(view, head.branch), registration()
            spared = name is not None and view.row(name) is not None
            if newest.epoch != head.epoch and not spared:
                raise HeadMoved(newest, "collection", expired=True) from error
        raise


def pause(factor: int) -> None:
    """Wait before the next try, a little longer each time and never as long as others do."""
    time.sleep(random.uniform(0.5, 1.5) * PAUSE_SECONDS * factor)


def contention(branch: str, times: int) -> PublishContention:
    """The error of a write that lost every publish of its budget."""
    return PublishContention(
        f"other writers of {branch} published first {times} times; nothing was changed",
        hint="Try again, or open the graph with a larger retry_budget.",
    )


def expired() -> TransactionExpired:
    """The error of a transaction whose files a collection may have deleted."""
    return TransactionExpired(
        "a garbage collection ran while this transaction was open",
        hint="Start the transaction again.",
    )
