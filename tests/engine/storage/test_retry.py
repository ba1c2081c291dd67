"""Stage, publish, try again: one policy, on a head that moves as the script says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from omnigraph.errors import (
    CommitUnknown,
    Conflict,
    Corruption,
    ExpectedVersionMismatch,
    NotFound,
    OmniGraphError,
    PublishContention,
    ReadSetConflict,
    StorageError,
    TransactionExpired,
)
from omnigraph.storage.commit import retry
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from omnigraph.storage.commit.publisher import Publisher
from omnigraph.storage.commit.retry import (
    Attempt,
    ReadSet,
    RetryPolicy,
    collected_reads,
    publish_with_retry,
    run_with_retry,
)
from omnigraph.storage.core.model import Commit, Head, TablePointer, now

BUDGET = 4
PERSON, CLUB = "node:Person", "node:Club"


def table(version: int) -> TablePointer:
    return TablePointer("nodes/t", version, version, 0, 1)


HEAD = Head("main", "c1", 1, "s1", 1, "i1", None, {PERSON: table(1), CLUB: table(1)})
PERSON_MOVED = replace(HEAD, commit="c2", tables={PERSON: table(2), CLUB: table(1)})
COLLECTED = replace(HEAD, epoch=2)


class ScriptedPublisher(Publisher):
    """Publishes nothing: each publish fails as the script says, and lands when it is at its end."""

    def __init__(self, *script: Exception) -> None:
        self.retry_budget = BUDGET
        self.script = list(script)
        self.head: Head | None = HEAD
        self.published: list[tuple[str, bool, bool]] = []
        """Per publish: the commit's id, whether it went first, whether it was queued."""
        self.pauses: list[float] = []
        self.rows: dict[str, object] = {}
        self._in_doubt: set[str] = set()
        self._queued = False

    def refresh(self) -> Any:  # noqa: ANN401
        heads = {self.head.branch: self.head} if self.head else {}
        known = SimpleNamespace(
            schema=SimpleNamespace(metadata={b"omnigraph:internal_schema_version": b"3"})
        )
        return SimpleNamespace(
            heads=heads, dataset=known, row=self.rows.get, rows=lambda object_type: []
        )

    @contextmanager
    def exclusive_staging(self) -> Iterator[None]:
        self._queued = True
        try:
            yield
        finally:
            self._queued = False

    def publish(self, plan: PublishPlan, *, first: bool = False) -> Commit:
        self.published.append((plan.commit, first, self._queued))
        self._in_doubt.add(plan.commit)
        if self.script:
            raise self.script.pop(0)
        return Commit(plan.commit, "main", 2, (), now(), None, None, "s1", (), {})

    @property
    def tries(self) -> int:
        return len(self.published)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedPublisher]:
    def make(*script: Exception) -> ScriptedPublisher:
        publisher = ScriptedPublisher(*script)
        monkeypatch.setattr("omnigraph.storage.commit.retry.time.sleep", publisher.pauses.append)
        return publisher

    return make


Scripted = Callable[..., ScriptedPublisher]


def stage(attempt: Attempt) -> Commit:
    """Stages nothing on the newest head."""
    head = attempt.head()
    return attempt.publish(PublishPlan(attempt.commit, head))


def moved(head: Head = HEAD, member: str = PERSON, *, expired: bool = False) -> HeadMoved:
    return HeadMoved(head, member, expired)


def test_what_lands_at_once_neither_pauses_nor_queues(scripted: Scripted) -> None:
    publisher = scripted()
    commit = publish_with_retry(publisher, "main", stage)
    assert publisher.published == [(commit.id, False, False)]
    assert publisher.pauses == []


def test_who_lost_pauses_then_queues_and_goes_first(scripted: Scripted) -> None:
    publisher = scripted(moved(), moved(), moved())
    commit = publish_with_retry(publisher, "main", stage)
    again = (commit.id, True, True)
    assert publisher.published == [(commit.id, False, False), again, again, again]
    assert len(publisher.pauses) == 3
    for number, seconds in enumerate(publisher.pauses, 1):
        assert 0.5 <= seconds / (number * retry.PAUSE_SECONDS) <= 1.5


def test_pauses_differ_between_writers(scripted: Scripted) -> None:
    seen = set()
    for _ in range(10):
        publisher = scripted(moved())
        publish_with_retry(publisher, "main", stage)
        seen.update(publisher.pauses)
    assert len(seen) > 1


def test_the_end_of_the_budget_is_contention(scripted: Scripted) -> None:
    publisher = scripted(*(moved() for _ in range(99)))
    with pytest.raises(PublishContention, match=f"main .* {BUDGET} times"):
        publish_with_retry(publisher, "main", stage)
    assert publisher.tries == BUDGET
    assert len(publisher.pauses) == BUDGET - 1


