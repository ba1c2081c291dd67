"""Pipelines: dirty data in, expectations and checks held, one publish or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.errors import ConstraintViolation, InvalidInput, MergeConflict
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from omnigraph_spark.pipeline import PipelineFailed, run
from omnigraph_spark.pipeline.pipeline_files import from_document, read_pipeline

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person { since: I32? }
"""
EVENTS = [
    {"who": "ada", "age": 36, "friend": "bob", "since": 2001},
    {"who": "bob", "age": -5, "friend": "ada", "since": 2002},
    {"who": None, "age": 1, "friend": None, "since": None},
    {"who": "cy", "age": 9, "friend": "bob", "since": 2003},
]
DOCUMENT: dict[str, Any] = {
    "name": "people",
    "graph": "graph",
    "sources": {"events": {"format": "json", "path": "events.json"}},
    "transforms": {
        "people": "SELECT who AS name, CAST(age AS INT) AS age FROM events",
        "knows": {
            "sql": "SELECT who AS src, friend AS dst, CAST(since AS INT) AS since FROM events "
            "WHERE friend IS NOT NULL"
        },
        "daily": "SELECT since, count(*) AS n FROM knows GROUP BY since",
    },
    "nodes": {
        "Person": {
            "from": "people",
            "mode": "merge",
            "expect": [
                {"check": "name IS NOT NULL", "otherwise": "drop", "name": "has a name"},
                {"check": "age >= 0", "otherwise": "quarantine"},
            ],
        }
    },
    "edges": {"Knows": {"from": "knows"}},
    "tables": {"stats.daily": {"from": "daily", "mode": "overwrite"}},
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    (tmp_path / "events.json").write_text("\n".join(json.dumps(event) for event in EVENTS))
    return omnigraph.init(tmp_path / "graph", SCHEMA)


@pytest.fixture(params=["storage", "server"])
def uri(request: pytest.FixtureRequest, graph: Graph) -> Iterator[str]:
    """How a pipeline reaches the graph."""
    if request.param == "storage":
        yield "graph"
        return
    with Server(Config(graphs={"g": graph.uri}, port=0, optimize_seconds=0)) as server:
        yield server.uri


def document(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    return {**DOCUMENT, **changes}


def test_everything_that_holds_is_published_at_once(
    spark: SparkSession, graph: Graph, uri: str, tmp_path: Path
) -> None:
    graph.load(b'{"type":"Person","data":{"name":"bob","age":1}}')
    before = graph.snapshot().version
    check = {
        "name": "three people",
        "gq": "query q($n: String) { match { $p: Person  $p.name != $n } "
        "return { count($p) as n } }",
        "params": {"n": "Bob's"},
        "expect": "n = 3",
    }
    steps: list[str] = []
    changed = document(graph=uri, checks=[check], message="Ada's people")
    report = run(spark, from_document(changed, tmp_path, "people"), steps.append)
    assert graph.snapshot().version == before + 1
    assert report.rows["node:Person"] == 2
    assert report.rows["edge:Knows"] == 3
    assert report.dropped == {"node:Person": {"has a name": 1}}
    assert report.quarantined == {"node:Person": {"age >= 0": 1}}
    assert report.commit == graph.snapshot().commit
    assert graph.commits()[0].message == "Ada's people"
    assert [b.name for b in graph.branches()] == ["main"]
    aside = graph.snapshot().plain_table("quarantine.person").scan().read_all().to_pylist()
    assert aside == [{"name": "bob", "age": -5, "_expectation": "age >= 0"}]
    assert graph.snapshot().plain_table("stats.daily").rows == 3
    assert steps[0] == "reading events" and steps[-1] == "publishing to main"
    assert graph.verify(rules=True).ok


def refused(spark: SparkSession, graph: Graph, tmp_path: Path, /, **changes: Any) -> Exception:  # noqa: ANN401
    """What a pipeline is refused with; nothing of it is there."""
    before = graph.snapshot().commit
    with pytest.raises((PipelineFailed, ConstraintViolation, MergeConflict)) as caught:
        run(spark, from_document(document(**changes), tmp_path, "people"))
    assert graph.snapshot().commit == before
    assert [b.name for b in graph.branches()] == ["main"]
    return caught.value


def test_a_row_that_must_not_be_there_fails_all(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    person = {"from": "people", "expect": [{"check": "name IS NOT NULL", "otherwise": "fail"}]}
    failure = refused(spark, graph, tmp_path, nodes={"Person": person}, edges={})
    assert "1 rows of node:Person break" in str(failure)


def test_a_check_that_does_not_pass_publishes_nothing(
    spark: SparkSession, graph: Graph, uri: str, tmp_path: Path
) -> None:
    graph.load(b'{"type":"Person","data":{"name":"bob","age":1}}')
    check = {
        "name": "nobody is ada",
        "gq": 'query q() { match { $p: Person { name: "ada" } } return { count($p) as n } }',
        "expect": "n = 0",
    }
    assert "nobody is ada" in str(refused(spark, graph, tmp_path, graph=uri, checks=[check]))


def test_what_the_graph_refuses_publishes_nothing(
    spark: SparkSession, graph: Graph, uri: str, tmp_path: Path
) -> None:
    # An edge to somebody put aside.
    assert "bob" in str(refused(spark, graph, tmp_path, graph=uri))


def test_a_branch_that_cannot_be_deleted_does_not_hide_what_failed(
    spark: SparkSession,
    graph: Graph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unreachable(*_: object) -> None:
        raise OSError("no such store")

    monkeypatch.setattr(Graph, "delete_branch", unreachable)
    person = {"from": "people", "expect": [{"check": "name IS NOT NULL"}]}
    changes = document(nodes={"Person": person}, edges={})
    with pytest.raises(PipelineFailed, match="rows of node:Person break"):
        run(spark, from_document(changes, tmp_path, "people"))
    (left,) = [branch for branch in graph.branches() if branch.name != "main"]
    assert left.expires is not None
    assert f"branch {left.name} could not be deleted" in caplog.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sauces": {}}, "sources"),
        ({"nodes": {"Person": {"from": "nowhere"}}}, "nowhere"),
        (
            {"nodes": {"Person": {"from": "people", "expect": [{"check": "a", "otherwise": "x"}]}}},
            "x",
        ),
        ({"nodes": {}, "edges": {}, "tables": {}}, "writes nothing"),
        ({"transforms": {"people": {"function": "no.such:thing"}}}, "no.such"),
        ({"graph": None}, "no graph"),
    ],
)
def test_a_bad_document_says_what_is_wrong(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=said):
        from_document(document(**changes), tmp_path, "people")


MODULE = """
from omnigraph_spark import Output, Pipeline, Source, Transform

pipeline = Pipeline(
    name="numbers",
    graph="{graph}",
    sources={{"numbers": Source(function=lambda spark: spark.range(5))}},
    transforms={{
        "people": Transform(
            function=lambda spark, made: made["numbers"].selectExpr("concat('p', id) AS name")
        )
    }},
    outputs=(Output("node:Person", "people"),),
)
"""


def test_a_pipeline_in_python_uses_functions(
    spark: SparkSession, graph: Graph, tmp_path: Path
) -> None:
    file = tmp_path / "numbers.py"
    file.write_text(MODULE.format(graph=graph.uri))
    assert run(spark, read_pipeline(file)).rows == {"node:Person": 5}
    assert graph.snapshot().count("Person") == 5
