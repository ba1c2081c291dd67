"""The engine gives what the naive evaluator gives, on random graphs and random queries."""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.exec.columns import column_cache
from omnigraph.exec.evaluate import sort_keys
from omnigraph.exec.graph import bindings, traversal
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.plan import plan_read
from omnigraph.exec.run import external_sort, matcher
from omnigraph.exec.run.run_read import run_read
from omnigraph.query import CompiledQuery, coerce_params, compile_query
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph.storage.refs.snapshot import Snapshot
from oracle.naive import Row, evaluate
from oracle.plain import PlainGraph, plain_graph
from oracle.random_graphs import RandomGraph, graphs
from oracle.random_queries import RandomQuery, queries, rankings
from oracle.test_oracle import EXAMPLES, Example, examples
from support.graphs import ndjson

QUERIES_PER_GRAPH = 8
MODES: tuple[Mode, ...] = ("indexed", "csr")


@contextmanager
def engine(schema: str, records: bytes) -> Iterator[Snapshot]:
    with tempfile.TemporaryDirectory() as folder:
        graph = omnigraph.init(Path(folder) / "graph", schema)
        if records:
            graph.load(records)
        yield graph.snapshot()


def ask(snapshot: Snapshot, query: CompiledQuery, params: dict[str, Any], mode: Mode) -> list[Row]:
    result = run_read(snapshot, query, params, context=ExecContext(mode=mode))
    batches = list(result.batches())
    columns = range(len(query.ir.columns)) if isinstance(query.ir, ReadPlan) else range(0)
    return [row for b in batches for row in zip(*(b.column(n).to_pylist() for n in columns))]  # noqa: B905


def check(
    snapshot: Snapshot, plain: PlainGraph, query: CompiledQuery, params: dict[str, Any], mode: Mode
) -> None:
    """The same sequence with an order, the same bag without, any part of it with only a limit."""
    plan = query.ir
    assert isinstance(plan, ReadPlan)
    found = [comparable(row) for row in ask(snapshot, query, params, mode)]
    values = coerce_params(query, params)
    if plan.order or plan.rank:
        assert found == [comparable(row) for row in evaluate(plan, plain, values)]
        return
    everything = evaluate(replace(plan, limit=None), plain, values)
    expected = Counter(comparable(row) for row in everything)
    if plan.limit is None:
        assert Counter(found) == expected
    else:
        assert len(found) == min(plan.limit, len(everything))
        assert Counter(found) <= expected


def comparable(row: Sequence[Any]) -> Row:
    return tuple(_comparable(value) for value in row)


def _comparable(value: Any) -> Any:  # noqa: ANN401
    """Values that compare by type too; floats up to the last digits, which adding may change."""
    if isinstance(value, float):
        rounded = float(f"{value:.10g}") if math.isfinite(value) else value
        return ("float", rounded)
    if isinstance(value, list):
        return tuple(_comparable(item) for item in value)
    return (type(value).__name__, value)


# --------------------------------------------------------------------------- examples


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "example",
    examples(),
    ids=lambda e: f"{e.schema}: {e.title}",
)
def test_the_engine_gives_what_the_reference_says(example: Example, mode: Mode) -> None:
    schema = (EXAMPLES / f"{example.schema}.pg").read_text("utf-8")
    records = (EXAMPLES / f"{example.schema}.jsonl").read_bytes()
    with engine(schema, records) as snapshot:
        query = compile_query(example.source, snapshot.catalog)
        params = json.loads(example.notes.get("params", "{}"))
        found = [list(row) for row in ask(snapshot, query, params, mode)]
    rounded = [[round(v, 6) if isinstance(v, float) else v for v in row] for row in found]
    if example.notes.get("ordered") == "yes":
        assert rounded == example.rows()
    else:
        assert sorted(rounded, key=repr) == sorted(example.rows(), key=repr)


# --------------------------------------------------------------------------- random


@st.composite
def scenes(draw: st.DrawFn) -> tuple[RandomGraph, list[RandomQuery]]:
    graph = draw(graphs())
    return graph, [draw(queries(graph)) for _ in range(QUERIES_PER_GRAPH)]


@st.composite
def ranked_scenes(draw: st.DrawFn) -> tuple[RandomGraph, list[RandomQuery]]:
    graph = draw(graphs(searchable=True))
    return graph, [draw(rankings(graph)) for _ in range(QUERIES_PER_GRAPH)]


def check_scene(graph: RandomGraph, texts: Sequence[RandomQuery]) -> None:
    with engine(graph.schema, ndjson(*graph.records)) as snapshot:
        plain = plain_graph(snapshot.catalog, graph.records)
        note(graph.schema)
        note(ndjson(*graph.records).decode())
        for text in texts:
            note(f"{text.source}\n{json.dumps(text.params)}")
            query = compile_query(text.source, snapshot.catalog)
            for mode in MODES:
                check(snapshot, plain, query, text.params, mode)


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(scenes())
def test_reads_agree(scene: tuple[RandomGraph, list[RandomQuery]]) -> None:
    check_scene(*scene)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.one_of(scenes(), ranked_scenes()))
def test_reads_agree_where_everything_is_large(
    scene: tuple[RandomGraph, list[RandomQuery]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(external_sort, "SORTED_IN_MEMORY", 0)
        patch.setattr(column_cache, "SPARED_FROM", 1)
        patch.setattr(column_cache, "SPARSE", 1)
        patch.setattr(plan_read, "MANY_ROWS", -1)
        patch.setattr(traversal, "BLOCK", 8)
        for module in (matcher, sort_keys, bindings):
            patch.setattr(module, "CHUNK", 3)
        check_scene(*scene)


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(ranked_scenes())
def test_rankings_agree(scene: tuple[RandomGraph, list[RandomQuery]]) -> None:
    check_scene(*scene)
