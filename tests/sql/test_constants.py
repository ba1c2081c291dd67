"""A query of nothing but literals is made once; everything else is run each time."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from omnigraph import Graph
from omnigraph_sql import connect
from omnigraph_sql.planning.constant_query import is_constant
from support.social import social_graph


@pytest.fixture
def graph(root: str) -> Graph:
    return social_graph(root, ["Ann"], [])


@pytest.mark.parametrize(
    ("sql", "constant"),
    [
        ("SELECT 1", True),
        ("SELECT 1 AS n, 'x' AS t, NULL, true, -2.5, CAST('2026-01-01' AS DATE)", True),
        ("SELECT random()", False),
        ("SELECT now()", False),
        ("SELECT current_date", False),
        ("SELECT $1", False),
        ("SELECT 1 FROM Person", False),
        ("SELECT 1 WHERE false", False),
        ("SELECT 1 LIMIT 0", False),
        ("SELECT 1 UNION ALL SELECT 2", False),
        ("SELECT (SELECT count(*) FROM Person)", False),
        ("SELECT upper('x')", False),
    ],
)
def test_what_is_constant(sql: str, constant: bool) -> None:
    assert is_constant(parse_one(sql, dialect="postgres")) == constant


def test_a_constant_is_the_same_again_and_chance_is_not(graph: Graph) -> None:
    connection = connect(graph)

    def value(sql: str) -> object:
        rows = connection.execute(sql)
        assert not isinstance(rows, int)
        return rows.read_all().column(0).to_pylist()

    assert value("SELECT 7 AS n") == value("SELECT 7 AS n") == [7]
    assert value("SELECT random()") != value("SELECT random()")
    assert value("SELECT 1 WHERE false") == []
    assert value("EXPLAIN SELECT 7 AS n") == value("EXPLAIN SELECT 7 AS n")
