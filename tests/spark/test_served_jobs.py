"""A job through a server ends like one that writes to the storage, table by table and mode by mode.

Jobs run here without a Spark session: what tasks and the driver do is called directly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.bulk import Target
from omnigraph.errors import AlreadyApplied, InvalidInput, NotFound, OmniGraphError
from omnigraph.storage.core.model import now
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.maintenance import collect
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.spark_types import arrow_schema
from omnigraph_spark.writing.write_job import CommitOptions, Job, Part, begin

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique }
node Note { text: String? }
edge Knows: Person -> Person @card(0..2) { since: I32? }
"""
PERSON, NOTE = "name string, age int", "text string"
KNOWS, BY_ID, PLAIN = (
    "src string, dst string, since int",
    "id string, src string, dst string",
    "n int",
)
Rows = list[tuple[Any, ...]]
ENDING = CommitOptions()


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Ada and Bob, who know each other, a note, and a plain table."""
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    people = {"name": ["ada", "bob"], "age": pa.array([1, 2], pa.int32()), "mail": ["a@x", None]}
    ends = {"id": ["k1", "k2"], "src": ["ada", "bob"], "dst": ["bob", "ada"]}
    graph.load({"Person": pa.table(people), "Knows": pa.table(ends)})
    write(GraphLocation(graph.uri), "append", [("table:raw.n", PLAIN, [[(1,)]])])
    return graph


@pytest.fixture
def server(graph: Graph) -> Iterator[Server]:
    with Server(Config(graphs={"g": graph.uri}, port=0, optimize_seconds=0)) as running:
        yield running


def write(place: GraphLocation, mode: Any, writes: list[tuple[str, str, list[Rows]]]) -> None:  # noqa: ANN401
    """What a write does, without Spark: tasks one after the other, then the end of the job."""
    schemas = {key: columns_of(columns) for key, columns, _ in writes}
    targets = [Target(key, mode, arrow_schema(schema)) for key, schema in schemas.items()]
    job = begin(place, "main", targets, CommitOptions())
    parts = []
    try:
        for key, _, tasks in writes:
            arrow = arrow_schema(schemas[key])
            for rows in tasks:
                records = [dict(zip(arrow.names, row, strict=True)) for row in rows]
                batches = pa.Table.from_pylist(records, arrow).to_batches()
                parts.append(job.write(key, batches, schemas[key]))
        job.finish(parts, CommitOptions())
    except BaseException:
        job.abandon()
        raise


def columns_of(text: str) -> StructType:
    """Spark's own parser of such texts wants a session."""
    kinds = {"string": StringType(), "int": IntegerType()}
    pairs = (column.split(" ") for column in text.split(", "))
    return StructType([StructField(name, kinds[kind]) for name, kind in pairs])


def contents(graph: Graph) -> dict[str, list[dict[str, Any]]]:
    """Everything, without the ids that were made up."""
    snapshot = omnigraph.open(graph.uri).snapshot()
    tables = {name: snapshot.scan(name).read_all() for name in ("Person", "Note", "Knows")}
    tables["n"] = snapshot.plain_table("raw.n").scan().read_all()
    for row in (found := {name: t.to_pylist() for name, t in tables.items()})["Note"]:
        del row["id"]
    for row in found["Knows"]:
        row["id"] = row["id"] if len(row["id"]) == 2 else "new"
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


