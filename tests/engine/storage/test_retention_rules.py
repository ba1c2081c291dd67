"""Which commits stay is decided the same way for any history, however odd its clocks were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import hypothesis.strategies as st
from hypothesis import given

from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.maintenance.retention import Retention, readable_commits
from omnigraph.storage.manifest.tag_rows import Tag
from omnigraph.storage.refs.moments import KEPT_FROM, first_parents

START = datetime(2026, 1, 1, tzinfo=UTC)
AT = START + timedelta(hours=40)
HOURS = st.integers(0, 50)


def chain(hours: list[int]) -> tuple[Head, dict[str, Commit]]:
    """A branch with one commit for each hour, oldest first."""
    commits: dict[str, Commit] = {}
    for n, hour in enumerate(hours, 1):
        parents = (f"c{n - 1}",) if n > 1 else ()
        time = START + timedelta(hours=hour)
        commits[f"c{n}"] = Commit(f"c{n}", "main", n, parents, time, None, None, "s", (), {})
    head = Head("main", f"c{len(hours)}", len(hours), "s", 1, "i", None, {})
    return head, commits


HISTORIES = st.lists(HOURS, min_size=1, max_size=12)
COUNTS = st.none() | st.integers(1, 15)
AGES = st.none() | HOURS.map(lambda hours: timedelta(hours=hours))


@given(HISTORIES, COUNTS, AGES)
def test_what_either_rule_asks_for_stays_and_the_head_always_does(
    hours: list[int], keep: int | None, keep_for: timedelta | None
) -> None:
    head, commits = chain(hours)
    after = Retention(keep, keep_for).applied(head, commits, AT)
    kept = {c.version for c in readable_commits([after], [], commits)}
    assert head.version in kept
    assert kept == set(range(min(kept), head.version + 1))
    if keep is None and keep_for is None:
        assert len(kept) == head.version
    if keep is not None:
        assert len(kept) >= min(keep, head.version)
    if keep_for is not None:
        horizon = AT - keep_for
        newest_first = list(first_parents(head.commit, commits))
        oldest_first = newest_first[::-1]
        # A commit counts as made no earlier than those before it, whatever its writer's clock said.
        times = accumulate((c.time for c in oldest_first), max)
        reached = [c for c, time in zip(oldest_first, times, strict=True) if time <= horizon]
        in_force = reached[-1] if reached else oldest_first[0]
        wanted = [c.version for c in newest_first if c.version >= in_force.version]
        assert kept >= set(wanted)
        if keep is None:
            assert kept == set(wanted)


@given(HISTORIES, st.lists(st.tuples(COUNTS, AGES), min_size=2, max_size=4))
def test_nothing_that_was_given_up_returns(
    hours: list[int], rules: list[tuple[int | None, timedelta | None]]
) -> None:
    head, commits = chain(hours)
    floors = [0]
    for keep, keep_for in rules:
        head = Retention(keep, keep_for).applied(head, commits, AT)
        floors.append(head.properties.get(KEPT_FROM, 0))
    assert floors == sorted(floors)


@given(HISTORIES, st.data())
def test_tags_add_exactly_their_commits(hours: list[int], data: st.DataObject) -> None:
    head, commits = chain(hours)
    head = Retention(keep=1).applied(head, commits, AT)
    named = data.draw(st.lists(st.sampled_from(sorted(commits))))
    tags = [Tag(f"t{n}", commit, "gone", AT) for n, commit in enumerate(named)]
    kept = {c.id for c in readable_commits([head], tags, commits)}
    assert kept == {head.commit, *named}