def test_a_policy_has_its_own_budget_and_says_who_queues(scripted: Scripted) -> None:
    publisher = scripted(*(moved() for _ in range(99)))
    policy = RetryPolicy(6, queues=lambda number: number == 2)
    with pytest.raises(PublishContention):
        publish_with_retry(publisher, "main", stage, policy=policy)
    assert [queued for _, _, queued in publisher.published] == [n == 2 for n in range(6)]


@pytest.mark.parametrize(
    "error", [CommitUnknown("c2", "no answer"), StorageError("down"), NotFound("no branch")]
)
def test_what_no_attempt_can_mend_is_told_at_once(
    scripted: Scripted, error: OmniGraphError
) -> None:
    publisher = scripted(error)
    with pytest.raises(type(error)) as told:
        publish_with_retry(publisher, "main", stage)
    assert told.value is error
    assert publisher.tries == 1


@pytest.mark.parametrize("script", [0, 1, 99])
@pytest.mark.parametrize("commit", [None, "chosen"])
def test_no_id_stays_in_doubt(scripted: Scripted, script: int, commit: str | None) -> None:
    """Whether it landed, was lost for good, or its outcome is unknown."""
    publisher = scripted(*(moved() for _ in range(script)))
    try:
        publish_with_retry(publisher, "main", stage, commit=commit)
    except PublishContention:
        assert script == 99
    assert publisher._in_doubt == set()
    assert len({each for each, _, _ in publisher.published}) == 1
    assert commit is None or publisher.published[0][0] == commit
    with pytest.raises(CommitUnknown):
        publish_with_retry(scripted(CommitUnknown("c2", "")), "main", stage, commit=commit)
    assert publisher._in_doubt == set()


def test_every_attempt_starts_from_the_newest_head(scripted: Scripted) -> None:
    publisher, seen = scripted(moved()), []

    def staged(attempt: Attempt) -> Commit:
        seen.append(attempt.head().commit)
        publisher.head = PERSON_MOVED
        return stage(attempt)

    publish_with_retry(publisher, "main", staged)
    assert seen == ["c1", "c2"]
    publisher.head = None
    with pytest.raises(NotFound, match="there is no branch 'main'"):
        publish_with_retry(publisher, "main", stage)


# --------------------------------------------------------------------------- what is checked again

STRICT = ReadSet(HEAD, strict=True)
CONSTRUCTIVE = ReadSet(HEAD)


@pytest.mark.parametrize(
    ("reads", "event", "refusal"),
    [
        (CONSTRUCTIVE, moved(member="schema"), ReadSetConflict),
        (CONSTRUCTIVE, moved(member="identities"), ReadSetConflict),
        (STRICT, moved(PERSON_MOVED), ExpectedVersionMismatch),
        (STRICT, moved(member="query:q"), ReadSetConflict),
        (STRICT, moved(COLLECTED, "collection", expired=True), TransactionExpired),
        (
            ReadSet(HEAD, registered=True),
            moved(COLLECTED, "collection", expired=True),
            TransactionExpired,
        ),
    ],
)
def test_a_move_of_what_a_write_was_decided_on_refuses_it(
    scripted: Scripted, reads: ReadSet, event: HeadMoved, refusal: type[Conflict]
) -> None:
    publisher = scripted(event)
    with pytest.raises(refusal) as refused:
        publish_with_retry(publisher, "main", stage, reads=lambda: reads)
    assert type(refused.value) is refusal
    assert publisher.tries == 1
    assert publisher._in_doubt == set()


@pytest.mark.parametrize(
    "event", [moved(PERSON_MOVED), moved(COLLECTED, "collection", expired=True)]
)
def test_other_moves_are_staged_again(scripted: Scripted, event: HeadMoved) -> None:
    publisher = scripted(event)
    publisher.head = event.head
    assert publish_with_retry(publisher, "main", stage, reads=lambda: CONSTRUCTIVE)
    assert publisher.tries == 2


def test_the_versions_of_a_refusal_are_those_of_both_heads(scripted: Scripted) -> None:
    with pytest.raises(ExpectedVersionMismatch) as refused:
        publish_with_retry(scripted(moved(PERSON_MOVED)), "main", stage, reads=lambda: STRICT)
    assert (refused.value.table_key, refused.value.expected, refused.value.actual) == (PERSON, 1, 2)


@pytest.mark.parametrize(
    ("tables", "head", "refusal"),
    [
        ({PERSON}, PERSON_MOVED, ExpectedVersionMismatch),
        ({CLUB}, PERSON_MOVED, None),
        ({CLUB}, replace(HEAD, tables={PERSON: table(1)}), ExpectedVersionMismatch),
        (set(), replace(HEAD, incarnation="i2"), Conflict),
        (set(), replace(HEAD, schema="s2"), ReadSetConflict),
        ({PERSON}, COLLECTED, None),
    ],
)
def test_the_read_set_is_checked_on_the_head_of_the_next_attempt(
    scripted: Scripted, tables: set[str], head: Head, refusal: type[Conflict] | None
) -> None:
    """Also where something else made the plan fail, and the tables that were read moved later."""
    publisher = scripted(moved(member="head"))
    reads = ReadSet(HEAD, frozenset(tables))

    def staged(attempt: Attempt) -> Commit:
        if attempt.number:
            publisher.head = head
        return stage(attempt)

    if refusal is None:
        assert publish_with_retry(publisher, "main", staged, reads=lambda: reads)
        return
    with pytest.raises(refusal) as refused:
        publish_with_retry(publisher, "main", staged, reads=lambda: reads)
    assert type(refused.value) is refusal
    assert publisher.tries == 1


