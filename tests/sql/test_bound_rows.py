"""Rows of parameters: bound by name where they have the names, else by place; one for each."""

from __future__ import annotations

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph.errors import InvalidInput
from sql.conftest import rows, table

ROWS = {
    "by name": pa.record_batch({"n": [1, 2], "word": ["one", "two"]}),
    "in another order": pa.record_batch({"word": ["one", "two"], "n": [1, 2]}),
}


@pytest.fixture
def words(connection: omnigraph_sql.Connection) -> omnigraph_sql.Connection:
    connection.execute("CREATE TABLE words (n INT, word VARCHAR)")
    return connection


def held(connection: omnigraph_sql.Connection) -> list[dict[str, object]]:
    return rows(connection, "SELECT n, word FROM words ORDER BY n")


@pytest.mark.parametrize("order", ROWS)
def test_names_find_their_columns(words: omnigraph_sql.Connection, order: str) -> None:
    words.execute("INSERT INTO words VALUES (:n, :word)", ROWS[order])
    assert held(words) == [{"n": 1, "word": "one"}, {"n": 2, "word": "two"}]
    words.execute("UPDATE words SET word = upper(:word) WHERE n = :n", ROWS[order])
    assert held(words) == [{"n": 1, "word": "ONE"}, {"n": 2, "word": "TWO"}]
    found = rows(words, "SELECT :word || '!' AS w, 10 * CAST(:n AS INT) AS n", ROWS[order])
    assert found == [{"w": "one!", "n": 10}, {"w": "two!", "n": 20}]
    (one,) = rows(
        words, "DELETE FROM words WHERE n = :n AND :word <> '' RETURNING n", ROWS[order][:1]
    )
    assert one == {"n": 1}


@pytest.mark.parametrize(
    "names", [("0", "1"), ("1", "2"), ("", ""), ("n", "word"), ("x", "y"), ("x", "x")]
)
def test_places_are_bound_whatever_their_columns_are_called(
    words: omnigraph_sql.Connection, names: tuple[str, str]
) -> None:
    bound = pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array(["one", "two"])], list(names))
    words.execute("INSERT INTO words VALUES (?, ?)", bound)
    assert held(words) == [{"n": 1, "word": "one"}, {"n": 2, "word": "two"}]
    again = pa.RecordBatch.from_arrays([pa.array(["three"]), pa.array([1])], list(names))
    words.execute("UPDATE words SET word = ? WHERE n = ?", again)
    assert rows(words, "SELECT word FROM words WHERE word = $1 AND n = $2", again) == [
        {"word": "three"}
    ]
    given = rows(words, "DELETE FROM words WHERE word = ? AND n = ? RETURNING n", again)
    assert given == [{"n": 1}]


def test_a_value_has_the_type_of_the_column_with_its_name(
    words: omnigraph_sql.Connection,
) -> None:
    sql = "SELECT :n AS n, :word AS word"
    for bound in ROWS.values():  # the second one finds the plan that the first one made
        found = table(words, sql, bound)
        assert found.schema.types == [pa.int64(), pa.string()]
        assert found.to_pylist() == [{"n": 1, "word": "one"}, {"n": 2, "word": "two"}]
    swapped = pa.record_batch({"word": [1.5], "n": ["x"]})
    assert rows(words, sql, swapped) == [{"n": "x", "word": 1.5}]


def _run(connection: omnigraph_sql.Connection, sql: str, bound: pa.RecordBatch) -> None:
    """Also read what it gives: a query binds when it is read."""
    result = connection.execute(sql, bound)
    if not isinstance(result, int):
        result.read_all()


STATEMENTS = [
    "INSERT INTO words VALUES (?, ?)",
    "INSERT INTO words (n, word) SELECT CAST(? AS INT), ?",
    "UPDATE words SET n = ? WHERE word = ?",
    "DELETE FROM words WHERE n = ? AND word = ? RETURNING n",
    "SELECT * FROM words WHERE n = ? AND word = ?",
]


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("columns", [1, 3])
def test_too_few_and_too_many_are_refused(
    words: omnigraph_sql.Connection, sql: str, columns: int
) -> None:
    bound = pa.record_batch({str(place): [1] for place in range(columns)})
    with pytest.raises(InvalidInput, match=f"2 parameters, {columns} values"):
        _run(words, sql, bound)
    assert held(words) == []


@pytest.mark.parametrize(
    "sql", [sql.replace("?", ":n", 1).replace("?", ":word") for sql in STATEMENTS]
)
def test_a_name_that_has_no_column_is_told(words: omnigraph_sql.Connection, sql: str) -> None:
    with pytest.raises(InvalidInput, match="'word' has no value"):
        _run(words, sql, pa.record_batch({"n": [1], "wrod": ["one"]}))
    assert held(words) == []
