"""What a branch went through is the same, told by the storage or by a server.

Without a Spark session: what tasks and the driver do is called directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.reading.change_stream import ChangeReading, change_reading

FIRST = "node Person { name: String @key  age: I32? }"
SECOND = """
node Person { name: String @key  age: I32?  mail: String? }
edge Knows: Person -> Person { since: I32? }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """Rows come, change and go; a column and a type are added in between."""
    graph = omnigraph.init(tmp_path / "graph", FIRST)
    graph.load(
        b'{"type":"Person","data":{"name":"ada","age":1}}\n{"type":"Person","data":{"name":"bob"}}'
    )
    with graph.transaction() as txn:
        txn.delete("Person", ["bob"])
        txn.upsert("Person", [{"name": "ada", "age": 2}, {"name": "it's \\ odd", "age": 3}])
    graph.apply_schema(SECOND)
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": "ada", "age": 2, "mail": "a@x"}, {"name": "cy"}])
        txn.insert("Knows", [{"id": "k1", "src": "ada", "dst": "cy", "since": 1}])
        txn.create_table("raw.other", pa.schema([("n", pa.int64())]))
    graph.create_branch("dev/1")
    with graph.transaction("dev/1") as txn:
        txn.delete("Person", ["cy"])
    graph.merge("dev/1")
    return graph


@pytest.fixture
def places(graph: Graph) -> Iterator[list[GraphLocation]]:
    with Server(Config(graphs={"g": graph.uri}, port=0, optimize_seconds=0)) as server:
        yield [GraphLocation(graph.uri), GraphLocation(server.uri)]


def told(reading: ChangeReading) -> list[Any]:
    """Every row of every commit, without what only the storage's own order decides."""
    rows = []
    for part in reading.between(reading.since, reading.until or reading.head()):
        for batch in reading.rows(part):
            rows += batch.to_pylist()
    return sorted(map(repr, rows))


@pytest.mark.parametrize("branch", ["main", "dev/1"])
@pytest.mark.parametrize("key", [None, "node:Person", "edge:Knows"])
def test_both_tell_the_same_changes(
    key: str | None, branch: str, places: list[GraphLocation]
) -> None:
    stored, served = (
        change_reading(place, {"from": "beginning", "branch": branch}, key) for place in places
    )
    assert stored.since == served.since
    assert stored.schema().names == served.schema().names
    assert told(stored) == told(served)
    assert len(told(stored)) >= (1 if key == "edge:Knows" else 5)


def test_both_begin_and_end_where_they_are_told(places: list[GraphLocation]) -> None:
    options = {"from": "v2", "at": "main@v3"}
    stored, served = (change_reading(place, options, "node:Person") for place in places)
    assert (stored.since, stored.until) == (served.since, served.until)
    assert told(stored) == told(served)
    assert len(told(stored)) == 3


def test_a_type_that_was_renamed_keeps_its_history(
    graph: Graph, places: list[GraphLocation]
) -> None:
    renamed = SECOND.replace("node Person", 'node Human @rename_from("Person")')
    graph.apply_schema(renamed.replace("Person -> Person", "Human -> Human"))
    graph.load(b'{"type":"Human","data":{"name":"eve"}}')
    options = {"from": "beginning"}
    stored, served = (change_reading(place, options, "node:Human") for place in places)
    assert told(stored) == told(served)
    assert len(told(stored)) == 9
