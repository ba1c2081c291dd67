"""Adjacency is built once: later versions extend it, and another process opens it from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.exec.graph.adjacency import Adjacency
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.run.run_read import run_read

SCHEMA = "node Town { code: I64 @key size: I64? }\nedge Road: Town -> Town { km: I64 }\n"
WALKS = "match { $a: Town  $a road $b  $b road $c } return { count($c) as n }"
PAIRS = "match { $a: Town  $a $w:road $b } return { $a, $b, $w.km }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(str(tmp_path / "graph"), SCHEMA)
    rng = np.random.default_rng(5)
    with graph.transaction() as txn:
        txn.insert("Town", pa.table({"code": np.arange(400), "size": np.arange(400)}))
        txn.insert("Road", roads(rng, 400, 3000))
    return graph


def roads(rng: np.random.Generator, towns: int, count: int) -> pa.Table:
    ends = rng.integers(0, towns, (2, count)).astype(str)
    return pa.table({"src": ends[0], "dst": ends[1], "km": rng.integers(0, 9, count)})


def run(graph: Graph, context: ExecContext, body: str) -> Any:  # noqa: ANN401
    snapshot = graph.snapshot()
    query = context.compiled(
        f"query q() {{ {body} }}", None, snapshot.catalog, snapshot.moment.reading_schema
    )
    table = run_read(snapshot, query, None, context=context).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def both(graph: Graph, context: ExecContext) -> tuple[Any, Any]:
    return run(graph, context, WALKS), run(graph, context, PAIRS)


def kept(tmp_path: Path, graph: Graph) -> ExecContext:
    return ExecContext(root=graph.uri, cache_dir=tmp_path / "cache", save_from=0, mode="csr")


def test_a_restarted_process_opens_what_was_kept(tmp_path: Path, graph: Graph) -> None:
    first = kept(tmp_path, graph)
    expected = both(graph, first)
    assert (first.counters.built, first.counters.opened) == (1, 0)
    second = kept(tmp_path, graph)
    assert both(omnigraph.open(graph.uri), second) == expected
    assert (second.counters.built, second.counters.extended, second.counters.opened) == (0, 0, 1)


def test_new_edges_extend_what_is_there(tmp_path: Path, graph: Graph) -> None:
    context = kept(tmp_path, graph)
    both(graph, context)
    with graph.transaction() as txn:
        txn.upsert("Town", pa.table({"code": [400, 3], "size": [1, None]}))
        txn.insert("Road", pa.table({"src": ["400", "3"], "dst": ["3", "3"], "km": [1, 2]}))
    assert both(graph, context) == both(graph, ExecContext())
    assert (context.counters.built, context.counters.extended) == (1, 1)
    restarted = kept(tmp_path, graph)
    assert both(graph, restarted) == both(graph, ExecContext())
    assert (restarted.counters.built, restarted.counters.opened) == (0, 1)


def test_a_process_that_starts_after_a_write_extends_what_was_kept(
    tmp_path: Path, graph: Graph
) -> None:
    both(graph, kept(tmp_path, graph))
    with graph.transaction() as txn:
        txn.insert("Road", pa.table({"src": ["7", "8"], "dst": ["9", "9"], "km": [1, 2]}))
    later = kept(tmp_path, graph)
    assert both(graph, later) == both(graph, ExecContext())
    assert (later.counters.built, later.counters.extended) == (0, 1)


def test_deleted_edges_and_nodes_leave_it(tmp_path: Path, graph: Graph) -> None:
    context = kept(tmp_path, graph)
    both(graph, context)
    with graph.transaction() as txn:
        txn.delete("Town", ["5", "6"])
    assert both(graph, context) == both(graph, ExecContext())
    with graph.transaction() as txn:
        txn.delete("Town", ["7"])
        txn.delete("Road", graph.snapshot().scan("Road", ["id"], limit=50).read_all().column(0))
    assert both(graph, context) == both(graph, ExecContext())
    assert (context.counters.built, context.counters.extended) == (1, 2)


def test_branches_that_lost_different_edges_do_not_mix(tmp_path: Path, graph: Graph) -> None:
    graph.create_branch("one")
    graph.create_branch("two")
    context = kept(tmp_path, graph)
    both(graph, context)
    ids = graph.snapshot().scan("Road", ["id"]).read_all().column(0)
    for branch, gone in (("one", ids.slice(0, 3)), ("two", ids.slice(5, 3))):
        with graph.transaction(branch) as txn:
            txn.delete("Road", gone)
    for branch in ("one", "two", "main", "one"):
        found = read(graph, PAIRS, at=branch, context=context)
        expected = read(graph, PAIRS, at=branch)
        assert sorted(values(found)) == sorted(values(expected))


def test_changing_nodes_keeps_adjacency(tmp_path: Path, graph: Graph) -> None:
    context = kept(tmp_path, graph)
    both(graph, context)
    with graph.transaction() as txn:
        txn.upsert("Town", pa.table({"code": [3, 4], "size": [70, 80]}))
    assert both(graph, context) == both(graph, ExecContext())
    assert (context.counters.built, context.counters.extended) == (1, 0)


def test_processes_that_numbered_ids_differently_do_not_mix(tmp_path: Path, graph: Graph) -> None:
    graph.create_branch("other")
    for branch, code in (("main", 1000), ("other", 2000)):
        with graph.transaction(branch) as txn:
            txn.insert("Town", pa.table({"code": [code], "size": [1]}))
            txn.insert("Road", pa.table({"src": [str(code)], "dst": ["1"], "km": [1]}))
    one, two = kept(tmp_path, graph), kept(tmp_path, graph)
    expected = both(graph, one)
    snapshot = graph.snapshot("other")
    query = two.compiled(
        f"query q() {{ {PAIRS} }}", None, snapshot.catalog, snapshot.moment.reading_schema
    )
    there = run_read(snapshot, query, None, context=two).to_arrow()
    assert there.num_rows == 3001
    assert ("2000", "1", 1) in set(zip(*(c.to_pylist() for c in there.columns), strict=True))
    assert both(graph, two) == expected == both(graph, kept(tmp_path, graph))


def test_damaged_files_are_ignored(tmp_path: Path, graph: Graph) -> None:
    expected = both(graph, kept(tmp_path, graph))
    for path in (tmp_path / "cache").rglob("*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:100])
    assert both(graph, kept(tmp_path, graph)) == expected


def test_no_adjacency_is_held_outside_the_budget(graph: Graph) -> None:
    """What was built last is a base for the next version only while the budget has room for it."""
    context = ExecContext(root=graph.uri, save_from=0, mode="csr", adjacency_bytes=1)
    expected = both(graph, context)
    rng = np.random.default_rng(6)
    with graph.transaction() as txn:
        txn.insert("Town", pa.table({"code": [400], "size": [1]}))
        txn.insert("Road", roads(rng, 401, 2))
    assert both(graph, context) != expected
    assert not any(isinstance(held, Adjacency) for held in context._newest.values())
