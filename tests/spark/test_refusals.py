"""What a server refuses comes as the error that the graph itself would raise."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.api.graph import Graph
from omnigraph.errors import (
    InvalidInput,
    KeyConflict,
    MergeConflict,
    NotFound,
    OmniGraphError,
    ParseError,
)
from omnigraph_flight.access.authentication import User, token_sha256
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.server_connection import connected
from omnigraph_spark.server_errors import ServerError

SCHEMA = """
node Person { name: String @key  mail: String? @unique }
edge Knows: Person -> Person
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = omnigraph.init(tmp_path_factory.mktemp("graph") / "graph", SCHEMA)
    graph.load({"Person": pa.table({"name": ["ada"], "mail": ["a@x"]})})
    return graph


@pytest.fixture(scope="module")
def place(graph: Graph) -> Iterator[GraphLocation]:
    users = (
        User("ada", token_sha256("ada's token"), ("modeler",)),
        User("bob", token_sha256("bob's token"), ("reader",)),
    )
    config = Config(graphs={"g": graph.uri}, port=0, optimize_seconds=0, users=users)
    with Server(config) as running:
        yield GraphLocation(running.uri, token="ada's token")


def refused(call: Callable[[], object]) -> OmniGraphError:
    with pytest.raises(OmniGraphError) as caught:
        call()
    return caught.value


def ask(place: GraphLocation, sql: str, *, autocommit: bool = True) -> None:
    with (
        connected(place, "main", autocommit=autocommit) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
        if not autocommit:
            connection.commit()


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO Person (name) VALUES ('ada')", KeyConflict),
        ("INSERT INTO Person (name, mail) VALUES ('bob', 'a@x')", InvalidInput),
        ("SELECT * FROM Persons", NotFound),
        ("DROP BRANCH nowhere", NotFound),
        ("SELECT 1 +", ParseError),
        ("SELECT 1 FROM Person WHERE", ParseError),
    ],
)
def test_a_refusal_has_the_class_the_code_and_the_hint_of_the_graph(
    sql: str, kind: type[OmniGraphError], graph: Graph, place: GraphLocation
) -> None:
    here = refused(lambda: omnigraph_sql.connect(graph).execute(sql))
    there = refused(lambda: ask(place, sql))
    assert isinstance(there, kind) and isinstance(here, kind)
    assert (there.code, there.message, there.hint) == (here.code, here.message, here.hint)


def test_what_the_end_of_a_transaction_meets_is_told_as_such(place: GraphLocation) -> None:
    sql = "INSERT INTO edges.\"Knows\" (src, dst) VALUES ('ada', 'zoe')"
    error = refused(lambda: ask(place, sql, autocommit=False))
    assert isinstance(error, MergeConflict)
    assert error.code == "merge_conflicts"
    assert "orphan_edge" in error.message
    assert error.to_json()["code"] == "merge_conflicts"


def test_what_only_a_server_refuses_keeps_its_code(place: GraphLocation) -> None:
    bob = GraphLocation(place.uri, token="bob's token")
    error = refused(lambda: ask(bob, "INSERT INTO Person (name) VALUES ('bob')"))
    assert isinstance(error, ServerError)
    assert error.details["server_code"] == "forbidden"
    eve = refused(lambda: ask(GraphLocation(place.uri, token="eve's"), "SELECT 1"))
    assert eve.details["server_code"] == "unauthenticated"


def test_a_server_that_is_not_there_is_told_as_such() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"grpc://127.0.0.1:{free.getsockname()[1]}"
    error = refused(lambda: ask(GraphLocation(nobody), "SELECT 1"))
    assert isinstance(error, ServerError)
    assert error.message.startswith("the server cannot be reached: ")
