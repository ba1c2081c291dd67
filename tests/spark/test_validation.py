"""What a bulk write breaks is told alike by the engine and by joins in Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import omnigraph
import omnigraph_spark
from omnigraph.api.graph import Graph
from omnigraph.bulk import Target, write_rows
from omnigraph.errors import ConstraintViolation, InvalidInput, KeyConflict, OmniGraphError
from omnigraph_spark.writing import graph_write as writing

SCHEMA = """
node Person { name: String @key  mail: String?  n: I32?  @unique(mail)  @unique(n, mail) }
edge Knows: Person -> Person @card(0..2) { since: I32? }
edge Lives: Person -> Person @card(1..1)
"""
PERSON = "name string, mail string, n int"
EDGE = "id string, src string, dst string"
Rows = list[tuple[Any, ...]]
Writes = list[tuple[str, str, Rows]]
"""Table, mode and rows."""


@pytest.fixture
def graphs(tmp_path: Path) -> list[Graph]:
    """The same graph twice: Ada and Bob, who know each other and live with Ada."""
    found = []
    for name in ("engine", "spark"):
        graph = omnigraph.init(tmp_path / name, SCHEMA)
        ends = {"src": ["ada", "bob"], "dst": ["bob", "ada"]}
        graph.load(
            {
                "Person": pa.table({"name": ["ada", "bob"], "mail": ["a@x", None], "n": [1, 2]}),
                "Knows": pa.table({"id": ["k1", "k2"], **ends}),
                "Lives": pa.table({"id": ["l1", "l2"], "src": ["ada", "bob"], "dst": ["ada"] * 2}),
            }
        )
        found.append(graph)
    return found


def spark_says(spark: SparkSession, graph: Graph, writes: Writes) -> Any:  # noqa: ANN401
    """The error and its facts, or the rows that are there afterwards."""

    def run() -> None:
        with omnigraph_spark.graph_write(spark, graph.uri, validation="spark") as w:
            for key, mode, rows in writes:
                schema = PERSON if key.startswith("node") else EDGE
                frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), schema)
                w.rows_of(key, frame, mode)  # type: ignore[arg-type]

    return outcome(graph, run)


def engine_says(graph: Graph, writes: Writes) -> Any:  # noqa: ANN401
    """The same without Spark."""

    def run() -> None:
        job = graph.begin_bulk([Target(key, mode) for key, mode, _ in writes])  # type: ignore[arg-type]
        files = []
        for key, _, rows in writes:
            half = len(rows) // 2
            for part in (rows[:half], rows[half:]):
                schema = to_arrow_schema(PERSON if key.startswith("node") else EDGE)
                table = pa.Table.from_pylist(
                    [dict(zip(schema.names, r, strict=True)) for r in part], schema
                )
                files.append(write_rows(job, key, table.to_reader()))
        graph.finish_bulk(job, files)

    return outcome(graph, run)


def to_arrow_schema(columns: str) -> pa.Schema:
    types = {"string": pa.string(), "int": pa.int32()}
    pairs = (column.split(" ") for column in columns.split(", "))
    return pa.schema([(name, types[kind]) for name, kind in pairs])


def outcome(graph: Graph, run: Callable[[], None]) -> Any:  # noqa: ANN401
    before = graph.snapshot().commit
    try:
        run()
    except OmniGraphError as error:
        assert graph.snapshot().commit == before
        return type(error), str(error), error.details
    snapshot = graph.snapshot()
    return [
        sorted(map(repr, snapshot.scan(name).read_all().to_pylist()))
        for name in ("Person", "Knows", "Lives")
    ]


CAROL, DAVE = ("carol", "c@x", 3), ("dave", "d@x", 4)
REFUSED: dict[str, tuple[Writes, type[OmniGraphError], str]] = {
    "a key twice": ([("node:Person", "merge", [CAROL, DAVE, CAROL])], ConstraintViolation, "carol"),
    "an edge twice": (
        [("edge:Knows", "append", [("k9", "ada", "bob"), ("k9", "bob", "ada")])],
        KeyConflict,
        "k9",
    ),
    "a key that is there": ([("node:Person", "append", [("bob", None, 9)])], KeyConflict, "bob"),
    "a tuple that is held": (
        [("node:Person", "append", [("carol", "a@x", 3)])],
        ConstraintViolation,
        "'ada' and 'carol'",
    ),
    "a tuple twice": (
        [("node:Person", "merge", [CAROL, ("dave", "c@x", 4)])],
        ConstraintViolation,
        "'carol' and 'dave'",
    ),
    "an end that is nowhere": (
        [
            ("node:Person", "append", [CAROL]),
            ("edge:Knows", "append", [("k8", "carol", "zoe"), ("k9", "ada", "yan")]),
        ],
        ConstraintViolation,
        "'yan' not found",
    ),
    "a node that edges name": ([("node:Person", "overwrite", [CAROL])], ConstraintViolation, "ada"),
    "too many edges": (
        [("edge:Knows", "append", [("k8", "ada", "ada"), ("k9", "ada", "ada")])],
        ConstraintViolation,
        "ada: 3 > 2",
    ),
    "an edge that went elsewhere": (
        [("node:Person", "append", [CAROL]), ("edge:Lives", "merge", [("l1", "carol", "ada")])],
        ConstraintViolation,
        "ada: 0 < 1",
    ),
    "an edge that is missing": (
        [("edge:Lives", "overwrite", [("l9", "bob", "ada")])],
        ConstraintViolation,
        "ada: 0 < 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_ways_refuse_with_the_same_words(
    spark: SparkSession, graphs: list[Graph], case: str
) -> None:
    writes, error, words = REFUSED[case]
    joins = spark_says(spark, graphs[1], writes)
    assert joins == engine_says(graphs[0], writes)
    assert joins[0] is error
    assert words in joins[1]


def test_both_ways_write_the_same_rows(spark: SparkSession, graphs: list[Graph]) -> None:
    writes: list[Writes] = [
        [
            ("node:Person", "merge", [CAROL, ("bob", "b@x", 5)]),
            ("edge:Knows", "append", [("k3", "carol", "bob"), ("k4", "ada", "carol")]),
            ("edge:Lives", "merge", [("l1", "ada", "carol"), ("l3", "carol", "ada")]),
        ],
        [("edge:Knows", "merge", [("k1", "ada", "bob"), ("k7", "bob", "ada")])],
        # An id that stands twice: the last row counts, whatever the others said.
        [("edge:Knows", "merge", [("k1", "zoe", "zoe"), ("k1", "ada", "carol")])],
        [
            ("node:Person", "overwrite", [CAROL]),
            ("edge:Knows", "overwrite", []),
            ("edge:Lives", "overwrite", [("l3", "carol", "carol")]),
        ],
    ]
    for each in writes:
        joins = spark_says(spark, graphs[1], each)
        assert isinstance(joins, list), joins
        assert joins == engine_says(graphs[0], each)
    assert all(graph.verify(rules=True).ok for graph in graphs)


def test_many_rows_are_validated_by_spark(
    spark: SparkSession, graphs: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(rows: int) -> list[str]:
        said: list[str] = []
        monkeypatch.setattr(writing, "ENGINE_ROWS", rows)
        with omnigraph_spark.graph_write(spark, graphs[0].uri, on_progress=said.append) as w:
            w.node("Person", spark.createDataFrame([CAROL, DAVE], PERSON), "merge")
        return said

    assert told(2)[-1] == "validating in the engine"
    assert told(1)[-1] == "validating with Spark"


def test_ways_to_validate_that_there_are_not_are_refused(
    spark: SparkSession, graphs: list[Graph]
) -> None:
    with pytest.raises(InvalidInput, match="not a kind of validation"):
        omnigraph_spark.graph_write(spark, graphs[0].uri, validation="guess")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a server validates"):
        omnigraph_spark.graph_write(spark, "grpc://127.0.0.1:1", validation="spark")
    rows = spark.createDataFrame([CAROL], PERSON).write.format("omnigraph").mode("append")
    with pytest.raises(Exception, match="graph_write"):
        rows.options(uri=graphs[0].uri, node="Person", validation="spark").save()
