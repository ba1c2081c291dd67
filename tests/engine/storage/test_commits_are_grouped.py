"""Commits that wait at the same time are published by one swap, each with its own outcome."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import (
    CommitUnknown,
    ExpectedVersionMismatch,
    OmniGraphError,
    PreconditionFailed,
    PublishContention,
)
from omnigraph.storage.manifest.commit_outcome import ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import Manifest, ManifestChange, ManifestView
from support.social import assert_linear, assert_sound, persons, social_graph
from support.waiting import wait_until
from support.workers.counting import schema, tables

THREADS = 16


def in_threads(actions: list[Callable[[], None]]) -> list[threading.Thread]:
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    return threads


def put(graph: Graph, table: str, n: int) -> None:
    with graph.transaction(message=f"{table} {n}") as txn:
        txn.upsert(table, [{"name": "the number", "n": n}])


def put_all(graph: Graph, table: str, rounds: int) -> None:
    for n in range(rounds):
        put(graph, table, n)


def queued(graph: Graph, count: int) -> bool:
    return len(graph._store.publisher._queue) == count


def version(graph: Graph) -> int:
    return graph._store.publisher.refresh().version


def test_commits_that_wait_together_are_one_version(root: str) -> None:
    graph = init(root, schema(THREADS))
    put(graph, "Table00", 0)
    publisher = graph._store.publisher
    before = version(graph)
    with publisher.exclusive():
        threads = in_threads([partial(put, graph, t, 1) for t in tables(THREADS)])
        wait_until(partial(queued, graph, THREADS))
    for thread in threads:
        thread.join(30)
    assert version(graph) == before + 1
    commits = graph.commits()
    assert len(commits) == THREADS + 2
    assert_linear(commits)
    assert {commit.message for commit in commits[:THREADS]} == {f"{t} 1" for t in tables(THREADS)}
    assert all(len(commit.changed) == 1 for commit in commits[:THREADS])
    assert_sound(graph)


def test_busy_threads_make_far_fewer_versions_than_commits(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = init(root, schema(THREADS))
    put(graph, "Table00", 0)
    swap = Manifest.compare_and_swap

    def slow(manifest: Manifest, view: ManifestView, change: ManifestChange) -> ManifestView:
        time.sleep(0.05)  # about what a store takes
        return swap(manifest, view, change)

    monkeypatch.setattr(Manifest, "compare_and_swap", slow)
    before, rounds = version(graph), 5
    threads = in_threads([partial(put_all, graph, t, rounds) for t in tables(THREADS)])
    for thread in threads:
        thread.join(60)
    commits = graph.commits()
    assert len(commits) == THREADS * rounds + 2
    assert_linear(commits)
    assert version(graph) - before < THREADS * rounds / 2
    for table in tables(THREADS):
        assert graph.snapshot().scan(table, ["n"]).read_all().column(0).to_pylist() == [rounds - 1]
    assert_sound(graph)


def test_threads_that_write_one_table_lose_nothing(root: str) -> None:
    graph = social_graph(root)
    names = [f"{t:02}-{n}" for t in range(THREADS) for n in range(3)]

    def add(thread: int) -> None:
        for n in range(3):
            with graph.transaction() as txn:
                txn.insert("Person", persons([f"{thread:02}-{n}"]))

    for thread in in_threads([partial(add, t) for t in range(THREADS)]):
        thread.join(60)
    assert sorted(graph.snapshot().scan("Person", ["id"]).read_all().column(0).to_pylist()) == names
    assert len(graph.commits()) == len(names) + 1
    assert_sound(graph)


def test_each_commit_of_a_group_has_its_own_outcome(root: str) -> None:
    """One is fine, one is refused for its table, one for its precondition."""
    graph = init(root, schema(3))
    put(graph, "Table00", 0)
    head = graph.snapshot().commit
    publisher = graph._store.publisher
    outcomes: dict[str, Exception | None] = {}

    def good() -> None:
        put(graph, "Table00", 1)
        outcomes["good"] = None

    def strict() -> None:
        try:
            with graph.transaction() as txn:
                txn.overwrite("Table00", [{"name": "mine", "n": 9}])
        except ExpectedVersionMismatch as error:
            outcomes["strict"] = error

    def conditional() -> None:
        try:
            with graph.transaction(if_commit=head) as txn:
                txn.upsert("Table01", [{"name": "mine", "n": 9}])
        except PreconditionFailed as error:
            outcomes["conditional"] = error

    with publisher.exclusive():
        threads = []
        for waiting, action in enumerate((good, strict, conditional), 1):
            threads += in_threads([action])
            wait_until(partial(queued, graph, waiting))
    for thread in threads:
        thread.join(30)
    assert outcomes["good"] is None
    assert isinstance(outcomes["strict"], ExpectedVersionMismatch)
    assert isinstance(outcomes["conditional"], PreconditionFailed)
    assert graph.snapshot().count("Table01") == 0
    assert_sound(graph)


def test_nobody_is_refused_for_a_commit_that_did_not_land(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one in front fails with the store; the precondition of the one behind it still held."""
    graph = init(root, schema(2))
    put(graph, "Table00", 0)
    head = graph.snapshot().commit
    publisher = graph._store.publisher
    outcomes: dict[str, OmniGraphError] = {}

    def write(table: str, if_commit: str | None) -> None:
        try:
            with graph.transaction(if_commit=if_commit) as txn:
                txn.upsert(table, [{"name": "mine", "n": 9}])
        except OmniGraphError as error:
            outcomes[table] = error

    def fails(*_: object) -> ManifestView:
        raise ManifestOutcomeUnknown("the store is not available")

    monkeypatch.setattr(Manifest, "compare_and_swap", fails)
    with publisher.exclusive():
        threads = in_threads([partial(write, "Table00", None)])
        wait_until(partial(queued, graph, 1))
        threads += in_threads([partial(write, "Table01", head)])
        wait_until(partial(queued, graph, 2))
    for thread in threads:
        thread.join(30)
    assert isinstance(outcomes["Table00"], CommitUnknown)
    assert isinstance(outcomes["Table01"], PublishContention)
    assert graph.snapshot().commit == head
