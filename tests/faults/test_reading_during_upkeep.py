"""While optimize and collect run in loops beside writers, no read fails and none is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from support.ledger import Outcomes
from support.social import assert_sound
from support.worker_processes import workers
from support.workers import bank

SECONDS = 120 if os.environ.get("OMNIGRAPH_PROFILE") == "soak" else 14
KEEP_FOR = 3
ROLES = ("reader", "reader", "writer", "writer", "optimizer", "collector")


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 200)
def test_every_reader_sees_all_the_money(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    graph = init(root, bank.SCHEMA)
    bank.open_bank(graph)
    asked = [
        {"root": root, "role": role, "name": f"{role}{n}", "seconds": SECONDS, "keep_for": KEEP_FOR}
        for n, role in enumerate(ROLES)
    ]
    with workers("bank", asked) as running:
        for worker in running:
            worker.go()
        for worker in running:
            worker.finish(SECONDS + 120)
        counts = {
            role: Outcomes.of([w for w in running if w.name.startswith(role)]).counts
            for role in set(ROLES)
        }
    # Everybody was at work, and got in each other's way.
    assert counts["reader"]["rounds"] > 5, counts
    assert counts["writer"]["transfers"] > 5, counts
    assert counts["optimizer"]["optimized"] > 0, counts
    assert counts["collector"]["given up"] > 0 and counts["collector"]["files"] > 0, counts
    bank.assert_balanced(graph, "main")
    bank.assert_opening(graph)
    assert graph.snapshot().count("Transfer") == counts["writer"]["transfers"]
    graph.collect(keep=1)
    bank.assert_balanced(graph, "main")
    bank.assert_opening(graph)
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert_sound(graph)
