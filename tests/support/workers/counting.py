"""Readers and a writer of a graph in which every commit writes one number to many tables."""

from __future__ import annotations

import time
from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.storage.refs.snapshot import Snapshot
from support.workers.reporting import report, wait_for_go


def tables(count: int) -> list[str]:
    return [f"Table{i:02}" for i in range(count)]


def schema(count: int) -> str:
    return "\n".join(f"node {name} {{ name: String @key  n: I64 }}" for name in tables(count))


def work(asked: dict[str, Any]) -> None:
    graph = open_graph(asked["root"])
    graph.snapshot()
    names = tables(asked["tables"])
    wait_for_go()
    if asked["role"] == "writer":
        for n in range(1, asked["commits"] + 1):
            with graph.transaction() as txn:
                for name in names:
                    txn.upsert(name, [{"name": "the number", "n": n}])
        report("end")
    else:
        report("end", **_watch(graph, names, asked["commits"], asked["seconds"]))


def _watch(graph: Graph, names: list[str], last: int, seconds: float) -> dict[str, Any]:
    """Poll until the last number is there: in one snapshot, and in one snapshot per table."""
    seen: list[int] = []
    mixed, careless, polls = [], 0, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        polls += 1
        snapshot = graph.snapshot()
        numbers = {_number(snapshot, name) for name in names}
        if len(numbers) > 1:
            mixed.append(sorted(numbers))
        seen += [n for n in numbers if not seen or n != seen[-1]]
        careless += len({_number(graph.snapshot(), name) for name in names}) > 1
        if seen[-1] == last:
            break
    return {"polls": polls, "mixed": mixed, "careless": careless, "seen": seen}


def _number(snapshot: Snapshot, name: str) -> int:
    rows = snapshot.scan(name, ["n"]).read_all().column(0).to_pylist()
    return int(rows[0]) if rows else 0
