"""A row that is asked for by its key is found as by its id: through the index, with one answer."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph_sql.session.statement import Statement
from sql.conftest import rows, table

SCHEMA = """
node City { name: String @key  people: I64 }
node Street { name: String @key  city: String? }
node Pair { a: String  b: String  @key(a, b) }
node Number { n: I64 @key }
node Free { name: String }
"""
CITIES = pa.table({"name": ["Rom", "Bonn", "it's"], "people": [3, 2, 1]})
STREETS = pa.table({"name": ["Am Tor", "Rom", "Via"], "city": ["Bonn", None, "Rom"]})
STATEMENTS = [
    """SELECT * FROM City WHERE "name" = 'Rom'""",
    """SELECT people FROM City WHERE name = 'it''s'""",
    "SELECT people FROM City WHERE 'Rom' = NAME",
    "SELECT people FROM City WHERE name IN ('Rom', 'Bonn', 'Ulm')",
    "SELECT people FROM City WHERE name NOT IN ('Rom', 'Bonn')",
    "SELECT people FROM City WHERE name = 'Rom' AND people > 5",
    "SELECT people FROM City WHERE name = 'Rom' OR people = 1",
    "SELECT people FROM City WHERE NOT (name = 'Rom')",
    "SELECT people FROM City WHERE name = 'Ulm'",
    "SELECT people FROM City WHERE name = NULL",
    "SELECT name, sum(people) FROM City GROUP BY name HAVING name = 'Rom'",
    "SELECT name = 'Rom', count(*) FROM City GROUP BY name",
    "SELECT count(*) FROM City WHERE name = 'Rom'",
    "SELECT c.people FROM City c JOIN Street s ON s.city = c.name WHERE s.name = 'Via'",
    "SELECT c.people, s.name FROM City c LEFT JOIN Street s ON s.name = 'Via' AND s.city = c.name",
    "SELECT c.people FROM City c, Street s WHERE c.name = s.name AND s.name = 'Rom'",
    "SELECT people FROM City WHERE EXISTS (SELECT 1 FROM Street s WHERE s.name = 'Rom')",
    "SELECT (SELECT people FROM City c WHERE c.name = 'Rom') AS p FROM Street WHERE name = 'Via'",
    "SELECT x FROM City AS c(i, x, people) WHERE x = 'Rom'",
    "SELECT x FROM (SELECT people AS x, name FROM City) AS c WHERE name = 'Rom'",
    "WITH City AS (SELECT 'Rom' AS name, 9 AS people) SELECT people FROM City WHERE name = 'Rom'",
    "SELECT people FROM City WHERE name = 'Rom' ORDER BY people LIMIT 1",
]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> omnigraph_sql.Connection:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("lookups") / "g.omni"), SCHEMA)
    graph.load({"City": CITIES, "Street": STREETS})
    return omnigraph_sql.connect(graph)


@pytest.fixture(scope="module")
def theirs() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    for name, given, key in (("City", CITIES, "name"), ("Street", STREETS, "name")):
        found.register("given", given.add_column(0, "id", given[key]))
        found.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    return found


@pytest.mark.parametrize("sql", STATEMENTS)
def test_comparing_a_key_answers_as_in_duckdb(
    ours: omnigraph_sql.Connection, theirs: duckdb.DuckDBPyConnection, sql: str
) -> None:
    wanted = sorted(map(repr, theirs.execute(sql).fetchall()))
    assert sorted(repr(tuple(row.values())) for row in rows(ours, sql)) == wanted


def test_a_key_is_found_through_the_index(tmp_path: Path) -> None:
    """Counted, not timed: a scan of all keys reads more than a megabyte."""
    names = [f"name {n} with a text that is somewhat longer" for n in range(60_000)]
    graph = omnigraph.init(str(tmp_path / "g.omni"), SCHEMA)
    graph.load(pa.table({"name": names, "people": range(60_000)}), type="City")
    graph.optimize()
    connection = omnigraph_sql.connect(graph)
    sql = """SELECT people FROM City WHERE "name" = ?"""
    table(connection, sql, [names[1]])
    before = graph.counts().read_bytes
    assert rows(connection, sql, [names[40_000]]) == [{"people": 40_000}]
    assert rows(connection, f"SELECT people FROM City WHERE name IN ('{names[7]}')") == [
        {"people": 7}
    ]
    assert graph.counts().read_bytes - before < 500_000


@pytest.mark.parametrize(
    ("sql", "at_once"),
    [
        ("SELECT 1", True),
        ("SELECT people FROM City WHERE id = 'Rom'", True),
        ("SELECT people FROM City WHERE name = 'Rom' AND people > 1", True),
        ("SELECT n FROM Number WHERE id = '1'", True),
        ("SELECT people FROM City WHERE id > 'Rom'", False),
        ("SELECT people FROM City WHERE id = 'Rom' OR people = 2", False),
        ("SELECT people FROM City WHERE NOT id = 'Rom'", False),
        ("SELECT people FROM City", False),
        ("SELECT a FROM Pair WHERE a = 'x'", False),
        ("SELECT name FROM Free WHERE name = 'x'", False),
        ("EXPLAIN SELECT people FROM City WHERE id = 'Rom'", False),
        ("DESCRIBE City", False),
        ("DELETE FROM City WHERE id = 'Ulm'", False),
        ("DELETE FROM City WHERE id = 'Ulm' RETURNING people", False),
    ],
)
def test_what_comes_at_once_is_what_is_streamed(
    ours: omnigraph_sql.Connection, sql: str, at_once: bool
) -> None:
    statement = ours.prepare(sql)
    assert isinstance(statement, Statement)
    found = statement.single_row()
    assert (found is not None) == at_once
    if found is not None:
        assert found.equals(table(ours, sql))
        assert found.schema.equals(statement.result_schema)


def test_a_plain_table_may_have_many_rows_of_one_id(tmp_path: Path) -> None:
    connection = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g.omni"), SCHEMA))
    connection.ingest("t", pa.table({"id": ["x"] * 70_000}).to_reader(), "create")
    statement = connection.prepare("SELECT id FROM t WHERE id = 'x'")
    assert isinstance(statement, Statement)
    assert statement.single_row() is None
    assert table(connection, "SELECT id FROM t WHERE id = 'x'").num_rows == 70_000


def test_several_sets_of_parameters_give_the_rows_of_each(ours: omnigraph_sql.Connection) -> None:
    statement = ours.prepare("SELECT people FROM City WHERE name = ?")
    assert isinstance(statement, Statement)
    some = pa.record_batch({"1": ["Rom", "Ulm", "Bonn"]})
    assert statement.single_row(some) is None
    found = statement.execute(some)
    assert not isinstance(found, int)
    assert found.read_all().to_pydict() == {"people": [3, 2]}
    one = statement.single_row(some.slice(2, 1))
    assert one is not None
    assert one.to_pydict() == {"people": [2]}
