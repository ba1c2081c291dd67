"""Conditions go into the tables of large types that are not in memory; the answers stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.naive import Naive
from engine.exec.queries import RandomRead, random_graph
from engine.exec.reads import read, values
from engine.exec.test_agrees_with_naive import bag
from omnigraph.api.graph import Graph
from omnigraph.errors import QueryTypeError
from omnigraph.exec.columns import column_cache
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.graph.graph_view import GraphView
from omnigraph.exec.run.explain import explain
from omnigraph.exec.run.run_read import run_read
from omnigraph.query import compile_query
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.storage.tables.fragment_scan import TableSource

ROWS = 40_000
SELECTIVE = "match { $p: P $p.n = 17 } return { $p.wide, $p.n }"


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "SPARED_FROM", 1)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("pushdown")
    schema = "node P { k: I64 @key n: I64? wide: String? t: String? }\nedge E: P -> P"
    graph = omnigraph.init(str(root), schema)
    rng = np.random.default_rng(3)
    half = ROWS // 2
    for start in (0, half):
        with graph.transaction() as txn:
            numbers = np.arange(start, start + half)
            wide = [rng.bytes(64).hex() for _ in range(half)]
            texts = [None if n % 3 else f"t{n % 5}" for n in numbers.tolist()]
            columns = {"k": numbers, "n": numbers % 1000, "wide": wide, "t": texts}
            txn.insert("P", pa.table(columns))
    with graph.transaction() as txn:
        ends = rng.integers(0, ROWS, (2, 500)).astype(str)
        txn.insert("E", pa.table({"src": ends[0], "dst": ends[1]}))
    # Rows that are gone shift the positions of those after them.
    graph.mutate("query d() { delete P where n = 3 }")
    return graph


def bytes_read(graph: Graph, body: str, context: ExecContext) -> int:
    table = people(graph)
    dataset = table.tables.handle(table.version).dataset
    dataset.io_stats_incremental()
    values(read(graph, body, context=context))
    return int(dataset.io_stats_incremental().read_bytes)


def people(graph: Graph) -> TableSource:
    return GraphView(graph.snapshot(), ExecContext()).source("node", "P").table


BODIES = [
    SELECTIVE,
    "match { $p: P $p.n = 17 } return { count($p) as c }",
    "match { $p: P $p.n = 17 } return { $p.wide } order { $p.t } limit 5",
    "match { $p: P $p.n < 5 } return { $p.n, count($p) as c }",
    "match { $p: P { k: 17 } } return { $p.wide }",
    "match { $p: P { k: 17 } $q: P { k: 18 } $p.n < $q.n } return { $p.k, $q.wide }",
    "match { $p: P } return { max($p.wide) as w }",
    'match { $p: P $p.n > 995 $p.t = "t1" } return { $p.k, $p.t }',
    'match { $p: P $p.n < 3.5 $p.t starts_with "t" } return { $p.k } order { $p.wide }',
    "match { $p: P $p.n = 18 $p e $q } return { $p.k, $q.wide }",
    "match { $q: P $q.n < 500 $p: P { k: 5 } not { $p e $q } } return { $q.k } order { $q.k }",
    "match { $p e $q $q.n >= 500 } return { $p.n, count($q) as c } order { c desc }",
    "match { $p: P $p.n = 99999999 } return { $p.wide }",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_rows_are_those_of_columns_in_memory(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    context = ExecContext(mode="csr")
    found = [sorted(values(read(graph, body, context=context)), key=str) for _ in range(4)]
    monkeypatch.setattr(column_cache, "SPARED_FROM", 10**9)
    expected = sorted(values(read(graph, body, context=ExecContext(mode="csr"))), key=str)
    assert found == [expected] * 4


def test_a_selective_condition_reads_a_fraction(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed = bytes_read(graph, SELECTIVE, ExecContext(mode="csr"))
    monkeypatch.setattr(column_cache, "SPARED_FROM", 10**9)
    whole = bytes_read(graph, SELECTIVE, ExecContext(mode="csr"))
    assert 0 < 10 * pushed < whole


def test_a_list_of_keys_longer_than_look_ups_take_finds_the_same(graph: Graph) -> None:
    wanted = list(range(-10, 3000))
    body = "match { $p: P $ks contains $p.k } return { $p.k }"
    found = read(graph, body, {"ks": wanted}, declare="$ks: [I64]", context=ExecContext(mode="csr"))
    assert sorted(values(found)) == [k for k in range(3000) if k % 1000 != 3]


def test_a_column_that_is_asked_for_again_and_again_is_loaded(graph: Graph) -> None:
    context = ExecContext(mode="csr")
    for _ in range(column_cache.PATIENCE + 1):
        last = bytes_read(graph, SELECTIVE, context)
        if last == 0:
            break
    assert bytes_read(graph, SELECTIVE, context) == 0


def test_explain_shows_what_the_table_evaluates(graph: Graph) -> None:
    snapshot = graph.snapshot()
    text = 'query q($n: I64) { match { $p: P $p.n = $n $p.t starts_with "t" } return { $p.k } }'
    query = compile_query(text, snapshot.catalog)
    context = ExecContext(mode="csr")
    line = "      pushed into the table: $p.n = $n"
    assert line in explain(snapshot, query, None, context=context).splitlines()
    assert line in explain(snapshot, query, {"n": 3}, True, context=context).splitlines()
    context.table(people(graph)).column("n")
    assert "pushed" not in explain(snapshot, query, None, context=context)


@pytest.mark.parametrize("seed", range(3))
def test_random_reads_agree(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "SPARSE", 1)
    monkeypatch.setattr(column_cache, "PATIENCE", 10**9)
    snapshot = random_graph(tmp_path, seed).snapshot()
    naive = Naive.of(snapshot)
    context = ExecContext(mode="csr")
    for number in range(30):
        text = RandomRead(7000 * seed + number).text()
        try:
            query = compile_query(text, snapshot.catalog)
        except QueryTypeError:
            continue
        assert isinstance(query.ir, ReadPlan)
        table = run_read(snapshot, query, None, context=context).to_arrow()
        columns = [column.to_pylist() for column in table.columns]
        assert bag(list(zip(*columns, strict=True))) == bag(naive.rows(query.ir)), text


@pytest.mark.parametrize("op", ["=", "<=", ">", "!="])
def test_the_smallest_integer_is_a_number_like_any_other(tmp_path: Path, op: str) -> None:
    """The filter language of tables has no way to write it."""
    small = -(2**63)
    graph = omnigraph.init(str(tmp_path), "node P { k: String @key n: I64? }")
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": ["a", "b", "c"], "n": [small, 0, None]}))
    for context in (ExecContext(), ExecContext(mode="indexed")):
        body = f"match {{ $p: P $p.n {op} {small} }} return {{ $p.k }}"
        found = values(read(graph, body, context=context))
        assert found == (["a"] if op in ("=", "<=") else ["b"])
