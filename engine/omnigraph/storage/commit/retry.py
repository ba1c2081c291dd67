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
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from omnigraph.errors import (
    Conflict,
    ExpectedVersionMismatch,
    InvalidInput,
    PublishContention,
    ReadSetConflict,
    StorageError,
    TransactionExpired,
)
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan, existing_head
from omnigraph.storage.core.model import Commit, Head

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
    tables: frozenset[str] = frozenset()
    """Tables whose rows were read."""
    schema: bool = True
    """Whether its rows are rows of the schema; those of plain tables are not."""
    strict: bool = False
    """Whether it was decided on the rows it changes: deletes, overwrites, other columns."""
    registered: bool = False
    """Whether collections were asked to spare its files."""

    def require_repeatable(self, moved: HeadMoved) -> None:
        """Refuse a write that may not be staged again after what moved under its plan."""
        if moved.member in ("schema", "identities"):
            raise self._schema_conflict(moved.head)
        if moved.expired and (self.strict or self.registered):
            raise expired()
        if self.strict and moved.member in moved.head.tables:
            raise self._version_mismatch(moved.member, moved.head)
        if self.strict:
            raise ReadSetConflict(moved.member, self.head.commit, moved.head.commit)

    def require_unmoved(self, head: Head) -> None:
        """Refuse a head of another branch or schema, or with other rows in what was read."""
        if head.incarnation != self.head.incarnation:
            raise Conflict(
                f"branch {head.branch!r} was deleted and created again",
                hint="Start the write again on the new branch.",
            )
        if self.schema and head.schema != self.head.schema:
            raise self._schema_conflict(head)
        for key in sorted(self.tables):
            if head.tables.get(key) != self.head.tables.get(key):
                raise self._version_mismatch(key, head)

    def _schema_conflict(self, head: Head) -> ReadSetConflict:
        problem = "another commit made a schema change first"
        return ReadSetConflict("schema", self.head.schema, head.schema, problem)

    def _version_mismatch(self, key: str, head: Head) -> ExpectedVersionMismatch:
        versions = (
            each.tables[key].version if key in each.tables else None for each in (self.head, head)
        )
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

    def head(self) -> Head:
        """The newest head of the branch, on which the read set still holds."""
        head = existing_head(self.publisher.refresh(), self.branch)
        if self.reads is not None:
            self.reads.require_unmoved(head)
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
    with publisher.one_commit(commit) as commit_id:
        for number in range(attempts):
            if number:
                pause(number)
            with publisher.exclusive() if number and policy.queues(number) else nullcontext():
                decided_on = reads() if reads else None
                try:
                    return attempt(Attempt(publisher, branch, commit_id, number, decided_on))
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
    publisher: Publisher, head: Head, registered: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """A failed read of what was staged on a head is no damage when a collection took the files:
    then the head moved. It spares those of a registered transaction."""
    try:
        yield
    except StorageError as error:
        if error.code in ("storage", "corruption") and not registered():
            newest = existing_head(publisher.refresh(), head.branch)
            if newest.epoch != head.epoch:
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
