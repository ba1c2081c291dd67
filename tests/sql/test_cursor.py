"""Python's database interface over a session."""

from __future__ import annotations

import pytest

import omnigraph_sql
from omnigraph.errors import InvalidInput
from omnigraph_sql.session import dbapi_cursor


def test_rows_are_fetched_one_some_and_all(connection: omnigraph_sql.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, age FROM person ORDER BY name")
        assert cursor.fetchone() == ("ada", 36)
        assert cursor.fetchmany(2) == [("bob", 25), ("cy", 41)]
        assert cursor.fetchall() == [("dee", None), ("eve", 25)]
        assert cursor.fetchone() is None
        assert cursor.fetchall() == []


def test_a_description_names_and_types_the_columns(connection: omnigraph_sql.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.description is None
    cursor.execute("SELECT name, age, born FROM person")
    assert cursor.description is not None
    assert [column[:2] for column in cursor.description] == [
        ("name", "VARCHAR"),
        ("age", "INTEGER"),
        ("born", "DATE"),
    ]
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.rowcount == -1


def test_a_cursor_iterates_and_gives_arrow(connection: omnigraph_sql.Connection) -> None:
    cursor = connection.cursor()
    assert [row[0] for row in cursor.execute("SELECT sku FROM item ORDER BY 1")] == [
        "A1",
        "B2",
        "C3",
    ]
    table = cursor.execute("SELECT sku FROM item WHERE stock > ?", [5]).fetch_arrow_table()
    assert sorted(table.column("sku").to_pylist()) == ["A1", "C3"]


def test_updates_count_their_rows(connection: omnigraph_sql.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("DELETE FROM sales WHERE region = 'north'")
    assert cursor.rowcount == 8
    with pytest.raises(InvalidInput):
        cursor.fetchone()


def test_many_rows_of_parameters_are_one_commit(connection: omnigraph_sql.Connection) -> None:
    before = connection.graph.snapshot().version
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO item (sku, stock) VALUES (?, ?)", [("X", 1), ("Y", 2)])
    assert cursor.rowcount == 2
    assert connection.graph.snapshot().version == before + 1
    cursor.executemany("INSERT INTO item (sku, stock) VALUES (?, ?)", [])
    assert cursor.rowcount == 0


def test_a_closed_cursor_says_so(connection: omnigraph_sql.Connection) -> None:
    cursor = connection.cursor()
    cursor.close()
    with pytest.raises(InvalidInput, match="closed"):
        cursor.execute("SELECT 1")


def test_the_module_says_what_the_standard_asks() -> None:
    assert (dbapi_cursor.apilevel, dbapi_cursor.threadsafety, dbapi_cursor.paramstyle) == (
        "2.0",
        1,
        "qmark",
    )
