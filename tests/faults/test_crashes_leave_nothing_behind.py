"""A writer killed at any point leaves a whole graph: all of its commit, or nothing.

There is no repair step: the next writer goes on at once, and a collection removes the leftovers.
"""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from support.fixtures import unique_uri, use_environment
from support.ledger import Outcomes, assert_ledger, entry_key, ledger_graph, write_entry
from support.object_stores import ObjectStore
from support.worker_processes import one_worker, workers

POINTS = (
    "stage.before",
    "stage.after_table",
    "stage.after_table@2",
    "stage.after_table@4",
    "validate.after",
    "publish.before",
    "publish.after",
)


def armed(point: str) -> str:
    name, _, nth = point.partition("@")
    return f"{name}=kill" + (f"@{nth}" if nth else "")


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point(tmp_path: Path, point: str) -> None:
    _killed_at(str(tmp_path / "graph"), point)


@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.parametrize("point", ["stage.after_table@2", "publish.before", "publish.after"])
def test_killed_at_a_named_point_on_an_object_store(
    seaweed_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    use_environment(monkeypatch, seaweed_store)
    _killed_at(unique_uri(), point)


def _killed_at(root: str, point: str) -> None:
    graph = ledger_graph(root)
    with graph.transaction(message=entry_key("before", 1)) as txn:
        write_entry(txn, "before", 1)
    asked = {"root": root, "name": "victim", "writes": 1}
    with one_worker("writer", asked, failpoints=armed(point)) as victim:
        victim.go()
        assert victim.wait_gone() == -signal.SIGKILL
        outcomes = Outcomes.of([victim])
    assert list(outcomes.in_doubt) == [entry_key("victim", 1)]

    began = time.monotonic()
    with graph.transaction(message=entry_key("after", 1)) as after:
        write_entry(after, "after", 1)
    assert time.monotonic() - began < 10, "the next writer had to wait"

    outcomes.acknowledged[entry_key("before", 1)] = txn.commit.id if txn.commit else ""
    outcomes.acknowledged[entry_key("after", 1)] = after.commit.id if after.commit else ""
    there = assert_ledger(graph, outcomes)
    published = [entry_key("victim", 1)] if point == "publish.after" else []
    assert there == published

    report = graph.collect()
    leaves_files = point.startswith(("stage.after", "validate", "publish.before"))
    assert (report.files > 0) or not leaves_files
    assert assert_ledger(graph, outcomes) == published
    assert graph.collect(dry_run=True).files == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(tmp_path: Path, seed: int) -> None:
    root = str(tmp_path / "graph")
    _killed_at_random(root, seed, writers=6, victims=4, writes=30)


@pytest.mark.s3
@pytest.mark.slow
def test_killed_at_random_moments_on_an_object_store(
    seaweed_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_environment(monkeypatch, seaweed_store)
    _killed_at_random(unique_uri(), seed=3, writers=4, victims=2, writes=6)


def _killed_at_random(root: str, seed: int, writers: int, victims: int, writes: int) -> None:
    graph = ledger_graph(root)
    chance = random.Random(seed)
    asked = [{"root": root, "name": f"w{i}", "writes": writes} for i in range(writers)]
    with workers("writer", asked) as running:
        for worker in running:
            worker.go()
        for victim in running[:victims]:
            time.sleep(chance.uniform(0.02, 0.6))
            victim.kill()
        statuses = [victim.wait_gone() for victim in running[:victims]]
        for worker in running[victims:]:
            worker.finish()
        outcomes = Outcomes.of(running)
    assert statuses.count(-signal.SIGKILL) == victims
    assert len(outcomes.in_doubt) > 0, "nobody was killed in the middle of a write"
    survivors = [key for key in outcomes.acknowledged if key[:2] >= f"w{victims}"]
    assert len(survivors) == (writers - victims) * writes
    there = assert_ledger(graph, outcomes)
    graph.collect()
    assert assert_ledger(graph, outcomes) == there
