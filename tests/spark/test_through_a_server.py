"""Reads and writes through a Flight SQL server: partitions of one snapshot, one commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph
import omnigraph_spark
from omnigraph.api.graph import Graph
from omnigraph.bulk import Target, write_rows
from omnigraph.errors import MergeConflict
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from spark.test_round_trips import SCHEMA, as_rows, things


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Five files of a hundred things."""
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    job = graph.begin_bulk([Target("node:Thing")])
    files = []
    for part in range(5):
        keys = [f"k{part}_{n}" for n in range(100)]
        rows = pa.table({"key": keys, "i": pa.array(range(100), pa.int32())})
        files.append(write_rows(job, "node:Thing", rows.to_reader()))
    graph.finish_bulk(job, files)
    return graph


@pytest.fixture
def server(graph: Graph) -> Iterator[Server]:
    config = Config(graphs={"things": graph.uri}, port=0, optimize_seconds=0)
    with Server(config) as running:
        yield running


def read(spark: SparkSession, server: Server, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(uri=server.uri, **options).load()


def write(rows: DataFrame, server: Server, save: str = "append", **options: str) -> None:
    rows.write.format("omnigraph").options(uri=server.uri, **options).mode(save).save()


def test_reading_needs_no_setting_of_spark(spark: SparkSession, server: Server) -> None:
    pushdown = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(pushdown)
    spark.conf.set(pushdown, "false")
    try:
        assert read(spark, server, table="nodes.Thing").where("i < 3").count() == 15
    finally:
        spark.conf.set(pushdown, str(before))


def test_a_table_is_read_in_partitions_of_one_snapshot(
    spark: SparkSession, server: Server, graph: Graph
) -> None:
    frame = read(spark, server, table="nodes.Thing", partitions="3")
    graph.load(b'{"type":"Thing","data":{"key":"later"}}')
    sizes = frame.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert len(sizes) == 3
    assert sum(sizes) == 500
    assert frame.select("key").distinct().count() == 500
    assert read(spark, server, table="nodes.Thing").count() == 501


def test_sql_and_gq_are_answered_by_the_server(
    spark: SparkSession, server: Server, graph: Graph
) -> None:
    counted = read(spark, server, query="SELECT i, count(*) AS n FROM Thing GROUP BY i;")
    assert counted.dtypes == [("i", "int"), ("n", "bigint")]
    assert sorted(map(tuple, counted.where("i < 3").collect())) == [(0, 5), (1, 5), (2, 5)]
    text = "query q($i: I32) { match { $t: Thing  $t.i <= $i } return { $t.key as k, $t.i as i } }"
    assert read(spark, server, gq=text, params='{"i": 1}').count() == 10
    several = f"{text} query all() {{ match {{ $t: Thing }} return {{ count($t) as n }} }}"
    assert read(spark, server, gq=several, gq_name="q", params='{"i": 1}').count() == 10
    (row,) = omnigraph_spark.query(spark, server.uri, several, name="all").collect()
    assert row.n == 500
    graph.register_queries(several)
    assert read(spark, server, gq_name="q", params='{"i": 1}').count() == 10
    with pytest.raises(Exception, match="no stored query 'q\\(\\)'"):
        read(spark, server, gq_name="q()")


class Counted:
    """What a server has sent since this was made."""

    def __init__(self, server: Server) -> None:
        self._registry = server.service.metrics.registry
        self._before = self._now()

    def _now(self) -> tuple[float, float, float]:
        reads = {"kind": "read"}
        found = (
            self._registry.get_sample_value("omnigraph_statement_seconds_count", reads),
            self._registry.get_sample_value("omnigraph_rows_sent_total"),
            self._registry.get_sample_value("omnigraph_bytes_sent_total"),
        )
        streams, rows, size = (value or 0.0 for value in found)
        return streams, rows, size

    def sent(self) -> tuple[int, int, int]:
        """Streams, rows and bytes."""
        streams, rows, size = (n - b for n, b in zip(self._now(), self._before, strict=True))
        return int(streams), int(rows), int(size)


def test_the_server_sends_what_is_wanted_in_several_streams_and_once(
    spark: SparkSession, server: Server
) -> None:
    frame = read(spark, server, node="Thing", partitions="3")
    counted = Counted(server)
    assert len(frame.collect()) == 500
    streams, rows, whole = counted.sent()
    assert (streams, rows) == (3, 500)
    counted = Counted(server)
    assert len(frame.where("i = 7").collect()) == 5
    assert counted.sent()[1] == 5
    few = read(spark, server, node="Thing", partitions="3", columns="i")
    counted = Counted(server)
    assert len(few.collect()) == 500
    assert counted.sent()[2] * 5 < whole


def test_columns_are_known_without_running_the_query(spark: SparkSession, server: Server) -> None:
    counted = Counted(server)
    cubed = "SELECT a.key AS k, b.i + c.i AS n FROM Thing a, Thing b, Thing c ORDER BY n"
    assert read(spark, server, query=cubed).dtypes == [("k", "string"), ("n", "int")]
    assert counted.sent()[1] <= 1  # the commit that it is pinned to


def test_filters_and_columns_reach_the_server(spark: SparkSession, server: Server) -> None:
    frame = read(spark, server, node="Thing", columns="key,i")
    assert frame.where("i = 7").count() == 5
    assert frame.where("key LIKE 'k3%' AND i IN (1, 2)").count() == 2
    assert frame.where("key LIKE '%3_9' AND i IS NOT NULL").count() == 1


def test_every_type_survives_the_way_through_a_server(
    spark: SparkSession, server: Server, graph: Graph
) -> None:
    sent = things(spark)
    before = graph.snapshot().version
    write(sent, server, node="Thing")
    assert graph.snapshot().version == before + 1
    back = read(spark, server, node="Thing").select(*sent.columns)
    assert dict(back.dtypes) == dict(sent.dtypes)
    assert as_rows(back.where("key IN ('full', 'empty', 'zero')")) == as_rows(sent)
    assert [b.name for b in graph.branches()] == ["main"]


def test_several_frames_are_one_commit_through_a_server(
    spark: SparkSession, server: Server, graph: Graph
) -> None:
    before = graph.snapshot().version
    edges = spark.createDataFrame([("full", "k0_0", 1)], "src string, dst string, n int")
    with omnigraph_spark.graph_write(spark, server.uri) as w:
        w.edge("Has", edges)
        w.node("Thing", things(spark))
        w.table("raw.edges", edges)
    assert w.rows == {"edge:Has": 1, "node:Thing": 3, "table:raw.edges": 1}
    assert graph.snapshot().version == before + 1
    assert graph.snapshot().count("Has") == 1
    assert read(spark, server, table="raw.edges").count() == 1


def test_modes_through_a_server(spark: SparkSession, server: Server, graph: Graph) -> None:
    other = spark.createDataFrame([("k0_0", -1), ("new", 8)], "key string, i int")
    write(other, server, node="Thing", mode="merge")
    assert graph.snapshot().count("Thing") == 501
    found = graph.snapshot().get("Thing", "k0_0")
    assert found is not None and found["i"] == -1
    write(other, server, "overwrite", node="Thing")
    assert graph.snapshot().count("Thing") == 2


def test_what_the_server_refuses_leaves_nothing(
    spark: SparkSession, server: Server, graph: Graph
) -> None:
    before = graph.snapshot().commit
    with (
        pytest.raises(MergeConflict, match="orphan_edge"),
        omnigraph_spark.graph_write(spark, server.uri) as w,
    ):
        w.node("Thing", spark.createDataFrame([("new",)], "key string"))
        w.edge("Has", spark.createDataFrame([("new", "gone")], "src string, dst string"))
    assert graph.snapshot().commit == before
    assert [b.name for b in graph.branches()] == ["main"]
