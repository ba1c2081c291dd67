"""A writer whose clock is wrong neither ages the commits before its own nor hides or loses any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import NotFound, Reclaimed
from omnigraph.storage.commit import publish_plan
from omnigraph.storage.core import model
from omnigraph.storage.manifest import row_codec

SCHEMA = "node P { name: String @key }"


@contextmanager
def clock(ahead: timedelta) -> Iterator[None]:
    """The clock of this process, so much ahead."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:  # noqa: ANN401
            return datetime.now(tz) + ahead

    with mock.patch.object(model, "datetime", Wrong):
        yield


def add(graph: Graph, name: str, branch: str = "main") -> None:
    with graph.transaction(branch) as txn:
        txn.insert("P", [{"name": name}])


def test_a_slow_clock_makes_no_other_commit_old(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    add(graph, "a")
    add(graph, "b")
    with clock(-timedelta(days=30)):
        add(graph, "c")
    newest, before = graph.commits()[:2]
    assert newest.time == before.time
    assert graph.collect(keep_for="7d").given_up == ()
    assert graph.snapshot(f"main@{before.id}").count("P") == 2
    assert graph.snapshot(f"main@{before.time.isoformat()}").count("P") == 3
    with pytest.raises(NotFound):  # the graph was not there yet
        graph.snapshot(f"main@{(datetime.now(UTC) - timedelta(days=20)).isoformat()}")


def test_times_never_run_backwards_along_a_branch(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    graph.create_branch("side")
    for number, days in enumerate((0, -3, 5, -40, 2)):
        with clock(timedelta(days=days)):
            add(graph, f"m{number}")
            add(graph, f"s{number}", "side")
    with clock(-timedelta(days=90)):
        graph.create_branch("fork")
        add(graph, "f", "fork")
        graph.merge("side")
        graph.apply_schema(SCHEMA + " node Q { name: String @key }")
    for branch in graph.branches():
        times = [commit.time for commit in graph.commits(branch.name)]
        assert all(newer >= older for newer, older in pairwise(times))
    commits = {c.id: c for b in graph.branches() for c in graph.commits(b.name)}
    for commit in commits.values():
        assert all(commit.time >= commits[parent].time for parent in commit.parents)


def test_the_time_of_a_head_without_one_is_looked_up(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    add(graph, "a")
    before = graph.commits()[0].time
    with clock(-timedelta(days=1)), _heads_without_times():
        add(omnigraph.open(root), "b")
    assert omnigraph.open(root).commits()[0].time == before


@contextmanager
def _heads_without_times() -> Iterator[None]:
    """Heads as rows from before they had a time give them."""
    parse = row_codec.parse_head
    with mock.patch.object(publish_plan, "parse_head", lambda row: replace(parse(row), time=None)):
        yield


def test_what_a_slow_clock_wrote_alone_is_as_old_as_its_files(root: str) -> None:
    with clock(-timedelta(days=30)):
        graph = omnigraph.init(root, SCHEMA)
        for name in "abc":
            add(graph, name)
    assert graph.collect(keep_for="7d").given_up == ()
    assert [graph.snapshot(f"main@v{version}").count("P") for version in (2, 3, 4)] == [1, 2, 3]


def test_a_collector_whose_clock_is_fast_gives_nothing_up(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    for name in "abc":
        add(graph, name)
    graph.create_branch("short", ttl="1d")
    with clock(timedelta(days=400)):
        report = graph.collect(keep_for="7d")
    assert (report.given_up, report.expired_branches) == ((), ())


def test_a_branch_made_under_a_slow_clock_lives_its_time(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    with clock(-timedelta(days=30)):
        graph.create_branch("short", ttl="1d")
    assert graph.collect().expired_branches == ()


def test_old_files_do_count_as_old(root: str) -> None:
    with clock(-timedelta(days=30)):
        graph = omnigraph.init(root, SCHEMA)
        add(graph, "a")
        add(graph, "b")
    month_ago = (datetime.now(UTC) - timedelta(days=30)).timestamp()
    for file in Path(root).rglob("*.manifest"):
        os.utime(file, (month_ago, month_ago))
    add(graph, "c")
    assert len(graph.collect(keep_for="7d").given_up) == 2
    with pytest.raises(Reclaimed):
        graph.snapshot("main@v1").count("P")
