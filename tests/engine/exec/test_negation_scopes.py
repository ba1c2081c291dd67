"""Two `not` blocks may give one name to different things."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.graph import bindings
from omnigraph.exec.plan import plan_read
from omnigraph.exec.run import matcher


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("scopes")
    graph = omnigraph.init(
        str(root),
        "node P { k: I64 @key }\nnode C { k: I64 @key  v: I64 }\nnode D { k: I64 @key  v: I64 }\n"
        "edge A: P -> C\nedge B: P -> D",
    )
    with graph.transaction() as txn:
        txn.insert("P", [{"k": n} for n in range(20)])
        txn.insert("C", [{"k": n, "v": n} for n in range(10)])
        txn.insert("D", [{"k": n, "v": 100 + n} for n in range(5)])
        txn.insert("A", [{"src": str(n), "dst": str(n % 10)} for n in range(20)])
        txn.insert("B", [{"src": str(n), "dst": str(n % 5)} for n in range(20)])
    return graph


BLOCKS = "not { $p a $z  $z.v < 3 } not { $p b $z  $z.v >= 104 }"
LEFT = [n for n in range(20) if n % 10 >= 3 and n % 5 < 4]


def test_a_name_of_two_blocks_means_what_each_says(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "CHUNK", 4)  # so that the first block runs after the second
    monkeypatch.setattr(bindings, "CHUNK", 4)
    blocks = "not { $p a $z  $z.v < $q.k } not { $p b $z  $z.v >= 104  $z.v > $q.k }"
    body = f"match {{ $p: P  $q: P {{ k: 3 }}  {blocks} }} return {{ $p.k }} order {{ $p.k }}"
    assert values(read(graph, body)) == LEFT


def test_also_where_groups_are_summed_along_the_pattern(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_read, "MANY_ROWS", 0)
    body = f"match {{ $p: P  {BLOCKS} }} return {{ count($p) as n }}"
    assert values(read(graph, body)) == [len(LEFT)]
