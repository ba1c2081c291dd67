"""Node and edge types are tables of a branch."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph_sql
from omnigraph.errors import NotFound, ParseError
from sql.conftest import rows
from support.graphs import garden
from support.social import add_person, social_graph


@pytest.fixture
def connection(tmp_path: Any) -> omnigraph_sql.Connection:  # noqa: ANN401
    return omnigraph_sql.connect(garden(str(tmp_path / "garden.omni")))


@pytest.mark.parametrize(
    "name", ["Plant", "plant", '"Plant"', "nodes.PLANT", "main.nodes.plant", "main.plant"]
)
def test_a_type_is_found_by_any_of_its_names(
    connection: omnigraph_sql.Connection, name: str
) -> None:
    assert rows(connection, f"SELECT tag FROM {name} ORDER BY TAG") == [
        {"tag": "P1"},
        {"tag": "P2"},
    ]


def test_nodes_and_edges_join(connection: omnigraph_sql.Connection) -> None:
    found = rows(
        connection,
        "SELECT a.latin AS from_, b.latin AS to_, metres FROM near "
        "JOIN plant a ON a.id = near.src JOIN plant b ON b.id = near.dst",
    )
    assert found == [{"from_": "Acer", "to_": "Taxus", "metres": 2.0}]


def test_a_moment_is_a_catalog(tmp_path: Any) -> None:  # noqa: ANN401
    graph = social_graph(str(tmp_path / "g"), ["Ann"])
    before = graph.snapshot().commit
    add_person(graph, "Bob")
    connection = omnigraph_sql.connect(graph)
    assert rows(
        connection,
        f'SELECT b.name FROM "main@{before}".nodes."Person" a '
        "RIGHT JOIN main.nodes.person b ON a.id = b.id WHERE a.id IS NULL",
    ) == [{"name": "Bob"}]


def test_a_name_that_is_not_there_is_told_with_what_is(
    connection: omnigraph_sql.Connection,
) -> None:
    with pytest.raises(NotFound, match="did you mean 'Plant'"):
        connection.execute("SELECT * FROM plants")
    with pytest.raises(NotFound, match="no column tagg"):
        connection.execute("SELECT tagg FROM plant")


def test_a_syntax_error_points_at_its_place(connection: omnigraph_sql.Connection) -> None:
    with pytest.raises(ParseError) as caught:
        connection.execute("SELECT *\n  FRM plant")
    assert (caught.value.line, caught.value.column) == (2, 7)
