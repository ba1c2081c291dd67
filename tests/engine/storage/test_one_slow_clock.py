"""A writer whose clock is behind neither ages the commits before its own nor hides them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import NotFound
from omnigraph.storage.commit.publish_plan import PublishPlan


def add(graph: Graph, name: str) -> None:
    with graph.transaction() as txn:
        txn.insert("P", [{"name": name}])


def test_a_slow_clock_makes_no_other_commit_old(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.init(root, "node P { name: String @key }")
    add(graph, "a")
    add(graph, "b")
    slow, init = datetime.now(UTC) - timedelta(days=30), PublishPlan.__init__

    def a_month_behind(plan: PublishPlan, **given: Any) -> None:  # noqa: ANN401
        init(plan, **{"time": slow, **given})

    monkeypatch.setattr(PublishPlan, "__init__", a_month_behind)
    add(graph, "c")
    newest, before = graph.commits()[:2]
    assert newest.time < before.time
    assert graph.collect(keep_for="7d").given_up == ()
    assert graph.snapshot(f"main@{before.id}").count("P") == 2
    assert graph.snapshot(f"main@{before.time.isoformat()}").count("P") == 3
    with pytest.raises(NotFound):  # the graph was not there yet
        graph.snapshot(f"main@{(slow + timedelta(days=10)).isoformat()}")
