"""Streams: every change comes once, every micro-batch is committed once, restarts included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import omnigraph
import omnigraph_spark
from omnigraph.api.graph import Graph
from omnigraph.errors import AlreadyApplied

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "graph", SCHEMA)


def load(graph: Graph, **ages: int) -> None:
    rows = pa.table({"name": list(ages), "age": pa.array(ages.values(), pa.int32())})
    graph.load({"Person": rows})


def changed(spark: SparkSession, uri: str, **options: str) -> list[tuple[Any, ...]]:
    named = {"uri": uri, "changes": "true", "from": "beginning", "node": "Person", **options}
    frame = spark.read.format("omnigraph").options(**named).load()
    return sorted(map(tuple, frame.select("_version", "_change", "name", "age").collect()))


def test_changes_are_a_table(spark: SparkSession, graph: Graph, uri: str) -> None:
    load(graph, ada=1, bob=2)
    load(graph, ada=5)
    with graph.transaction() as t:
        t.delete("Person", ["bob"])
    everything = [(2, "insert", "ada", 1), (2, "insert", "bob", 2)]
    everything += [(3, "update", "ada", 5), (4, "delete", "bob", 2)]
    assert changed(spark, uri) == everything
    assert changed(spark, uri, **{"from": "v2", "at": "main@v3"}) == everything[2:3]
    generic = {"uri": uri, "changes": "true", "from": "v3"}
    (row,) = spark.read.format("omnigraph").options(**generic).load().collect()
    assert (row.op, row.type_name, row.id, row.after) == ("delete", "Person", "bob", None)
    assert '"age":2' in row.before


def follow(spark: SparkSession, uri: str, place: Path) -> list[tuple[Any, ...]]:
    """The changes since the checkpoint."""
    seen: list[tuple[Any, ...]] = []
    options = {"uri": uri, "changes": "true", "from": "beginning", "node": "Person"}
    query = (
        spark.readStream.format("omnigraph")
        .options(**options)
        .load()
        .select("_change", "name", "age")
        .writeStream.foreachBatch(lambda rows, _: seen.extend(map(tuple, rows.collect())))
        .option("checkpointLocation", str(place))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(seen)


def test_a_stream_goes_on_where_its_checkpoint_is(
    spark: SparkSession, graph: Graph, uri: str, tmp_path: Path
) -> None:
    load(graph, ada=1)
    load(graph, bob=2)
    place = tmp_path / "checkpoint"
    assert follow(spark, uri, place) == [("insert", "ada", 1), ("insert", "bob", 2)]
    assert follow(spark, uri, place) == []
    load(graph, ada=9)
    assert follow(spark, uri, place) == [("update", "ada", 9)]


def copy(spark: SparkSession, source: Path, uri: str, place: Path) -> StreamingQuery:
    """Rows of JSON files into a graph, all that are there."""
    query = (
        spark.readStream.schema("name string, age int")
        .json(str(source))
        .writeStream.format("omnigraph")
        .options(uri=uri, node="Person", stream="copy")
        .option("checkpointLocation", str(place))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def test_a_batch_that_comes_again_is_committed_once(
    spark: SparkSession, graph: Graph, uri: str, tmp_path: Path
) -> None:
    source, place = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    (source / "1.json").write_text('{"name": "ada", "age": 1}\n{"name": "bob", "age": 2}\n')
    copy(spark, source, uri, place)
    assert graph.snapshot().count("Person") == 2
    assert graph.last_batch("copy") == 0
    before = graph.snapshot().commit
    # As if the driver had died after the graph's commit and before the checkpoint's.
    for file in (place / "commits").glob("*0*"):
        file.unlink()
    copy(spark, source, uri, place)
    assert graph.snapshot().commit == before
    (source / "2.json").write_text('{"name": "cy", "age": 3}\n')
    copy(spark, source, uri, place)
    assert graph.snapshot().count("Person") == 3
    assert graph.last_batch("copy") == 1
    assert graph.collect().spared_transactions == 0
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.verify(rules=True).ok


def test_several_tables_of_a_batch_land_once(spark: SparkSession, graph: Graph, uri: str) -> None:
    rows = spark.createDataFrame([("ada", 1)], "name string, age int")

    def batch() -> None:
        with omnigraph_spark.graph_write(spark, uri, once=("s", 7)) as w:
            w.node("Person", rows, mode="merge")
            w.table("raw.people", rows)

    batch()
    with pytest.raises(AlreadyApplied):
        batch()
    assert graph.snapshot().plain_table("raw.people").rows == 1
    assert graph.last_batch("s") == 7
