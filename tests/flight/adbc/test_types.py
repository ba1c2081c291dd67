"""What a validation suite for ADBC drivers asks of a database: every type, in and out.

Written after the behaviours of the public adbc-drivers suite.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import fetched, run

TIMES = [None, datetime(2023, 5, 15, 13, 45, 30), datetime(1969, 7, 20, 20, 17, 40)]
UTC_TIMES = [moment and moment.replace(tzinfo=UTC) for moment in TIMES]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "BOOLEAN": (pa.bool_(), [None, True, False]),
    "SMALLINT": (pa.int16(), [None, -(2**15), 2**15 - 1]),
    "INT": (pa.int32(), [None, -(2**31), 2**31 - 1]),
    "BIGINT": (pa.int64(), [None, -(2**63), 2**63 - 1]),
    "REAL": (pa.float32(), [None, 0.5, -3.25]),
    "DOUBLE PRECISION": (pa.float64(), [None, 1.7976931348623157e308, -5e-324]),
    "DECIMAL(10, 2)": (pa.decimal128(10, 2), [None, Decimal("99999999.99"), Decimal("-0.01")]),
    "VARCHAR": (pa.string(), [None, "", "こんにちは、世界！", "it's; -- no"]),
    "BYTEA": (pa.binary(), [None, b"", b"\x00\xff\x27"]),
    "DATE": (pa.date32(), [None, date(1, 1, 1), date(9999, 12, 31)]),
    "TIME": (pa.time64("us"), [None, time(0, 0), time(23, 59, 59, 999999)]),
    "TIMESTAMP": (pa.timestamp("us"), TIMES),
    "TIMESTAMP(0)": (pa.timestamp("s"), TIMES),
    "TIMESTAMP(3)": (pa.timestamp("ms"), TIMES),
    "TIMESTAMP(6)": (pa.timestamp("us"), TIMES),
    "TIMESTAMP(9)": (pa.timestamp("ns"), TIMES),
    **{
        f"TIMESTAMP({digits})": (pa.timestamp(unit), TIMES)
        for digits, unit in ((1, "ms"), (2, "ms"), (4, "us"), (5, "us"), (7, "ns"), (8, "ns"))
    },
    **{
        f"TIMESTAMP({digits}) WITH TIME ZONE": (pa.timestamp(unit, "UTC"), UTC_TIMES)
        for digits, unit in ((0, "s"), (6, "us"), (9, "ns"))
    },
    "TIME(0)": (pa.time32("s"), [None, time(23, 59, 59)]),
    "TIME(3)": (pa.time32("ms"), [None, time(23, 59, 59, 999000)]),
    "TIME(9)": (pa.time64("ns"), [None, time(23, 59, 59, 999999)]),
    "BLOB": (pa.binary(), [None, b"\xde\xad"]),
    "VARBINARY": (pa.binary(), [None, b"\xde\xad"]),
    "TIMESTAMP WITH TIME ZONE": (pa.timestamp("us", "UTC"), UTC_TIMES),
    "TIMESTAMP(3) WITH TIME ZONE": (pa.timestamp("ms", "UTC"), UTC_TIMES),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_type_is_bound_and_comes_back(
    shared_client: dbapi.Connection, table: str, name: str
) -> None:
    type_, values = VALUES[name]
    run(shared_client, f"CREATE TABLE {table} (idx INT, res {name})")
    bound = pa.table({"idx": pa.array(range(len(values)), pa.int32()), "res": values}, None)
    bound = bound.set_column(1, "res", pa.array(values, type_))
    with shared_client.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES ($1, $2)", bound)
    found = fetched(shared_client, f"SELECT res FROM {table} ORDER BY idx")
    assert found.schema.field("res").type == type_
    assert found["res"].to_pylist() == pa.array(values, type_).to_pylist()


@pytest.mark.parametrize("name", VALUES)
def test_a_type_is_told_without_running_anything(
    shared_client: dbapi.Connection, table: str, name: str
) -> None:
    type_, _ = VALUES[name]
    run(shared_client, f"CREATE TABLE {table} (idx INT, res {name})")
    with shared_client.cursor() as cursor:
        assert cursor.adbc_execute_schema(f"SELECT res FROM {table}").types == [type_]
    assert shared_client.adbc_get_table_schema(table).types == [pa.int32(), type_]


TEXTS = pa.array(["x", None, "", "x"])
BOUND: dict[str, tuple[str, pa.Array]] = {
    "string view": ("VARCHAR", TEXTS.cast(pa.string_view())),
    "large string": ("VARCHAR", TEXTS.cast(pa.large_string())),
    "dictionary": ("VARCHAR", TEXTS.dictionary_encode()),
    "dictionary of large": ("VARCHAR", TEXTS.cast(pa.large_string()).dictionary_encode()),
    "binary view": ("BYTEA", pa.array([b"x", None], pa.binary_view())),
    "large binary": ("BYTEA", pa.array([b"x", None], pa.large_binary())),
    "fixed size binary": ("BYTEA", pa.array([b"abc", None], pa.binary(3))),
    "half float": ("REAL", pa.array([1.5, None], pa.float16())),
    "unsigned": ("BIGINT", pa.array([2**32 - 1, None], pa.uint32())),
    "date64": ("DATE", pa.array([date(2020, 1, 2), None], pa.date64())),
    "seconds": ("TIMESTAMP(9)", pa.array(TIMES, pa.timestamp("s"))),
    "another zone": (
        "TIMESTAMP WITH TIME ZONE",
        pa.array(UTC_TIMES, pa.timestamp("us", "Asia/Tokyo")),
    ),
    "decimal": ("DECIMAL(20, 4)", pa.array([Decimal("1.5"), None], pa.decimal128(5, 1))),
    "wide decimal": ("DECIMAL(20, 4)", pa.array([Decimal("1.5"), None], pa.decimal256(60, 1))),
    "nothing": ("TIME", pa.nulls(2)),
}


@pytest.mark.parametrize("name", BOUND)
def test_a_relative_of_a_type_is_bound(
    shared_client: dbapi.Connection, table: str, name: str
) -> None:
    declared, values = BOUND[name]
    run(shared_client, f"CREATE TABLE {table} (idx INT, res {declared})")
    with shared_client.cursor() as cursor:
        rows_ = pa.table({"idx": pa.array(range(len(values)), pa.int32()), "res": values})
        cursor.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows_)
        assert cursor.rowcount == len(values)
    found = fetched(shared_client, f"SELECT res FROM {table} ORDER BY idx")
    assert found["res"].to_pylist() == values.to_pylist()


INGESTED = {
    **{str(type_): (type_, values) for type_, values in VALUES.values()},
    "large_string": (pa.large_string(), ["x", None]),
    "large_binary": (pa.large_binary(), [b"x", None]),
    "fixed_size_binary": (pa.binary(3), [b"abc", None]),
    "decimal whole": (pa.decimal128(5, 0), [Decimal("12345"), None]),
    "decimal fraction": (pa.decimal128(5, 5), [Decimal("0.12345"), None]),
    "time seconds": (pa.time32("s"), [time(1, 2, 3), None]),
    "time ms": (pa.time32("ms"), [time(1, 2, 3, 4000), None]),
    "time ns": (pa.time64("ns"), [time(1, 2, 3, 4), None]),
    "string view": (pa.string_view(), ["x", None]),
    "binary view": (pa.binary_view(), [b"x", None]),
    "half float": (pa.float16(), [0.5, None]),
    "another zone": (pa.timestamp("us", "Asia/Tokyo"), UTC_TIMES),
    "decimal of thousands": (pa.decimal128(2, -2), [Decimal(9900), Decimal(-9900), None]),
    "wide decimal": (pa.decimal256(60, 3), [Decimal("1" * 50 + ".125"), None]),
    "date64": (pa.date64(), [date(2020, 1, 2), None]),
    "unsigned": (pa.uint64(), [2**64 - 1, None]),
    "tiny": (pa.int8(), [-128, None]),
    "fixed size list": (pa.list_(pa.float32(), 2), [[1.0, 2.0], None]),
    "large list": (pa.large_list(pa.int64()), [[1, None], [], None]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [], None]),
    "list of structs": (pa.list_(pa.struct([("a", pa.int64())])), [[{"a": 1}, None], None]),
    "nothing": (pa.null(), [None, None]),
    "duration": (pa.duration("us"), [timedelta(seconds=1), None]),
    "list": (pa.list_(pa.int64()), [[1, None], [], None]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None]),
}


STORED_AS = {
    pa.string_view(): pa.string(),  # some clients do not know views
    pa.binary_view(): pa.binary(),
    pa.null(): pa.string(),
}


@pytest.mark.parametrize("name", INGESTED)
def test_a_type_is_uploaded_and_comes_back(
    shared_client: dbapi.Connection, table: str, name: str
) -> None:
    type_, values = INGESTED[name]
    given = pa.table({"idx": range(len(values)), "value": pa.array(values, type_)})
    with shared_client.cursor() as cursor:
        assert cursor.adbc_ingest(table, given) == len(values)
    found = fetched(shared_client, f"SELECT value FROM {table} ORDER BY idx")
    assert found["value"].to_pylist() == given["value"].to_pylist()
    assert found.schema.field("value").type == STORED_AS.get(type_, type_)


@pytest.mark.parametrize(
    ("sql", "value", "type_"),
    [
        ("SELECT true", True, pa.bool_()),
        ("SELECT CAST(-32768 AS SMALLINT)", -32768, pa.int16()),
        ("SELECT CAST(7 AS INT)", 7, pa.int32()),
        ("SELECT 9223372036854775807", 2**63 - 1, pa.int64()),
        ("SELECT CAST(1.5 AS REAL)", 1.5, pa.float32()),
        ("SELECT CAST(2.5 AS DOUBLE PRECISION)", 2.5, pa.float64()),
        ("SELECT CAST('123.45' AS DECIMAL(10, 2))", Decimal("123.45"), pa.decimal128(10, 2)),
        ("SELECT 'hé''llo'", "hé'llo", pa.string()),
        ("SELECT DATE '2023-05-15'", date(2023, 5, 15), pa.date32()),
        ("SELECT TIMESTAMP '2023-05-15 13:45:30'", TIMES[1], None),
        ("SELECT TIMESTAMP WITH TIME ZONE '2023-05-15 13:45:30+00'", UTC_TIMES[1], None),
        ("SELECT CAST('13:45:31' AS TIME)", time(13, 45, 31), None),
        ("SELECT NULL", None, None),
    ],
)
def test_literals(
    shared_client: dbapi.Connection, sql: str, value: object, type_: pa.DataType | None
) -> None:
    found = fetched(shared_client, f"{sql} AS res")
    assert found["res"].to_pylist() == [value]
    assert type_ is None or found.schema.field("res").type == type_
