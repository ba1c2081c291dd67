"""`.gq` on Spark gives the rows of the local engine: the spec's examples, and random queries."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import omnigraph
import omnigraph_spark
from engine.query.cases import EXAMPLES, Case, cases
from omnigraph.api.graph import Graph
from omnigraph.common.json_values import json_value
from omnigraph.errors import InvalidInput
from omnigraph.query import coerce_params, compile_query
from omnigraph.query.logical.logical_plan import ReadPlan
from omnigraph_spark.gq.compile_read import compile_read
from omnigraph_spark.spark_types import UINT64_DECIMAL, for_spark, spark_schema
from oracle.naive import evaluate
from oracle.plain import plain_graph
from oracle.random_graphs import RandomGraph, graphs
from oracle.random_queries import RandomQuery, queries
from oracle.test_engine_agrees import comparable
from support.graphs import ndjson

READS = [case for case in cases() if "rows" in case.expectations]
Frames = dict[tuple[str, str], DataFrame]
SEARCHES = ("nearest(", "bm25(", "rrf(", "search(", "fuzzy(", "match_text(")


def searches(case: Case) -> bool:
    return any(word in case.source for word in SEARCHES)


@pytest.fixture(scope="module")
def example_graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Graph]]:
    found = {}
    for schema in sorted({case.schema for case in READS}):
        root = tmp_path_factory.mktemp(schema)
        graph = omnigraph.init(str(root), (EXAMPLES / f"{schema}.pg").read_text("utf-8"))
        graph.load((EXAMPLES / f"{schema}.jsonl").read_bytes())
        found[schema] = graph
    yield found


@pytest.fixture(scope="module")
def frames() -> Frames:
    """The tables of the example graphs, which many examples read."""
    return {}


@pytest.mark.parametrize(
    "case", [c for c in READS if not searches(c)], ids=lambda c: f"{c.schema}: {c.title}"
)
def test_an_example_gives_the_rows_written(
    case: Case, spark: SparkSession, example_graphs: dict[str, Graph], frames: Frames
) -> None:
    query = case.compile()
    assert isinstance(query.ir, ReadPlan)
    params = coerce_params(query, json.loads(case.expectations.get("params", "null")))
    rows = run(spark, example_graphs[case.schema], query.ir, params, frames)
    require_rows(case, rows)


@pytest.mark.parametrize(
    "title", ["5 an edge binding gives one row per edge", "6 exactly two hops"]
)
def test_an_example_gives_them_through_the_data_source(
    title: str, spark: SparkSession, example_graphs: dict[str, Graph]
) -> None:
    (case,) = [case for case in READS if case.title == title]
    frame = omnigraph_spark.query(spark, example_graphs[case.schema].uri, case.source)
    plan = case.compile().ir
    assert isinstance(plan, ReadPlan)
    assert frame.columns == [column.name for column in plan.columns]
    require_rows(case, frame.collect())


def require_rows(case: Case, rows: Sequence[Any]) -> None:
    found = [rounded(row) for row in rows]
    expected = [rounded(row) for row in json.loads(case.expectations["rows"])]
    if case.expectations.get("ordered") == "yes":
        assert found == expected
    else:
        assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    "case", [c for c in READS if searches(c)], ids=lambda c: f"{c.schema}: {c.title}"
)
def test_a_search_is_refused_with_the_way_out(
    case: Case, spark: SparkSession, example_graphs: dict[str, Graph]
) -> None:
    with pytest.raises(InvalidInput, match="search indexes") as refused:
        omnigraph_spark.query(spark, example_graphs[case.schema].uri, case.source)
    assert "Graph.query" in str(refused.value)


def rounded(row: Any) -> list[Any]:  # noqa: ANN401
    values = [json_value(value) for value in row]
    return [round(value, 6) if isinstance(value, float) else value for value in values]


# --------------------------------------------------------------------------- random


@st.composite
def scenes(draw: st.DrawFn) -> tuple[RandomGraph, list[RandomQuery]]:
    graph = draw(graphs())
    return graph, [draw(queries(graph)) for _ in range(4)]


@pytest.mark.slow
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(scenes())
def test_random_queries_agree(
    spark: SparkSession, scene: tuple[RandomGraph, list[RandomQuery]]
) -> None:
    graph, texts = scene
    note(graph.schema)
    note(ndjson(*graph.records).decode())
    with tempfile.TemporaryDirectory() as folder:
        stored = omnigraph.init(Path(folder) / "graph", graph.schema)
        if graph.records:
            stored.load(ndjson(*graph.records))
        for text in texts:
            note(f"{text.source}\n{json.dumps(text.params)}")
            agree(spark, stored, graph, text)


def agree(spark: SparkSession, stored: Graph, graph: RandomGraph, text: RandomQuery) -> None:
    """The same sequence with an order, the same bag without, any part of it with only a limit."""
    catalog = stored.snapshot().catalog
    query = compile_query(text.source, catalog)
    plan, values = query.ir, coerce_params(query, text.params)
    assert isinstance(plan, ReadPlan)
    note(compile_read(plan, values, datetime.now(UTC)).sql)
    plain = plain_graph(catalog, graph.records)
    found = [comparable(row) for row in run(spark, stored, plan, values)]
    if plan.order:
        assert found == [comparable(row) for row in evaluate(plan, plain, values)]
        return
    everything = evaluate(replace(plan, limit=None), plain, values)
    expected = Counter(comparable(row) for row in everything)
    if plan.limit is None:
        assert Counter(found) == expected
    else:
        assert len(found) == min(plan.limit, len(everything))
        assert Counter(found) <= expected


def run(
    spark: SparkSession,
    stored: Graph,
    plan: ReadPlan,
    params: dict[str, Any],
    frames: Frames | None = None,
) -> list[tuple[Any, ...]]:
    """The compiled query over tables in memory: the data source has tests of its own."""
    made = compile_read(plan, params, datetime.now(UTC))
    known = {} if frames is None else frames
    for view, (kind, type_name, columns) in made.views.items():
        key = (stored.uri, f"{kind}:{type_name}")
        if key not in known:
            known[key] = in_memory(spark, stored, key[1])
        known[key].select(*columns).createOrReplaceTempView(view)
    batches = spark.sql(made.sql, args=dict(made.arguments)).toArrow().to_batches()
    names = range(len(made.names))
    columns_of = ([values_of(batch.column(n)) for n in names] for batch in batches)
    return [row for columns in columns_of for row in zip(*columns, strict=True)]


def values_of(column: pa.Array) -> list[Any]:
    """Spark has U64 as decimals of 20 digits, alone and in lists; nothing else is that."""
    if column.type == UINT64_DECIMAL:
        column = column.cast(pa.uint64())
    elif pa.types.is_list(column.type) and column.type.value_type == UINT64_DECIMAL:
        column = column.cast(pa.list_(pa.uint64()))
    values: list[Any] = column.to_pylist()
    return values


def in_memory(spark: SparkSession, stored: Graph, type_name: str) -> DataFrame:
    reader = stored.snapshot().scan(type_name)
    schema = spark_schema(reader.schema)
    batches = list(for_spark(reader, schema))
    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return spark.createDataFrame(rows, schema)
