"""A graph with something of everything that is stored, and ways to compare two of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

import omnigraph
from omnigraph.errors import Reclaimed
from support.graphs import contents

SCHEMA = """
node Boat { name: String @key  crew: I32? @index  log: String? @index  photo: Blob? }
edge Tows: Boat -> Boat
"""
PHOTO = bytes(range(256)) * 1024
NUMBERS = pa.schema([("n", pa.int64())])
QUERY = "query crewed() { match { $b: Boat } return { $b.name, $b.crew } order { $b.name } }"


def fleet(root: str) -> omnigraph.Graph:
    """Nodes, edges, blobs, deleted rows, indexes, a plain table, a stored query, a tag, branches
    that are plain, hidden and deferred, and a table that is gone from main."""
    graph = omnigraph.init(root, SCHEMA)
    with graph.transaction(message="first") as txn:
        txn.insert("Boat", [{"name": f"b{i:03}", "crew": i, "log": f"day {i}"} for i in range(400)])
        txn.insert("Boat", [{"name": "Ada", "photo": PHOTO}])
        txn.insert("Tows", [{"src": "Ada", "dst": "b000"}])
    graph.optimize()
    graph.tags.create("v1")
    with graph.transaction(message="a plain table") as txn:
        txn.create_table("shop.numbers", NUMBERS)
        txn.append("shop.numbers", pa.table({"n": [1, 2, 3]}))
    graph.register_queries(QUERY)
    delete(graph, [f"b{i:03}" for i in range(100, 390)])
    graph.create_branch("wip")
    graph.create_branch("later", deferred_checks=True)
    graph.create_branch("__hidden", hidden=True)
    put(graph, "Bly", branch="wip")
    put(graph, "Cap", branch="__hidden")
    with graph.transaction("later") as txn:
        txn.insert("Tows", [{"src": "Ada", "dst": "b001"}])
    with graph.transaction(message="drop") as txn:
        txn.drop_table("shop.numbers")
    put(graph, "Dot")
    return graph


def put(graph: omnigraph.Graph, name: str, branch: str = "main") -> None:
    """One more boat."""
    with graph.transaction(branch, message=f"put {name}") as txn:
        txn.upsert("Boat", [{"name": name, "crew": 1}])


def delete(graph: omnigraph.Graph, names: list[str]) -> None:
    """Fewer boats."""
    with graph.transaction(message="delete") as txn:
        txn.delete("Boat", names)


def everything(graph: omnigraph.Graph) -> dict[str, Any]:
    """All that a graph shows: every commit of every branch and tag, with all rows."""
    shown: dict[str, Any] = {tag.name: tag for tag in graph.tags.list()}
    for branch in graph.branches(hidden=True):
        for commit in graph.commits(branch.name):
            at = f"{branch.name}@{commit.id}"
            try:
                graph.snapshot(at)
            except Reclaimed:
                shown[at] = (commit, "reclaimed")
                continue
            plain = {t.name: t.scan().read_all().to_pylist() for t in graph.tables(at)}
            shown[at] = (commit, contents(graph, at), plain)
        shown[branch.name] = (branch, graph.schema(branch.name).source)
    shown["queries"] = graph.queries()
    shown["photo"] = graph.snapshot().get("Boat", "Ada")
    return shown


def run_cli(
    *arguments: str, failpoints: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which a failpoint may kill."""
    return subprocess.run(
        [sys.executable, "-m", "omnigraph.cli", *arguments],
        env={
            **os.environ,
            **(environment or {}),
            "OMNIGRAPH_FAILPOINTS": failpoints,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
