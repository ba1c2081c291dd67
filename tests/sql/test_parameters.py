"""Parameters are typed by their place and bound as values, never written into a text."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph_sql
from omnigraph.errors import InvalidInput, ParseError
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.session.statement import Statement
from sql.conftest import rows, table


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT name FROM person WHERE age = ? AND city = ?", [25, "Oslo"]),
        ("SELECT name FROM person WHERE age = $1 AND city = $2", [25, "Oslo"]),
        ("SELECT name FROM person WHERE city = $2 AND age = $1", [25, "Oslo"]),
        ("SELECT name FROM person WHERE age = :age AND city = :city", {"age": 25, "city": "Oslo"}),
        (
            "SELECT name FROM person WHERE age = ? AND city = ?",
            pa.record_batch({"a": [25], "b": ["Oslo"]}),
        ),
    ],
)
def test_every_spelling_of_a_parameter_works(
    connection: omnigraph_sql.Connection, sql: str, params: Params
) -> None:
    assert rows(connection, sql, params) == [{"name": "eve"}]


@pytest.mark.parametrize("dialect", ["postgres", "duckdb"])
@pytest.mark.parametrize(
    ("sql", "params", "found"),
    [
        ("SELECT $1,$2", [1, "x"], (1, "x")),
        ("SELECT $1+$2 AS a,$1*$2", [3, 4], (7, 12)),
        ("SELECT a, b FROM (VALUES ($1,$2)) v(a, b)", [1, 2], (1, 2)),
        ("SELECT $1::int,'$1,$2',$$a $1,$2$$,$t$,$1,$t$", [1], (1, "$1,$2", "a $1,$2", ",$1,")),
        ("SELECT $2,/* it's $1,$2 */$1 -- $1,$2", [1, 2], (2, 1)),
        ("SELECT $a,$b", {"a": 1, "b": 2}, (1, 2)),
    ],
)
def test_numbered_parameters_need_no_blanks(
    shared_connection: omnigraph_sql.Connection,
    dialect: str,
    sql: str,
    params: Params,
    found: tuple[object, ...],
) -> None:
    shared_connection.dialect = dialect
    try:
        (row,) = table(shared_connection, sql, params).to_batches()
        assert tuple(column[0].as_py() for column in row.columns) == found
    finally:
        shared_connection.dialect = "postgres"


def test_an_error_behind_a_parameter_points_at_its_place(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    with pytest.raises(ParseError) as failure:
        shared_connection.execute("SELECT $1,$2,\n$3,$4 FRM person x y", [1, 2, 3, 4])
    spaced = "SELECT $1, $2,\n$3, $4 FRM person x y"
    with pytest.raises(ParseError) as other:
        shared_connection.execute(spaced, [1, 2, 3, 4])
    assert failure.value.line == other.value.line == 2
    assert failure.value.column == (other.value.column or 0) - 1


def test_question_marks_count_in_the_order_of_the_text(
    connection: omnigraph_sql.Connection,
) -> None:
    found = rows(
        connection,
        "SELECT ? AS a, name FROM person WHERE age > ? ORDER BY name LIMIT ?",
        ["x", 30, 1],
    )
    assert found == [{"a": "x", "name": "ada"}]


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("SELECT name FROM person WHERE age > ?", [pa.int32()]),
        ("SELECT name FROM person WHERE ? < born", [pa.date32()]),
        ("SELECT name FROM person p WHERE p.seen = ?", [pa.timestamp("us", "UTC")]),
        ("SELECT name FROM person WHERE name LIKE ? LIMIT ?", [pa.string(), pa.int64()]),
        ("SELECT name FROM person WHERE score BETWEEN ? AND ?", [pa.float64(), pa.float64()]),
        ("SELECT name FROM person WHERE age IN (?, ?)", [pa.int32(), pa.int32()]),
        ("SELECT CAST(? AS DECIMAL(10, 2))", [pa.decimal128(10, 2)]),
        ("SELECT coalesce(city, ?) FROM person", [pa.string()]),
        ("SELECT age + ? FROM person", [pa.int32()]),
        ("SELECT ?", [pa.string()]),
        ("UPDATE person SET age = ? WHERE name = ?", [pa.int32(), pa.string()]),
        ("INSERT INTO sales (day, units) VALUES (?, ?)", [pa.date32(), pa.int64()]),
        ("INSERT INTO item VALUES (?, ?)", [pa.string(), pa.float64()]),
        ("DELETE FROM person WHERE active = ?", [pa.bool_()]),
    ],
)  # fmt: skip
def test_parameters_have_the_type_of_their_place(
    connection: omnigraph_sql.Connection, sql: str, types: list[pa.DataType]
) -> None:
    statement = connection.prepare(sql)
    assert statement.parameter_schema.types == types
    assert statement.parameter_schema.names == [str(n) for n in range(1, len(types) + 1)]


def test_named_parameters_keep_their_names(connection: omnigraph_sql.Connection) -> None:
    statement = connection.prepare("SELECT name FROM person WHERE age > :low AND city = :where")
    assert statement.parameter_schema == pa.schema([("low", pa.int32()), ("where", pa.string())])


def test_a_result_schema_is_known_without_running(connection: omnigraph_sql.Connection) -> None:
    statement = connection.prepare("SELECT name, age + 1 AS next FROM person WHERE age > ?")
    assert statement.result_schema is not None
    assert statement.result_schema.names == ["name", "next"]
    assert not statement.is_update
    assert connection.prepare("DELETE FROM person").result_schema is None


def test_values_take_the_type_of_their_place(connection: omnigraph_sql.Connection) -> None:
    sql = "SELECT name FROM person WHERE born = ?"
    for value in ("1999-12-31", date(1999, 12, 31)):
        assert rows(connection, sql, [value]) == [{"name": "eve"}]
    assert rows(connection, "SELECT name FROM person WHERE age > ? ORDER BY 1", [35.5]) == [
        {"name": "ada"},
        {"name": "cy"},
    ]
    assert rows(connection, "SELECT name FROM person WHERE age = ?", [None]) == []


def test_rows_of_parameters_run_one_after_the_other(connection: omnigraph_sql.Connection) -> None:
    batch = pa.record_batch({"1": pa.array([25, 41])})
    found = table(connection, "SELECT name FROM person WHERE age = ? ORDER BY name", batch)
    assert found.column("name").to_pylist() == ["bob", "eve", "cy"]


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("SELECT ?", []),
        ("SELECT ?", [1, 2]),
        ("SELECT :a", {"b": 1}),
        ("SELECT ?, $1", [1]),
        ("SELECT :a, $1", [1]),
        ("SELECT $0", [1]),
        ("SELECT ?", "x"),
        ("SELECT ?", [object()]),
    ],
)
def test_wrong_parameters_are_told(
    connection: omnigraph_sql.Connection, sql: str, params: Params
) -> None:
    with pytest.raises(InvalidInput):
        rows(connection, sql, params)


@given(st.text(max_size=40))
def test_no_text_escapes_its_parameter(
    shared_connection: omnigraph_sql.Connection, text: str
) -> None:
    found = rows(shared_connection, "SELECT ? AS x, count(*) AS n FROM person WHERE name <> ?",
                 [text, text])  # fmt: skip
    assert found == [{"x": text, "n": 5}]


@pytest.mark.parametrize(
    "dialect", ["postgres", "duckdb", "spark", "snowflake", "tsql", "mysql", "bigquery"]
)
def test_every_dialect_takes_every_kind_of_parameter(
    connection: omnigraph_sql.Connection, dialect: str
) -> None:
    connection.dialect = dialect
    for written, bound in (("?", [36]), ("$1", [36]), (":age", {"age": 36})):
        found = rows(connection, f"SELECT name FROM person WHERE age = {written}", bound)
        assert found == [{"name": "ada"}]


@pytest.mark.parametrize(
    ("sql", "params", "found"),
    [
        ("SELECT ? + ?", [1, 2], 3),
        ("SELECT ?::int + 1", ["4"], 5),
        ("SELECT round(?, ?)", [2.567, 2], 2.57),
        ("WITH w AS (SELECT ? AS x) SELECT x + ? FROM w", [1, 2.5], 3.5),
        ("SELECT max(x) FROM (VALUES (?), (?)) v(x)", [9, 10], 10),
        ("SELECT substring('abcd' FROM ? FOR ?)", [2, 2], "bc"),
        ("SELECT DATE '2024-01-31' + ? * INTERVAL '1 day'", [1], date(2024, 2, 1)),
        ("SELECT DATE '2024-01-31' - CAST(? AS INTERVAL)", ["1 day"], date(2024, 1, 30)),
        ("SELECT DATE '2024-01-31' - INTERVAL ?", ["1 day"], date(2024, 1, 30)),
        ("SELECT count(*) FROM person WHERE name = ANY(?)", [["ada", "cy"]], 2),
        ("SELECT ?", [UUID(int=7)], str(UUID(int=7))),
    ],
)
def test_a_parameter_that_no_place_types_has_the_type_of_its_value(
    connection: omnigraph_sql.Connection, sql: str, params: Params, found: object
) -> None:
    assert table(connection, sql, params).column(0).to_pylist() == [found]


def test_the_next_values_may_have_other_types(connection: omnigraph_sql.Connection) -> None:
    found = [table(connection, "SELECT ? AS x", [x]).column(0) for x in (1, "a", None, 2, 1.5)]
    assert [column[0].as_py() for column in found] == [1, "a", None, 2, 1.5]


def test_asking_for_a_row_at_once_announces_nothing(connection: omnigraph_sql.Connection) -> None:
    statement = connection.prepare("SELECT ? AS x, ? + 1 AS y")
    assert isinstance(statement, Statement)
    assert statement.single_row([5, 1]) is None
    found = statement.execute([5, 1])
    assert isinstance(found, pa.RecordBatchReader)
    assert found.read_all().to_pylist() == [{"x": 5, "y": 2}]


def test_what_a_prepared_statement_announced_stays(connection: omnigraph_sql.Connection) -> None:
    statement = connection.prepare("SELECT ? AS x")
    assert statement.result_schema == pa.schema([("x", pa.string())])
    found = statement.execute([1])
    assert isinstance(found, pa.RecordBatchReader)
    assert found.read_all().to_pylist() == [{"x": "1"}]
