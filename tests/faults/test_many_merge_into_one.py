"""Any number of processes fork, write and merge into one branch: nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from support.ledger import Outcomes, assert_ledger, ledger_graph
from support.worker_processes import one_worker, run_together, without_queue, workers

SOAK = os.environ.get("OMNIGRAPH_PROFILE") == "soak"
PROCESSES, MERGES = (16, 20) if SOAK else (6, 4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_merge_is_there_exactly_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(tmp_path / "graph")
    graph = ledger_graph(root)
    asked = [{"root": root, "name": f"w{i:02}", "merges": MERGES} for i in range(PROCESSES)]
    with workers("merger", asked) as mergers:
        began = time.monotonic()
        run_together(mergers, seconds=900)
        took = time.monotonic() - began
        outcomes = Outcomes.of(mergers)
    with capsys.disabled():
        rate = 2 * PROCESSES * MERGES / took
        print(f"\n{PROCESSES} processes, {took:.1f} s: {rate:.1f} commits per second")  # noqa: T201
    assert len(outcomes.acknowledged) == PROCESSES * MERGES
    assert outcomes.counts.get("merged", 0) > 0, "nobody met anybody"
    assert not assert_ledger(graph, outcomes)
    assert [branch.name for branch in graph.branches()] == ["main"]
    heads = [commit for commit in graph.commits() if commit.merged_parent]
    assert len(heads) == PROCESSES * MERGES


@pytest.mark.slow
def test_without_the_lock_file_the_swap_alone_decides(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    graph = ledger_graph(root)
    without_queue(root)
    asked = [{"root": root, "name": f"w{i:02}", "merges": 3} for i in range(3)]
    with workers("merger", asked) as mergers:
        run_together(mergers, seconds=280)
        outcomes = Outcomes.of(mergers)
    assert len(outcomes.acknowledged) == 9
    assert not assert_ledger(graph, outcomes)


@pytest.mark.parametrize(
    "point", ["stage.before", "stage.after_table", "validate.after", "publish.before"]
)
def test_a_merge_that_is_killed_leaves_both_branches_as_they_were(
    tmp_path: Path, point: str
) -> None:
    root = str(tmp_path / "graph")
    graph = ledger_graph(root)
    graph.create_branch("there")
    for branch in ("main", "there"):
        with graph.transaction(branch) as txn:
            txn.upsert("Writer", [{"name": f"of {branch}", "last": 0}])
    before = {branch.name: branch.commit for branch in graph.branches()}
    asked = {"root": root, "merge": "there"}
    with one_worker("act", asked, failpoints=f"{point}=kill") as victim:
        victim.go()
        assert victim.wait_gone() == -signal.SIGKILL
    assert {branch.name: branch.commit for branch in graph.branches()} == before
    result = graph.merge("there", delete_source=True)
    assert result.outcome == "merged"
    graph.collect()
    assert graph.verify(rules=True).ok
