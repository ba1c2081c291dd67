"""Every type goes from Spark into the graph and back, with nulls, and reads in parallel."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import omnigraph
import omnigraph_spark
from omnigraph.api.graph import Graph
from omnigraph.bulk import Target, write_rows
from omnigraph.errors import ConstraintViolation, InvalidInput, NotFound

SCHEMA = """
node Thing {
    key: String @key
    s: String?  e: enum(x, y)?  b: Bool?  i: I32?  n: I64?  u: U32?  w: U64?  f: F32?  g: F64?
    d: Date?  t: DateTime?  z: Blob?  ls: [String]?  ln: [I64]?  lw: [U64]?  lb: [Bool]?
    lt: [DateTime]?  v: Vector(3)?
}
edge Has: Thing -> Thing { n: I32?  at: DateTime? }
"""
COLUMNS = (
    "key string, s string, e string, b boolean, i int, n bigint, u bigint, w decimal(20,0), "
    "f float, g double, d date, t timestamp, z binary, ls array<string>, ln array<bigint>, "
    "lw array<decimal(20,0)>, lb array<boolean>, lt array<timestamp>, v array<float>"
)
EARLY = datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)
FULL: tuple[Any, ...] = (
    "full",
    "é'\"\\ \U0001f600",
    "x",
    True,
    -(2**31),
    2**63 - 1,
    2**32 - 1,
    Decimal(2**64 - 1),
    0.5,
    1e300,
    date(1, 1, 1),
    EARLY,
    b"\x00\xff",
    ["", "a"],
    [-(2**63)],
    [Decimal(2**64 - 1), Decimal(0)],
    [True, False],
    [EARLY],
    [0.5, -1.0, 0.0],
)
EMPTY: tuple[Any, ...] = ("empty", *[None] * (len(FULL) - 1))
ZERO: tuple[Any, ...] = (
    "zero",
    "",
    "y",
    False,
    0,
    0,
    0,
    Decimal(0),
    0.0,
    -0.0,
    date(9999, 12, 31),
    datetime(1970, 1, 1, tzinfo=UTC),
    b"",
    [],
    [],
    [],
    [],
    [],
    [0.0, 0.0, 0.0],
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(tmp_path / "graph", SCHEMA)


def things(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([FULL, EMPTY, ZERO], COLUMNS)


def read(spark: SparkSession, graph: Graph, **options: str) -> DataFrame:
    return spark.read.format("omnigraph").options(uri=graph.uri, **options).load()


def write(rows: DataFrame, graph: Graph, save: str = "append", **options: str) -> None:
    rows.write.format("omnigraph").options(uri=graph.uri, **options).mode(save).save()


def as_rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    table = frame.toArrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def test_every_type_survives_the_way_there_and_back(spark: SparkSession, graph: Graph) -> None:
    sent = things(spark)
    write(sent, graph, node="Thing")
    back = read(spark, graph, table="nodes.Thing").select(*sent.columns)
    assert dict(back.dtypes) == dict(sent.dtypes)
    assert as_rows(back) == as_rows(sent)
    stored = graph.snapshot().get("Thing", "full")
    assert stored is not None
    assert stored["w"] == 2**64 - 1
    assert stored["t"] == EARLY
    assert stored["z"] == b"\x00\xff"
    assert graph.verify(rules=True).ok


def test_a_plain_table_has_the_columns_of_the_frame(spark: SparkSession, graph: Graph) -> None:
    sent = things(spark)
    write(sent, graph, table="raw.things")
    back = read(spark, graph, table="raw.things")
    assert back.dtypes == sent.dtypes
    assert as_rows(back) == as_rows(sent)
    write(sent.select("key"), graph, "overwrite", table="raw.things")
    assert read(spark, graph, table="raw.things").columns == ["key"]


def test_edges_nodes_and_tables_go_into_one_commit(spark: SparkSession, graph: Graph) -> None:
    before = graph.snapshot().version
    edges = spark.createDataFrame([("full", "zero", 1)], "src string, dst string, n int")
    with omnigraph_spark.graph_write(spark, graph.uri, message="all", actor="ada") as w:
        w.edge("Has", edges)
        w.node("Thing", things(spark))
        w.table("raw.edges", edges)
    assert w.rows == {"edge:Has": 1, "node:Thing": 3, "table:raw.edges": 1}
    assert w.commit is not None
    assert (w.commit.version, w.commit.message, w.commit.actor) == (before + 1, "all", "ada")
    assert set(w.commit.changed) == {"edge:Has", "node:Thing", "table:raw.edges"}
    back = read(spark, graph, edge="Has").select("src", "dst", "n", "at")
    assert as_rows(back) == [("full", "zero", 1, None)]


def test_a_block_that_fails_commits_nothing(spark: SparkSession, graph: Graph) -> None:
    before = graph.snapshot().commit
    with (
        pytest.raises(ConstraintViolation),
        omnigraph_spark.graph_write(spark, graph.uri) as w,
    ):
        w.node("Thing", things(spark))
        w.edge("Has", spark.createDataFrame([("full", "gone")], "src string, dst string"))
    with (
        pytest.raises(ZeroDivisionError),
        omnigraph_spark.graph_write(spark, graph.uri) as w,
    ):
        w.node("Thing", things(spark))
        raise ZeroDivisionError
    assert graph.snapshot().commit == before
    assert graph.collect().spared_transactions == 0


def test_merge_replaces_and_append_refuses(spark: SparkSession, graph: Graph) -> None:
    write(things(spark).select("key", "i"), graph, node="Thing")
    other = spark.createDataFrame([("full", 7), ("new", 8)], "key string, i int")
    write(other, graph, node="Thing", mode="merge")
    found = read(spark, graph, node="Thing").select("key", "i")
    assert as_rows(found) == [("empty", None), ("full", 7), ("new", 8), ("zero", 0)]
    with pytest.raises(Exception, match="KeyConflict"):
        write(other, graph, node="Thing")
    write(other, graph, "overwrite", node="Thing")
    assert read(spark, graph, node="Thing").count() == 2


def test_a_frame_stays_on_the_commit_it_was_made_on(spark: SparkSession, graph: Graph) -> None:
    write(things(spark).select("key"), graph, node="Thing")
    frame = read(spark, graph, node="Thing")
    graph.load(b'{"type":"Thing","data":{"key":"later"}}')
    assert frame.count() == 3
    assert read(spark, graph, node="Thing").count() == 4
    assert read(spark, graph, node="Thing", at="main@v1").count() == 0


def test_fragments_are_read_in_parallel(spark: SparkSession, graph: Graph) -> None:
    job = graph.begin_bulk([Target("node:Thing")])
    files = [
        write_rows(
            job, "node:Thing", pa.table({"key": [f"k{n}_{m}" for m in range(100)]}).to_reader()
        )
        for n in range(5)
    ]
    graph.finish_bulk(job, files)
    frame = read(spark, graph, node="Thing", partitions="3")
    sizes = frame.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sorted(sizes) == [100, 200, 200]
    assert frame.select("key").distinct().count() == 500


def test_columns_and_filters_reach_the_table(spark: SparkSession, graph: Graph) -> None:
    write(things(spark), graph, node="Thing")
    few = read(spark, graph, node="Thing", columns="key,i")
    assert few.columns == ["key", "i"]
    assert few.where("i = 0").count() == 1
    assert few.where("i IS NULL").count() == 1
    chosen = spark.read.format("omnigraph").options(uri=graph.uri, node="Thing")
    assert chosen.schema("g double").load().columns == ["g"]
    whole = read(spark, graph, node="Thing")
    assert whole.where("s LIKE 'é%' AND b AND d < DATE '1970-01-01'").count() == 1
    assert whole.where("t = TIMESTAMP '1970-01-01 00:00:00' AND w = 0").count() == 1
    assert whole.where("key IN ('full', 'zero') AND NOT (e = 'x')").count() == 1
    assert whole.where("g > 1e299").count() == 1


def test_a_gq_read_is_a_frame(spark: SparkSession, graph: Graph) -> None:
    write(things(spark), graph, node="Thing")
    text = "query q($i: I32) { match { $t: Thing  $t.i <= $i } return { $t.key as k, $t.i as i } }"
    frame = read(spark, graph, gq=text, params='{"i": 0}')
    assert frame.dtypes == [("k", "string"), ("i", "int")]
    assert as_rows(frame) == [("full", -(2**31)), ("zero", 0)]
    assert as_rows(frame.select("i")) == [(-(2**31),), (0,)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, InvalidInput),
        ({"node": "Thing", "edge": "Has"}, InvalidInput),
        ({"table": "Thing"}, InvalidInput),
        ({"node": "Thingy"}, NotFound),
        ({"node": "Thing", "at": "nowhere"}, NotFound),
        ({"node": "Thing", "columns": "key,nope"}, NotFound),
        ({"gq": 'query q() { insert Thing { key: "x" } }'}, InvalidInput),
    ],
)
def test_bad_options_say_what_is_wrong(
    spark: SparkSession, graph: Graph, options: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(Exception, match=error.__name__):
        read(spark, graph, **options)
