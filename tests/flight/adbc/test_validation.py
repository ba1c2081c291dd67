"""What a validation suite for ADBC drivers asks of a database: types and ways in and out.

Written after the behaviours of the public adbc-drivers suite: every type as a literal, in a
table, as a bound parameter and in an upload; binding, counting, toggling; looking things up.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import rows, run
from omnigraph_flight.config import Config
from omnigraph_flight.running import Server
from support.social import social_graph


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    graph = social_graph(str(tmp_path_factory.mktemp("graph") / "g"), ["Ann"], [])
    config = Config(graphs={"social": graph.uri}, port=0, optimize_seconds=0)
    with Server(config) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[dbapi.Connection]:
    with dbapi.connect(server.uri, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table(client: dbapi.Connection) -> Iterator[str]:
    """A name that is free, before and after."""
    run(client, "DROP TABLE IF EXISTS t")
    yield "t"
    run(client, "DROP TABLE IF EXISTS t")


def fetched(client: dbapi.Connection, sql: str) -> pa.Table:
    with client.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


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
    "TIMESTAMP WITH TIME ZONE": (pa.timestamp("us", "UTC"), UTC_TIMES),
    "TIMESTAMP(3) WITH TIME ZONE": (pa.timestamp("ms", "UTC"), UTC_TIMES),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_type_is_bound_and_comes_back(client: dbapi.Connection, table: str, name: str) -> None:
    type_, values = VALUES[name]
    run(client, f"CREATE TABLE {table} (idx INT, res {name})")
    bound = pa.table({"idx": pa.array(range(len(values)), pa.int32()), "res": values}, None)
    bound = bound.set_column(1, "res", pa.array(values, type_))
    with client.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES ($1, $2)", bound)
    found = fetched(client, f"SELECT res FROM {table} ORDER BY idx")
    assert found.schema.field("res").type == type_
    assert found["res"].to_pylist() == pa.array(values, type_).to_pylist()


INGESTED = {
    **{str(type_): (type_, values) for type_, values in VALUES.values()},
    "large_string": (pa.large_string(), ["x", None]),
    "large_binary": (pa.large_binary(), [b"x", None]),
    "fixed_size_binary": (pa.binary(3), [b"abc", None]),
    "decimal whole": (pa.decimal128(5, 0), [Decimal("12345"), None]),
    "decimal fraction": (pa.decimal128(5, 5), [Decimal("0.12345"), None]),
    "time seconds": (pa.time32("s"), [time(1, 2, 3), None]),
    "time ms": (pa.time32("ms"), [time(1, 2, 3, 4000), None]),
    "list": (pa.list_(pa.int64()), [[1, None], [], None]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None]),
}


@pytest.mark.parametrize("name", INGESTED)
def test_a_type_is_uploaded_and_comes_back(client: dbapi.Connection, table: str, name: str) -> None:
    type_, values = INGESTED[name]
    given = pa.table({"idx": range(len(values)), "value": pa.array(values, type_)})
    with client.cursor() as cursor:
        assert cursor.adbc_ingest(table, given) == len(values)
    found = fetched(client, f"SELECT value FROM {table} ORDER BY idx")
    assert found["value"].to_pylist() == given["value"].to_pylist()
    if not pa.types.is_fixed_size_binary(type_) and not str(type_).startswith("large"):
        assert found.schema.field("value").type == type_


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
    client: dbapi.Connection, sql: str, value: object, type_: pa.DataType | None
) -> None:
    found = fetched(client, f"{sql} AS res")
    assert found["res"].to_pylist() == [value]
    assert type_ is None or found.schema.field("res").type == type_


# --------------------------------------------------------------------------- statements


def test_the_schema_of_a_query_without_names_is_told(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        assert len(cursor.adbc_execute_schema("SELECT 1, 'x'")) == 2


def test_a_typed_null_is_bound(client: dbapi.Connection) -> None:
    for type_ in (pa.int64(), pa.string(), pa.float64(), pa.null()):
        with client.cursor() as cursor:
            cursor.execute("SELECT CAST($1 AS VARCHAR) IS NULL", pa.table({"0": [None]}, None))
            assert cursor.fetchone() == (True,), type_


def test_a_query_with_many_sets_of_parameters_gives_the_rows_of_all(
    client: dbapi.Connection,
) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT 1 + $1 AS n", pa.table({"0": pa.array([1, 2, 3], pa.int64())}))
        assert cursor.fetchall() == [(2,), (3,), (4,)]


def test_counts_of_rows(client: dbapi.Connection, table: str) -> None:
    assert run(client, f"CREATE TABLE {table} (id INT, v VARCHAR)") in (0, -1)
    assert run(client, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')") == 3
    assert run(client, f"UPDATE {table} SET v = 'x' WHERE id > 1") == 2
    assert run(client, f"DELETE FROM {table} WHERE id = 1") == 1
    assert run(client, f"DELETE FROM {table} WHERE id = 99") == 0


def test_transactions_are_toggled(server: Server, client: dbapi.Connection, table: str) -> None:
    run(client, f"CREATE TABLE {table} (id INT)")
    with dbapi.connect(server.uri, autocommit=True) as toggled:
        toggled.adbc_connection.set_autocommit(False)
        run(toggled, f"INSERT INTO {table} VALUES (1)")
        toggled.adbc_connection.rollback()
        run(toggled, f"INSERT INTO {table} VALUES (2)")
        toggled.adbc_connection.set_autocommit(True)  # commits
        run(toggled, f"INSERT INTO {table} VALUES (3)")
    assert sorted(rows(client, f"SELECT id FROM {table}")) == [(2,), (3,)]


def test_names_and_texts_in_any_script(client: dbapi.Connection, table: str) -> None:
    run(client, f'CREATE TABLE {table} ("köln 東京" VARCHAR)')
    run(client, f"INSERT INTO {table} VALUES ('🙂 ﬃ \u200d')")
    found = fetched(client, f'SELECT "köln 東京" FROM {table}')
    assert found.to_pydict() == {"köln 東京": ["🙂 ﬃ \u200d"]}


# --------------------------------------------------------------------------- uploads


def words(*values: str | None) -> pa.Table:
    return pa.table({"word": pa.array(values, pa.string())})


def test_append_to_what_is_not_there_fails(client: dbapi.Connection, table: str) -> None:
    with client.cursor() as cursor, pytest.raises(Error, match="not_found"):
        cursor.adbc_ingest(table, words("x"), mode="append")


def test_create_what_is_there_fails_and_changes_nothing(
    client: dbapi.Connection, table: str
) -> None:
    with client.cursor() as cursor:
        cursor.adbc_ingest(table, words("one"))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, words("two"))
    assert rows(client, f"SELECT * FROM {table}") == [("one",)]


def test_another_schema_is_refused(client: dbapi.Connection, table: str) -> None:
    with client.cursor() as cursor:
        cursor.adbc_ingest(table, words("one"))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, pa.table({"other": [1]}), mode="create_append")
        cursor.adbc_ingest(table, pa.table({"other": [1]}), mode="replace")
    assert fetched(client, f"SELECT * FROM {table}").to_pydict() == {"other": [1]}


def test_required_columns_stay_required(client: dbapi.Connection, table: str) -> None:
    schema = pa.schema([pa.field("word", pa.string(), nullable=False)])
    with client.cursor() as cursor:
        cursor.adbc_ingest(table, pa.table({"word": ["x"]}, schema))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, words(None), mode="append")
    assert rows(client, f"SELECT * FROM {table}") == [("x",)]


def test_uploads_in_batches_long_values_and_many_columns(
    client: dbapi.Connection, table: str
) -> None:
    long = "x" * 1_000_000
    batches = [pa.record_batch({"n": [i], "long": [long]}) for i in range(5)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    with client.cursor() as cursor:
        assert cursor.adbc_ingest(table, reader) == 5
        assert rows(client, f"SELECT sum(length(long)), sum(n) FROM {table}") == [(5_000_000, 10)]
        wide = pa.table({f"c{i}": [i] for i in range(300)})
        cursor.adbc_ingest(table, wide, mode="replace")
    assert fetched(client, f"SELECT * FROM {table}").to_pydict() == wide.to_pydict()


def test_uploads_into_schema_and_catalog(client: dbapi.Connection) -> None:
    run(client, "CREATE SCHEMA IF NOT EXISTS lab")
    run(client, "CREATE BRANCH side")
    with client.cursor() as cursor:
        cursor.adbc_ingest("t", words("main"), db_schema_name="lab")
        cursor.adbc_ingest("t", words("side"), "replace", catalog_name="side", db_schema_name="lab")
    assert rows(client, "SELECT * FROM main.lab.t") == [("main",)]
    assert rows(client, "SELECT * FROM side.lab.t") == [("side",)]


def test_temporary_tables_are_their_sessions_own(server: Server, client: dbapi.Connection) -> None:
    with dbapi.connect(server.uri, autocommit=True) as other, other.cursor() as cursor:
        cursor.adbc_ingest("fleeting", words("x"), temporary=True)
        assert rows(other, "SELECT * FROM fleeting") == [("x",)]
    with pytest.raises(Error, match="fleeting"):
        rows(client, "SELECT * FROM fleeting")


# --------------------------------------------------------------------------- looking things up


def test_the_current_catalog_and_schema(server: Server) -> None:
    with dbapi.connect(server.uri, autocommit=True) as client:
        assert (client.adbc_current_catalog, client.adbc_current_db_schema) == ("main", "public")
        run(client, "CREATE BRANCH elsewhere")
        run(client, "CREATE SCHEMA IF NOT EXISTS attic")
        client.adbc_current_catalog = "elsewhere"
        assert client.adbc_current_catalog == "elsewhere"
        client.adbc_current_catalog = "main"
        client.adbc_current_db_schema = "attic"
        run(client, "CREATE TABLE box (n INT)")
        assert rows(client, "SELECT count(*) FROM main.attic.box") == [(0,)]
        with pytest.raises(Error):
            client.adbc_current_catalog = "nowhere"


def test_info(client: dbapi.Connection) -> None:
    told = client.adbc_get_info()
    assert told["vendor_name"] == "OmniGraph"
    assert told["vendor_version"]
    assert told["driver_name"]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"table_name_filter": "Person"}, {"Person"}),
        ({"table_name_filter": "P_rs%"}, {"Person"}),
        ({"table_name_filter": "Nobody"}, set()),
        ({"db_schema_filter": "nodes"}, {"Person", "Club"}),
        ({"db_schema_filter": "nowhere"}, set()),
        ({"catalog_filter": "nowhere"}, set()),
    ],
)
def test_objects_are_filtered(
    client: dbapi.Connection, filters: dict[str, str], names: set[str]
) -> None:
    wanted = {"catalog_filter": "main", **filters}
    found = client.adbc_get_objects(depth="tables", **wanted).read_all().to_pylist()
    tables = {
        table["table_name"]
        for catalog in found
        for schema in catalog["catalog_db_schemas"] or ()
        for table in schema["db_schema_tables"] or ()
    }
    assert tables == names


def test_columns_are_filtered_and_described(client: dbapi.Connection) -> None:
    (catalog,) = (
        client.adbc_get_objects(
            depth="all", catalog_filter="main", table_name_filter="Person", column_name_filter="ag%"
        )
        .read_all()
        .to_pylist()
    )
    (table,) = [t for s in catalog["catalog_db_schemas"] for t in s["db_schema_tables"]]
    (column,) = table["table_columns"]
    assert column["column_name"] == "age"
    assert column["ordinal_position"] >= 1


def test_the_schema_of_a_table_that_is_not_there(client: dbapi.Connection) -> None:
    with pytest.raises(Error):
        client.adbc_get_table_schema("Nobody")
    found = client.adbc_get_table_schema("Person", catalog_filter="main", db_schema_filter="nodes")
    assert {"name", "age"} <= set(found.names)


def test_an_option_that_is_not_there(client: dbapi.Connection) -> None:
    with pytest.raises(Error):
        client.adbc_connection.set_options(nonsense="x")
