"""Literals keep what is written: bytes, digits of a second, numbers as large as doubles."""

from __future__ import annotations

from datetime import time
from decimal import Decimal

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph.errors import InvalidInput
from sql.conftest import table

NANOSECONDS = "2023-05-15 13:45:30.123456789"


def only(connection: omnigraph_sql.Connection, sql: str) -> pa.Scalar:
    """The one value of a query."""
    found = table(connection, sql)
    assert (found.num_rows, found.num_columns) == (1, 1)
    return found.column(0)[0]


@pytest.mark.parametrize("text", ["deadBEEF", "00", "", "e38193" * 30])
def test_a_hexadecimal_literal_is_bytes(
    shared_connection: omnigraph_sql.Connection, text: str
) -> None:
    assert only(shared_connection, f"SELECT X'{text}'") == pa.scalar(bytes.fromhex(text))


def test_half_a_byte_is_refused(shared_connection: omnigraph_sql.Connection) -> None:
    with pytest.raises(InvalidInput, match="abc"):
        shared_connection.execute("SELECT X'abc'")


def test_bytes_come_from_hexadecimal_text(shared_connection: omnigraph_sql.Connection) -> None:
    assert only(shared_connection, "SELECT from_hex('ff00')") == pa.scalar(b"\xff\x00")


@pytest.mark.parametrize(
    "text", ["1e10", "-1.5E3", "1.7976931348623157e308", "2.2250738585072014e-308", "5e-324"]
)
def test_a_number_with_an_exponent_is_a_double(
    shared_connection: omnigraph_sql.Connection, text: str
) -> None:
    assert only(shared_connection, f"SELECT {text}") == pa.scalar(float(text))


def test_a_number_with_a_fraction_is_still_a_decimal(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    assert only(shared_connection, "SELECT 0.10").as_py() == Decimal("0.10")


def test_more_digits_than_a_decimal_has_are_a_double(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    assert only(shared_connection, "SELECT 0." + "3" * 90).as_py() == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("TIMESTAMP", pa.timestamp("ns")),
        ("TIMESTAMP WITH TIME ZONE", pa.timestamp("ns", "UTC")),
    ],
)
def test_digits_beyond_microseconds_are_kept(
    shared_connection: omnigraph_sql.Connection, kind: str, type_: pa.DataType
) -> None:
    found = only(shared_connection, f"SELECT {kind} '{NANOSECONDS}'")
    assert found.type == type_
    assert found.value % 1_000_000_000 == 123456789
    assert only(shared_connection, f"SELECT {kind} '2023-05-15 13:45:30.5'").type.unit == "us"


@pytest.mark.parametrize("year", ["1677-09-21 00:12:43.145224191", "9999-12-31 23:59:59.9999999"])
def test_where_nanoseconds_end_they_are_cut(
    shared_connection: omnigraph_sql.Connection, year: str
) -> None:
    assert only(shared_connection, f"SELECT TIMESTAMP '{year}'").type == pa.timestamp("us")


def test_literals_are_inserted_as_they_are(connection: omnigraph_sql.Connection) -> None:
    connection.execute(
        "CREATE TABLE lit (b BYTEA, t TIME, at TIMESTAMP(9), d DOUBLE PRECISION, n DECIMAL(10, 2))"
    )
    connection.execute(
        "INSERT INTO lit VALUES "
        f"(X'00ff', TIME '13:45:31.123456', TIMESTAMP '{NANOSECONDS}', 5e-324, 1.5e2)"
    )
    found = table(connection, "SELECT * FROM lit")
    assert found["b"].to_pylist() == [b"\x00\xff"]
    assert found["t"].to_pylist() == [time(13, 45, 31, 123456)]
    assert found["at"][0].value % 1000 == 789
    assert found["d"].to_pylist() == [5e-324]
    assert found["n"].to_pylist() == [Decimal("150.00")]


def test_a_null_fits_every_type(connection: omnigraph_sql.Connection) -> None:
    connection.execute(
        "CREATE TABLE lit (k INT, t TIME, b BYTEA, l INT[], s STRUCT(a INT), m TIMESTAMP)"
    )
    connection.execute("INSERT INTO lit VALUES (1, NULL, NULL, NULL, NULL, NULL)")
    connection.execute("UPDATE lit SET t = NULL, l = NULL, s = NULL")
    assert table(connection, "SELECT * FROM lit WHERE t IS NULL AND s IS NULL").num_rows == 1