CASES: dict[str, tuple[str, list[tuple[str, str, list[Rows]]]]] = {
    "nodes are appended": ("append", [("node:Person", PERSON, [[("cy", 3)], [("dot", None)], []])]),
    "nodes are merged": ("merge", [("node:Person", PERSON, [[("ada", 9)], [("cy", 3)]])]),
    # Edges stay: the nodes they name come back.
    "nodes take the place of others": (
        "overwrite",
        [("node:Person", PERSON, [[("ada", 5), ("bob", 6)], [("cy", 7)]])],
    ),
    "nodes without a key are appended": ("append", [("node:Note", NOTE, [[("x",)], [(None,)]])]),
    "edges are appended": ("append", [("edge:Knows", KNOWS, [[("ada", "ada", 1)], []])]),
    "edges are merged by id": ("merge", [("edge:Knows", BY_ID, [[("k1", "ada", "ada")]])]),
    "edges without an id are new": ("merge", [("edge:Knows", KNOWS, [[("ada", "ada", 4)]])]),
    "edges take the place of others": ("overwrite", [("edge:Knows", KNOWS, [[("bob", "bob", 1)]])]),
    "edges all go": ("overwrite", [("edge:Knows", KNOWS, [[]])]),
    "a plain table grows": ("append", [("table:raw.n", PLAIN, [[(2,)], [(None,)]])]),
    "a plain table is made anew": ("overwrite", [("table:raw.n", "m string", [[("x",)]])]),
    "a plain table is emptied": ("overwrite", [("table:raw.n", "m string", [[]])]),
    "nodes and edges at once": (
        "append",
        [("edge:Knows", KNOWS, [[("cy", "ada", 1)]]), ("node:Person", PERSON, [[("cy", 3)]])],
    ),
}
REFUSED: dict[str, tuple[str, list[tuple[str, str, list[Rows]]]]] = {
    "a key that is there": ("append", [("node:Person", PERSON, [[("cy", 1)], [("ada", 1)]])]),
    "a key twice": ("append", [("node:Person", PERSON, [[("cy", 1)], [("cy", 2)]])]),
    "a key twice, merged": ("merge", [("node:Person", PERSON, [[("cy", 1)], [("cy", 2)]])]),
    "a tuple twice": (
        "append",
        [("node:Person", "name string, mail string", [[("cy", "a@x")]])],
    ),
    "an end that is nowhere": ("append", [("edge:Knows", KNOWS, [[("ada", "zoe", 1)]])]),
    "too many edges": ("append", [("edge:Knows", KNOWS, [[("ada", "ada", 1), ("ada", "bob", 2)]])]),
    "nodes that edges name": ("overwrite", [("node:Person", PERSON, [[("cy", 1)]])]),
    "a plain table cannot merge": ("merge", [("table:raw.n", PLAIN, [[(1,)]])]),
    "a type that is not there": ("append", [("node:Persons", PERSON, [[("cy", 1)]])]),
    "a column that is not there": ("append", [("node:Note", "txt string", [[("x",)]])]),
    "a null that must not be": ("append", [("node:Person", PERSON, [[(None, 1)]])]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_server_leaves_the_rows_that_the_storage_has(
    case: str, graph: Graph, server: Server, tmp_path: Path
) -> None:
    mode, writes = CASES[case]
    other = omnigraph.init(tmp_path / "other", SCHEMA)
    other.load(_copied(graph))
    write(GraphLocation(other.uri), "append", [("table:raw.n", PLAIN, [[(1,)]])])
    before = graph.snapshot().version
    write(GraphLocation(server.uri), mode, writes)
    assert graph.snapshot().version == before + 1
    write(GraphLocation(other.uri), mode, writes)
    assert contents(graph) == contents(other)
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.verify(rules=True).ok


def _copied(graph: Graph) -> dict[str, pa.Table]:
    snapshot = graph.snapshot()
    people = snapshot.scan("Person").read_all().drop_columns(["id"])
    return {"Person": people, "Knows": snapshot.scan("Knows").read_all()}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_storage_refuses_a_server_refuses(case: str, graph: Graph, server: Server) -> None:
    mode, writes = REFUSED[case]
    before = graph.snapshot().commit
    for uri in (graph.uri, server.uri):
        with pytest.raises(OmniGraphError):
            write(GraphLocation(uri), mode, writes)
    assert graph.snapshot().commit == before
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_the_branch_of_a_job_whose_driver_died_goes_with_a_collection(
    graph: Graph, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_write(GraphLocation(server.uri))
    (left,) = [branch for branch in graph.branches() if branch.name != "main"]
    assert left.owner == "spark"
    before = contents(graph)
    for hours, taken in ((23, ()), (25, (left.name,))):
        later = now() + timedelta(hours=hours)
        monkeypatch.setattr(collect, "now", lambda later=later: later)
        monkeypatch.setattr(RawStore, "now", lambda self, later=later: later)
        assert graph.collect().expired_branches == taken
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert contents(graph) == before
    assert graph.verify(rules=True).ok


def test_what_cannot_work_is_told_before_rows_are_sent(server: Server) -> None:
    columns = arrow_schema(columns_of(PLAIN))
    with pytest.raises(InvalidInput, match="have no ids"):
        begin(
            GraphLocation(server.uri),
            "main",
            [Target("table:raw.n", "merge", columns)],
            CommitOptions(),
        )
    with pytest.raises((InvalidInput, NotFound), match="Persons"):
        begin(
            GraphLocation(server.uri),
            "main",
            [Target("node:Persons", "append", columns)],
            CommitOptions(),
        )


def a_write(place: GraphLocation, ending: CommitOptions = ENDING) -> tuple[Job, list[Part]]:
    """A job that appends a person, up to its end."""
    schema = columns_of(PERSON)
    columns = arrow_schema(schema)
    job = begin(place, "main", [Target("node:Person", "append", columns)], ending)
    rows = pa.Table.from_pylist([{"name": "cy", "age": 3}], columns)
    return job, [job.write("node:Person", rows.to_batches(), schema)]


def test_a_committed_write_succeeds_also_if_its_branch_cannot_be_dropped(
    graph: Graph, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job, parts = a_write(GraphLocation(server.uri))
    commit = dbapi.Connection.commit

    def commit_and_go(connection: dbapi.Connection) -> None:
        commit(connection)
        server.close(0)

    monkeypatch.setattr(dbapi.Connection, "commit", commit_and_go)
    job.finish(parts, CommitOptions())
    assert omnigraph.open(graph.uri).snapshot().count("Person") == 3
    (left,) = [branch for branch in graph.branches() if branch.name != "main"]
    assert left.expires is not None
    assert f"branch {left.name} could not be deleted" in caplog.text


def test_giving_up_does_not_hide_why(
    graph: Graph, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served, _ = a_write(GraphLocation(server.uri))
    stored, _ = a_write(GraphLocation(graph.uri))
    server.close(0)
    served.abandon()

    def unreachable(*_: object) -> None:
        raise OSError("no such store")

    monkeypatch.setattr(Graph, "abandon_bulk", unreachable)
    stored.abandon()
    assert "could not be deleted" in caplog.text
    assert "no such store" in caplog.text


def test_a_job_whose_branch_is_gone_can_be_given_up(
    graph: Graph, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    job, _ = a_write(GraphLocation(server.uri))
    job.abandon()
    job.abandon()
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("message", ["Ada's daily load;\n\\ and -- 50% of it", "x" * 500])
def test_the_commit_of_a_server_has_the_message_of_the_write(
    message: str, graph: Graph, server: Server
) -> None:
    ending = CommitOptions(message, "anonymous")
    job, parts = a_write(GraphLocation(server.uri), ending)
    job.finish(parts, ending)
    commit = graph.commits("main")[0]
    assert (commit.message, commit.actor) == (message, "anonymous")


def test_an_actor_that_the_server_knows_as_another_is_refused(graph: Graph, server: Server) -> None:
    with pytest.raises(InvalidInput, match="'anonymous', not 'ada'"):
        a_write(GraphLocation(server.uri), CommitOptions(actor="ada"))
    assert [branch.name for branch in graph.branches()] == ["main"]


@pytest.mark.parametrize("way", ["storage", "server"])
def test_a_batch_of_a_stream_lands_once(way: str, graph: Graph, server: Server) -> None:
    place = GraphLocation(graph.uri if way == "storage" else server.uri)
    ending = CommitOptions(once=("a@b's stream", 7))
    job, parts = a_write(place, ending)
    again, same = a_write(place, ending)
    job.finish(parts, ending)
    landed = omnigraph.open(graph.uri)
    assert landed.last_batch("a@b's stream") == 7
    with pytest.raises(AlreadyApplied, match="batch 7 of stream"):
        again.finish(same, ending)
    assert landed.snapshot().version == graph.snapshot().version
    assert landed.snapshot().count("Person") == 3
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.collect().spared_transactions == 0


@pytest.mark.parametrize("way", ["storage", "server"])
def test_a_batch_without_rows_is_noted(way: str, graph: Graph, server: Server) -> None:
    place = GraphLocation(graph.uri if way == "storage" else server.uri)
    ending = CommitOptions(once=("s", 0))
    for rows in ([], [{"name": "cy", "age": 3}]):
        schema = columns_of(PERSON)
        target = Target("node:Person", "merge", arrow_schema(schema))
        job = begin(place, "main", [target], ending)
        batches = pa.Table.from_pylist(rows, arrow_schema(schema)).to_batches()
        part = job.write("node:Person", batches, schema)
        with pytest.raises(AlreadyApplied) if rows else nullcontext():
            job.finish([part], ending)
    assert omnigraph.open(graph.uri).last_batch("s") == 0
    assert graph.snapshot().count("Person") == 2
    assert graph.verify(rules=True).ok
