"""Which way a read takes, what `explain` says of it, and that a change of way changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.api.graph import Graph
from omnigraph.errors import InvalidInput
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.plan import access_path
from omnigraph.exec.run.explain import explain
from omnigraph.query import compile_query

BOTH: tuple[Mode, ...] = ("csr", "indexed")
HOPS = "match { $a: P { k: 3 }  $a e $b  $b e $c } return { $c.k }"


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(access_path, "LARGE", 0)
    graph = omnigraph.init(str(tmp_path), "node P { k: I64 @key n: I64? }\nedge E: P -> P")
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 300, (2, 900)).astype(str)
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": np.arange(300), "n": np.arange(300) % 5}))
        txn.insert("E", pa.table({"src": ends[0], "dst": ends[1]}))
    graph.optimize()
    return graph


def test_a_cold_graph_is_looked_up_until_loading_pays(graph: Graph) -> None:
    context = ExecContext()
    expected = sorted(values(read(graph, HOPS, context=ExecContext(mode="csr"))))
    for _ in range(access_path.PATIENCE):
        assert sorted(values(read(graph, HOPS, context=context))) == expected
    assert (context.counters.built, context.counters.lookups > 0) == (0, True)
    lookups = context.counters.lookups
    assert sorted(values(read(graph, HOPS, context=context))) == expected
    assert (context.counters.built, context.counters.lookups) == (1, lookups)


def test_a_read_that_grows_too_wide_goes_the_other_way(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_path, "LOOKUP_OVERRUN", 0.001)
    context = ExecContext()
    expected = sorted(values(read(graph, HOPS, context=ExecContext(mode="csr"))))
    assert sorted(values(read(graph, HOPS, context=context))) == expected
    assert (context.counters.built, context.counters.lookups > 0) == (1, True)


def test_the_mode_of_the_environment_is_kept_to(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode, built in (("indexed", 0), ("csr", 1)):
        monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", mode)
        context = ExecContext()
        for _ in range(3):
            read(graph, HOPS, context=context).to_arrow()
        assert context.counters.built == built
    monkeypatch.setenv("OMNIGRAPH_TRAVERSAL_MODE", "fast")
    with pytest.raises(InvalidInput, match="OMNIGRAPH_TRAVERSAL_MODE"):
        read(graph, HOPS).to_arrow()


def test_explain_says_how_and_analyze_what_it_cost(graph: Graph) -> None:
    snapshot = graph.snapshot()
    text = (
        "query q($k: I64) { match { $a: P { k: $k }  $a e{1,3} $b  $b.n > 1  "
        "not { $b $w:e $a } } return { $b.n, count($b) as c } order { c desc } limit 3 }"
    )
    query = compile_query(text, snapshot.catalog)
    context = ExecContext(mode="csr")
    plan = explain(snapshot, query, {"k": 3}, context=context)
    assert plan.splitlines() == [
        "read q: csr (the traversal mode is csr)",
        "  return $b.n as b.n, count($b) as c",
        "  limit 3",
        "  order by c desc",
        "  group by b.n: a row per match",
        "  match",
        "    look up by key $a: P where $a.k = $k  ~1 row",
        "    expand $a -[E{1,3}]-> $b where $b.n > 1  ~8 rows",
        "    drop what matches, for each distinct $a, $b",
        "      join $b -[$w:E]-> $a  ~1 row",
    ]
    assert context.counters.built == 0
    analyzed = explain(snapshot, query, {"k": 3}, True, context=context)
    assert "[1 row, " in analyzed
    assert " rows in " in analyzed.splitlines()[-1]


def test_a_mutation_does_not_run_as_a_read(graph: Graph) -> None:
    with pytest.raises(InvalidInput, match="cannot run as a read"):
        read(graph, "delete P where k = 3")


def test_parameters_are_checked_before_anything_runs(graph: Graph) -> None:
    with pytest.raises(InvalidInput):
        read(graph, "match { $a: P { k: $k } } return { $a.n }", {}, declare="$k: I64")


def test_a_compiled_query_is_remembered(graph: Graph) -> None:
    context, snapshot = ExecContext(), graph.snapshot()
    text = f"query q() {{ {HOPS} }}"
    first = context.compiled(text, "q", snapshot.catalog, "h")
    assert context.compiled(text, "q", snapshot.catalog, "h") is first
    assert context.compiled(text, "q", snapshot.catalog, "other") is not first


def test_conditions_are_pushed_into_the_table_on_the_way_of_look_ups(tmp_path: Path) -> None:
    graph = omnigraph.init(
        str(tmp_path),
        "node P { k: I64 @key n: I64? s: String? @index b: Bool? d: Date? f: F64? z: I32? }",
    )
    with graph.transaction() as txn:
        txn.insert(
            "P",
            [
                {"k": i, "n": i % 5, "s": f"it's {i % 3}", "b": i % 2 == 0, "f": i / 2, "z": i}
                for i in range(40)
            ]
            + [{"k": 99}],
        )
    graph.optimize()
    for condition in (
        "$p.n = 3",
        "$p.n = 3.0",
        "$p.n != 3",
        "$p.n < 2.5",
        "3 < $p.n",
        '$p.s = "it\'s 1"',
        '$p.s >= "it"',
        "$p.b = true",
        '$p.d > date("2020-01-01")',
        "$p.f >= 4.5",
        "$p.z = 4294967300",
        "$p.z != 4294967300",
        '$p.n = 1 $p.s starts_with "it"',
    ):
        body = f"match {{ $p: P {condition} }} return {{ $p.k }}"
        found = [sorted(values(read(graph, body, context=ExecContext(mode=mode)))) for mode in BOTH]
        assert found[0] == found[1], condition
