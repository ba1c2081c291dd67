"""Forks main, writes an entry to the fork and merges it back, again and again."""

from __future__ import annotations

import time
from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import CommitUnknown, OmniGraphError, PublishContention
from support.ledger import entry_key, write_entry
from support.workers.reporting import report, wait_for_go


def work(asked: dict[str, Any]) -> None:
    graph = open_graph(asked["root"])
    graph.snapshot()
    wait_for_go()
    began, outcomes = time.monotonic(), dict[str, int]()
    for n in range(1, asked["merges"] + 1):
        key = entry_key(asked["name"], n)
        report("begin", key=key)
        try:
            result = _merge_one(graph, asked["name"], n, outcomes)
        except CommitUnknown as unknown:
            report("unknown", key=key, commit=unknown.commit_id, error=str(unknown))
        except OmniGraphError as error:
            report("refused", key=key, code=error.code, error=str(error))
        else:
            report("acknowledged", key=key, commit=result)
    report("end", counts=outcomes, seconds=time.monotonic() - began)


def _merge_one(graph: Graph, name: str, n: int, outcomes: dict[str, int]) -> str:
    branch = f"{name}/{n}"
    graph.create_branch(branch)
    with graph.transaction(branch, message=entry_key(name, n)) as txn:
        write_entry(txn, name, n)
    while True:
        try:
            result = graph.merge(branch, delete_source=True, message=entry_key(name, n))
        except PublishContention:
            outcomes["contentions"] = outcomes.get("contentions", 0) + 1
            continue
        assert result.commit is not None
        assert result.branch_deleted
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
        return result.commit.id
