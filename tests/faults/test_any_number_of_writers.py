"""Any number of processes write; every acknowledged write is there exactly once.

On a local root processes queue on a lock file for fairness. One test takes that away: correctness
rests on the swap alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fixtures import unique_uri, use_environment
from support.ledger import Outcomes, assert_exactly_once, assert_ledger, ledger_graph
from support.object_stores import ObjectStore
from support.worker_processes import run_together, without_queue, workers

WRITERS = 8


@pytest.fixture(params=["local", "moto", "seaweed"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A root on each kind of store."""
    if request.param == "local":
        return str(tmp_path / "graph")
    request.applymarker(pytest.mark.s3)
    store: ObjectStore = request.getfixturevalue(f"{request.param}_store")
    use_environment(monkeypatch, store)
    return unique_uri()


def writes_at(place: str) -> int:
    return 2 if place.startswith("s3:") else 12


@pytest.mark.slow
def test_on_one_branch_and_the_same_tables(place: str) -> None:
    graph = ledger_graph(place)
    asked = [{"root": place, "name": f"w{i}", "writes": writes_at(place)} for i in range(WRITERS)]
    with workers("writer", asked) as writers:
        run_together(writers)
        outcomes = Outcomes.of(writers)
    assert len(outcomes.acknowledged) == WRITERS * writes_at(place)
    assert outcomes.count("conflicts") + outcomes.count("contentions") > 0 or "://" not in place
    assert not assert_ledger(graph, outcomes)


@pytest.mark.slow
def test_on_branches_of_their_own(place: str) -> None:
    branches = [f"branch/{i}" for i in range(WRITERS)]
    graph = ledger_graph(place, branches)
    asked = [
        {"root": place, "name": f"w{i}", "writes": writes_at(place), "branch": branch}
        for i, branch in enumerate(branches)
    ]
    with workers("writer", asked) as writers:
        run_together(writers)
        for worker, branch in zip(writers, branches, strict=True):
            outcomes = Outcomes.of([worker])
            assert len(outcomes.acknowledged) == writes_at(place)
            assert not assert_exactly_once(graph, outcomes, branch)
    assert not assert_ledger(graph, Outcomes())


@pytest.mark.slow
def test_without_the_lock_file_the_swap_alone_decides(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    graph = ledger_graph(root)
    without_queue(root)
    asked = [{"root": root, "name": f"w{i}", "writes": 8} for i in range(4)]
    with workers("writer", asked) as writers:
        run_together(writers)
        outcomes = Outcomes.of(writers)
    assert len(outcomes.acknowledged) == 4 * 8
    assert outcomes.count("conflicts") > 0
    assert not assert_ledger(graph, outcomes)
