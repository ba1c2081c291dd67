"""Wrong texts end quickly in typed errors, and no exception of the parts beneath leaves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound, OmniGraphError, ParseError, ResourceLimit
from sql.conftest import rows


@pytest.mark.parametrize(
    ("sql", "line", "column"),
    [
        ("SELECT * FRM person", 1, 14),
        ("-- a comment\nSELECT (1", 2, 9),
        ("SELECT name\nFROM person\nWHERE age >", 3, 11),
        ("/* {} */ SELECT 1 SELECT 2", 1, 19),
    ],
)
def test_a_syntax_error_points(
    connection: omnigraph_sql.Connection, sql: str, line: int, column: int
) -> None:
    with pytest.raises(ParseError) as caught:
        connection.execute(sql)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        " ; ",
        "-- nothing",
        "SELECT 'open",
        'SELECT "open',
        "SELECT 1 +",
        "SELECT nope(1)",
        "SELECT CAST('x' AS INTEGER)",
        "SELECT 1 / 0",
        "SELECT sum(name) FROM person",
        "SELECT name, count(*) FROM person",
        "SELECT CAST(1 AS GEOMETRY)",
        "EXPLAIN DELETE FROM person",
        "SHOW WONDERS",
        "SELECT * FROM a.b.c.d",
    ],
)
def test_what_cannot_be_run_is_told(connection: omnigraph_sql.Connection, sql: str) -> None:
    with pytest.raises(OmniGraphError) as caught:
        rows(connection, sql)
    shown = str(caught.value)
    assert "Traceback" not in shown
    assert "DataFusion" not in shown
    assert "sqlglot" not in shown


def test_missing_names_are_told_with_what_there_is(connection: omnigraph_sql.Connection) -> None:
    with pytest.raises(NotFound, match="did you mean 'Person'"):
        connection.execute("SELECT * FROM persn")
    with pytest.raises(NotFound, match="no column agee") as caught:
        connection.execute("SELECT agee FROM person")
    assert "age" in str(caught.value.hint)
    with pytest.raises(NotFound, match="no schema 'nods'"):
        connection.execute("SELECT * FROM nods.person")
    with pytest.raises(NotFound):
        connection.execute("DESCRIBE nothing")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "-" * 1 + "CASE WHEN 1=1 THEN " * 400 + "1" + " END" * 400,
        "SELECT " + " + ".join(["1"] * 60_000),
        "SELECT " + "NOT " * 20_000 + "true",
        "SELECT * FROM " + "(SELECT * FROM " * 300 + "person" + ") t" * 300,
    ],
    ids=["parentheses", "cases", "sum", "nots", "subqueries"],
)
def test_deep_texts_end_in_an_error(connection: omnigraph_sql.Connection, sql: str) -> None:
    with pytest.raises(InvalidInput):
        rows(connection, sql)


def test_long_texts_end_in_an_error_at_once(connection: omnigraph_sql.Connection) -> None:
    started = time.monotonic()
    with pytest.raises(ResourceLimit):
        connection.execute("SELECT '" + "x" * 10_000_000 + "'")
    assert time.monotonic() - started < 1


def test_long_lists_are_fine(connection: omnigraph_sql.Connection) -> None:
    some = ", ".join(str(number) for number in range(5000))
    assert rows(connection, f"SELECT count(*) AS n FROM person WHERE age IN ({some})") == [{"n": 4}]
    many = " OR ".join(f"age = {number}" for number in range(300))
    assert rows(connection, f"SELECT count(*) AS n FROM person WHERE {many}") == [{"n": 4}]


def test_several_statements_and_comments_in_a_text(connection: omnigraph_sql.Connection) -> None:
    sql = '/* {"app": "dbt"} */ SELECT 1; -- one; two\nSELECT \';\' AS s, 2 AS n ;'
    assert rows(connection, sql) == [{"s": ";", "n": 2}]


WORDS = st.lists(
    st.sampled_from(
        ["SELECT", "FROM", "WHERE", "person", "age", "name", "(", ")", ",", "*", "=", "'x'", "1",
         "GROUP", "BY", "ORDER", "AND", "OR", "NOT", "NULL", "CASE", "WHEN", "THEN", "END", "AS",
         "a", ".", '"', "JOIN", "ON", "LIMIT", "UNION", "ALL", "IN", "EXISTS", ":p", "$1", "?",
         ";", "--", "[", "]", "{", "}", "::", "||", "%", "\\", "@"]
    ),
    max_size=25,
)  # fmt: skip


@given(WORDS)
def test_any_words_give_rows_or_a_typed_error(
    shared_connection: omnigraph_sql.Connection, words: list[str]
) -> None:
    try:
        shared_connection.execute(" ".join(words))
    except OmniGraphError as error:
        assert error.message
