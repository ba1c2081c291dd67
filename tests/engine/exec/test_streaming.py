"""Results of any size stream in bounded memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.graph import traversal
from omnigraph.exec.graph.bindings import CHUNK
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.run import matcher

NODES, EDGES = 500, 25_000


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("streaming")
    graph = omnigraph.init(str(root), "node P { k: I64 @key }\nedge E: P -> P { w: I64 }")
    rng = np.random.default_rng(1)
    ends = rng.integers(0, NODES, (2, EDGES)).astype(str)
    ends[0][:NODES] = "0"  # one node has very many neighbours
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": np.arange(NODES)}))
        txn.insert("E", pa.table({"src": ends[0], "dst": ends[1], "w": np.arange(EDGES)}))
    return graph


def test_millions_of_rows_need_memory_for_a_few_chunks(graph: Graph) -> None:
    context = ExecContext()
    body = "match { $a: P  $a $v:e $b  $b $w:e $c  $c.k < 400 } return "
    expected = values(read(graph, body + "{ count($c) as n }", context=context))[0]
    assert expected > 900_000
    result = read(graph, body + "{ $a.k as a, $b.k as b, $c.k as c, $w.w as w }", context=context)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    rows = highest = 0
    for batch in result.reader():
        rows += batch.num_rows
        assert batch.num_rows <= CHUNK + NODES
        highest = max(highest, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == expected
    whole = rows * 4 * 8
    assert highest < 4 * CHUNK * 4 * 8
    assert peak < 16 * CHUNK * 8 < whole * 2


def test_a_limit_stops_the_match(graph: Graph) -> None:
    result = read(graph, "match { $a: P  $b: P  $c: P  $d: P } return { $a, $d } limit 5")
    assert result.to_arrow().num_rows == 5


def test_a_cross_product_is_cut_into_chunks(graph: Graph) -> None:
    found = values(read(graph, "match { $a: P  $b: P  $a.k < $b.k } return { count($a) as n }"))
    assert found == [NODES * (NODES - 1) // 2]


@pytest.mark.parametrize("closing", ["", "$c: P { k: 7 }  $c e $b"])
def test_what_many_nodes_reach_is_found_for_a_few_at_a_time(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, closing: str
) -> None:
    monkeypatch.setattr(traversal, "BLOCK", 1 << 12)
    monkeypatch.setattr(matcher, "CHUNK", 1 << 12)
    for sparse in (False, True):
        monkeypatch.setattr(traversal, "SMALL", -1 if sparse else 1 << 30)
        monkeypatch.setattr(traversal, "SPARSE", 0 if sparse else 16)
        context = ExecContext()
        body = f"match {{ $a: P  {closing}  $a e{{1,9}} $b }} return {{ $a.k as a, $b.k as b }}"
        result = read(graph, body, context=context)
        next(result.batches())  # what is kept between reads is there now
        tracemalloc.start()
        rows = sum(batch.num_rows for batch in result.batches())
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert rows > (10_000 if closing else 200_000)
        assert peak < 400 * (1 << 12)