@pytest.mark.parametrize("member", ["head", "schema"])
@pytest.mark.parametrize("strict", [True, False])
def test_rows_that_were_not_read_may_be_staged_under_another_schema(
    scripted: Scripted, member: str, strict: bool
) -> None:
    publisher = scripted(moved(member=member))
    publisher.head = replace(HEAD, schema="s2")
    reads = ReadSet(HEAD, schema=False, strict=strict, changes=frozenset({PERSON}))
    if strict and member != "schema":
        with pytest.raises(ReadSetConflict):
            publish_with_retry(publisher, "main", stage, reads=lambda: reads)
    else:
        assert publish_with_retry(publisher, "main", stage, reads=lambda: reads)


def test_rows_that_moved_with_the_schema_are_not_changed_as_they_were_found(
    scripted: Scripted,
) -> None:
    publisher = scripted(moved(member="schema"))
    publisher.head = replace(PERSON_MOVED, schema="s2")
    reads = ReadSet(HEAD, schema=False, strict=True, changes=frozenset({PERSON}))
    with pytest.raises(ExpectedVersionMismatch):
        publish_with_retry(publisher, "main", stage, reads=lambda: reads)


@pytest.mark.parametrize("reads", [None, ReadSet(HEAD)])
def test_all_attempts_are_about_one_branch(scripted: Scripted, reads: ReadSet | None) -> None:
    """Not about another one that got its name, whether or not anything was read."""
    publisher = scripted(moved(member="head"))
    seen: list[Head] = []

    def recreated(attempt: Attempt) -> Commit:
        seen.append(attempt.head())
        publisher.head = replace(HEAD, incarnation="i2")
        return attempt.publish(PublishPlan(attempt.commit, seen[-1]))

    with pytest.raises(Conflict, match="deleted and created again"):
        publish_with_retry(
            publisher, "main", recreated, reads=None if reads is None else lambda: reads
        )
    assert [head.incarnation for head in seen] == ["i1"]


# --------------------------------------------------------------------------- running again

REFUSALS = (
    ReadSetConflict(PERSON, "c1", "c2"),
    TransactionExpired("collected"),
    PublishContention("lost"),
)


@pytest.mark.parametrize("attempts", [3, 4])
def test_a_transaction_runs_again_after_what_others_did(scripted: Scripted, attempts: int) -> None:
    publisher = scripted(*REFUSALS)
    if attempts == 4:
        assert run_with_retry(lambda: publish_with_retry(publisher, "main", stage), attempts)
    else:
        with pytest.raises(PublishContention, match="lost"):
            run_with_retry(lambda: publish_with_retry(publisher, "main", stage), attempts)
    assert publisher.published == [(commit, False, False) for commit, _, _ in publisher.published]
    assert publisher.tries == attempts and len(publisher.pauses) == attempts - 1


@pytest.mark.parametrize("error", [CommitUnknown("c2", "no answer"), NotFound("no branch")])
def test_a_transaction_that_may_have_landed_is_not_run_again(
    scripted: Scripted, error: OmniGraphError
) -> None:
    publisher = scripted(error)
    with pytest.raises(type(error)):
        run_with_retry(lambda: publish_with_retry(publisher, "main", stage), 8)
    assert publisher.tries == 1


# --------------------------------------------------------------------------- collections


@pytest.mark.parametrize("error", [StorageError("cannot read"), Corruption("a file is missing")])
def test_a_failed_read_after_a_collection_is_a_move(
    scripted: Scripted, error: StorageError
) -> None:
    publisher = scripted()
    publisher.head = COLLECTED
    with pytest.raises(HeadMoved) as event, collected_reads(publisher, HEAD):
        raise error
    assert event.value.expired
    assert event.value.head == COLLECTED
    with pytest.raises(type(error)), collected_reads(publisher, COLLECTED):
        raise error
    publisher.rows = {"transaction:t1": {}}
    with pytest.raises(type(error)), collected_reads(publisher, HEAD, lambda: "transaction:t1"):
        raise error
    with (
        pytest.raises(HeadMoved, match="collection"),
        collected_reads(publisher, HEAD, lambda: "transaction:given up"),
    ):
        raise error


def test_an_unknown_outcome_is_no_failed_read(scripted: Scripted) -> None:
    publisher = scripted()
    publisher.head = COLLECTED
    with pytest.raises(CommitUnknown), collected_reads(publisher, HEAD):
        raise CommitUnknown("c2", "no answer")
