"""Graphs for tests of the engine: small schemas, small writes, and what a graph holds.

With `support.workers` the only part of the support package that knows the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from omnigraph.api.graph import Graph, init
from omnigraph.storage.core.model import MAIN, Commit

SOCIAL = """
node Person { name: String @key  age: I64? }
node Club { name: String @key }
edge Knows: Person -> Person
edge Member: Person -> Club
"""


def social_graph(root: str, people: Iterable[str] = (), knows: Iterable[str] = ()) -> Graph:
    """A graph of people; `knows` are pairs written as `Bob>Ann`."""
    graph = init(root, SOCIAL)
    pairs = [pair.split(">") for pair in knows]
    with graph.transaction() as txn:
        txn.insert("Person", persons(people))
        if pairs:
            txn.insert("Knows", [edge(src, dst) for src, dst in pairs])
    return graph


def persons(names: Iterable[str], age: int | None = 30) -> list[dict[str, Any]]:
    return [{"name": name, "age": age} for name in names]


def edge(src: str, dst: str) -> dict[str, str]:
    return {"src": src, "dst": dst}


def add_person(graph: Graph, name: str, branch: str = MAIN, age: int = 30) -> Commit:
    """One small commit."""
    with graph.transaction(branch, message=name) as txn:
        txn.insert("Person", persons([name], age))
    assert txn.commit is not None
    return txn.commit


def people(graph: Graph, at: str = MAIN) -> list[str]:
    """The names of everybody, in order."""
    return names(graph, "Person", at)


def names(graph: Graph, type_name: str, at: str = MAIN) -> list[str]:
    """The ids of a type, in order; one that is there twice is in the list twice."""
    ids: Sequence[str] = graph.snapshot(at).scan(type_name, ["id"]).read_all().column(0).to_pylist()
    return sorted(ids)


def pairs(graph: Graph, type_name: str = "Knows", at: str = MAIN) -> list[str]:
    """The edges of a type, each as `Bob>Ann`, in order."""
    rows = graph.snapshot(at).scan(type_name, ["src", "dst"]).read_all().to_pylist()
    return sorted(f"{row['src']}>{row['dst']}" for row in rows)


def assert_sound(graph: Graph) -> None:
    """Everything the manifest says is true, and every branch's history is one chain."""
    report = graph.verify(rules=True)
    assert report.ok, report.to_json()["findings"][:5]
    for branch in graph.branches():
        assert_linear(graph.commits(branch.name))


def assert_linear(commits: Sequence[Commit]) -> None:
    """Newest first, each the child of the next, numbered without gaps down to 1."""
    assert [commit.version for commit in commits] == list(range(len(commits), 0, -1))
    for child, parent in zip(commits, commits[1:], strict=False):
        assert child.parent == parent.id
    assert len({commit.id for commit in commits}) == len(commits)
