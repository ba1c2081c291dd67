"""What a validation suite for ADBC drivers asks of a database: ways in and out.

Written after the behaviours of the public adbc-drivers suite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import fetched, rows, run
from omnigraph_flight.server import Server

Mode = Literal["create", "append", "create_append", "replace"]
MODES: dict[Mode, int] = {"create": 2, "append": 4, "create_append": 6, "replace": 2}
"""In this order, and how many rows there are after each of two."""
Depth = Literal["catalogs", "db_schemas", "tables", "columns", "all"]


# --------------------------------------------------------------------------- statements


def test_the_schema_of_a_query_without_names_is_told(shared_client: dbapi.Connection) -> None:
    with shared_client.cursor() as cursor:
        assert len(cursor.adbc_execute_schema("SELECT 1, 'x'")) == 2


def test_a_typed_null_is_bound(shared_client: dbapi.Connection) -> None:
    for type_ in (pa.int64(), pa.string(), pa.float64(), pa.null()):
        with shared_client.cursor() as cursor:
            cursor.execute("SELECT CAST($1 AS VARCHAR) IS NULL", pa.table({"0": [None]}, None))
            assert cursor.fetchone() == (True,), type_


def test_a_query_with_many_sets_of_parameters_gives_the_rows_of_all(
    shared_client: dbapi.Connection,
) -> None:
    with shared_client.cursor() as cursor:
        cursor.execute("SELECT 1 + $1 AS n", pa.table({"0": pa.array([1, 2, 3], pa.int64())}))
        assert cursor.fetchall() == [(2,), (3,), (4,)]


def test_parameters_are_told_when_a_statement_is_prepared(shared_client: dbapi.Connection) -> None:
    for sql, count in (("SELECT 1", 0), ("SELECT 1 + ?", 1), ("SELECT 1 + $1 + $2", 2)):
        with shared_client.cursor() as cursor:
            cursor.adbc_statement.set_sql_query(sql)
            cursor.adbc_statement.prepare()
            handle = cursor.adbc_statement.get_parameter_schema()
            assert len(pa.Schema._import_from_c(handle.address)) == count


def test_statements_run_without_being_prepared(shared_client: dbapi.Connection, table: str) -> None:
    def changed(sql: str) -> int:
        with shared_client.cursor() as cursor:
            cursor.adbc_statement.set_sql_query(sql)
            return int(cursor.adbc_statement.execute_update())

    assert changed(f"CREATE TABLE {table} (id INT)") == 0
    assert changed(f"INSERT INTO {table} VALUES (1)") == 1
    assert changed(f"UPDATE {table} SET id = id + 1 WHERE id = 1") == 1
    assert changed(f"DELETE FROM {table} WHERE id = 2") == 1
    with shared_client.cursor() as cursor:
        cursor.adbc_statement.set_sql_query("SELECT 'Hello, 世界 🚀' AS greeting")
        handle, _ = cursor.adbc_statement.execute_query()
        with pa.RecordBatchReader._import_from_c(handle.address) as reader:
            assert reader.read_all().to_pydict() == {"greeting": ["Hello, 世界 🚀"]}


def test_a_type_that_is_not_known_yet_is_bound_as_null(
    shared_client: dbapi.Connection, table: str
) -> None:
    run(shared_client, f"CREATE TABLE {table} (id INT, v VARCHAR, t TIME)")
    with shared_client.cursor() as cursor:
        nulls = pa.record_batch({"0": [7], "1": pa.nulls(1), "2": pa.nulls(1)})
        cursor.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", nulls)
    assert rows(shared_client, f"SELECT * FROM {table}") == [(7, None, None)]


def test_counts_of_rows(shared_client: dbapi.Connection, table: str) -> None:
    assert run(shared_client, f"CREATE TABLE {table} (id INT, v VARCHAR)") in (0, -1)
    assert run(shared_client, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')") == 3
    assert run(shared_client, f"UPDATE {table} SET v = 'x' WHERE id > 1") == 2
    assert run(shared_client, f"DELETE FROM {table} WHERE id = 1") == 1
    assert run(shared_client, f"DELETE FROM {table} WHERE id = 99") == 0


def test_transactions_are_toggled(
    shared_server: Server, shared_client: dbapi.Connection, table: str
) -> None:
    run(shared_client, f"CREATE TABLE {table} (id INT)")
    with dbapi.connect(shared_server.uri, autocommit=True) as toggled:
        toggled.adbc_connection.set_autocommit(False)
        run(toggled, f"INSERT INTO {table} VALUES (1)")
        toggled.adbc_connection.rollback()
        run(toggled, f"INSERT INTO {table} VALUES (2)")
        toggled.adbc_connection.set_autocommit(True)  # commits
        run(toggled, f"INSERT INTO {table} VALUES (3)")
    assert sorted(rows(shared_client, f"SELECT id FROM {table}")) == [(2,), (3,)]


def test_names_and_texts_in_any_script(shared_client: dbapi.Connection, table: str) -> None:
    run(shared_client, f'CREATE TABLE {table} ("köln 東京" VARCHAR)')
    run(shared_client, f"INSERT INTO {table} VALUES ('🙂 ﬃ \u200d')")
    found = fetched(shared_client, f'SELECT "köln 東京" FROM {table}')
    assert found.to_pydict() == {"köln 東京": ["🙂 ﬃ \u200d"]}


# --------------------------------------------------------------------------- uploads


def words(*values: str | None) -> pa.Table:
    return pa.table({"word": pa.array(values, pa.string())})


def test_append_to_what_is_not_there_fails(shared_client: dbapi.Connection, table: str) -> None:
    with shared_client.cursor() as cursor, pytest.raises(Error, match="not_found"):
        cursor.adbc_ingest(table, words("x"), mode="append")


def test_create_what_is_there_fails_and_changes_nothing(
    shared_client: dbapi.Connection, table: str
) -> None:
    with shared_client.cursor() as cursor:
        cursor.adbc_ingest(table, words("one"))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, words("two"))
    assert rows(shared_client, f"SELECT * FROM {table}") == [("one",)]


def test_another_schema_is_refused(shared_client: dbapi.Connection, table: str) -> None:
    with shared_client.cursor() as cursor:
        cursor.adbc_ingest(table, words("one"))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, pa.table({"other": [1]}), mode="create_append")
        cursor.adbc_ingest(table, pa.table({"other": [1]}), mode="replace")
    assert fetched(shared_client, f"SELECT * FROM {table}").to_pydict() == {"other": [1]}


def test_required_columns_stay_required(shared_client: dbapi.Connection, table: str) -> None:
    schema = pa.schema([pa.field("word", pa.string(), nullable=False)])
    with shared_client.cursor() as cursor:
        cursor.adbc_ingest(table, pa.table({"word": ["x"]}, schema))
        with pytest.raises(Error):
            cursor.adbc_ingest(table, words(None), mode="append")
    assert rows(shared_client, f"SELECT * FROM {table}") == [("x",)]


def test_uploads_in_batches_long_values_and_many_columns(
    shared_client: dbapi.Connection, table: str
) -> None:
    long = "x" * 1_000_000
    batches = [pa.record_batch({"n": [i], "long": [long]}) for i in range(5)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    with shared_client.cursor() as cursor:
        assert cursor.adbc_ingest(table, reader) == 5
        assert rows(shared_client, f"SELECT sum(length(long)), sum(n) FROM {table}") == [
            (5_000_000, 10)
        ]
        wide = pa.table({f"c{i}": [i] for i in range(300)})
        cursor.adbc_ingest(table, wide, mode="replace")
    assert fetched(shared_client, f"SELECT * FROM {table}").to_pydict() == wide.to_pydict()


def test_an_upload_that_fails_in_the_middle_leaves_nothing(
    shared_client: dbapi.Connection, table: str
) -> None:
    run(shared_client, f"CREATE TABLE {table} (n INT NOT NULL)")

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": pa.array([1, 2], pa.int32())})
        yield pa.record_batch({"n": pa.array([None], pa.int32())})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int32())]), batches())
    with shared_client.cursor() as cursor, pytest.raises(Error):
        cursor.adbc_ingest(table, reader, mode="append")
    assert rows(shared_client, f"SELECT count(*) FROM {table}") == [(0,)]


def test_every_mode_says_how_many_rows(shared_client: dbapi.Connection, table: str) -> None:
    with shared_client.cursor() as cursor:
        for mode, after in MODES.items():
            assert cursor.adbc_ingest(table, words("a", "b"), mode=mode) == 2
            assert rows(shared_client, f"SELECT count(*) FROM {table}") == [(after,)]


def test_uploads_into_schema_and_catalog(shared_client: dbapi.Connection) -> None:
    run(shared_client, "CREATE SCHEMA IF NOT EXISTS lab")
    run(shared_client, "CREATE BRANCH side")
    with shared_client.cursor() as cursor:
        cursor.adbc_ingest("t", words("main"), db_schema_name="lab")
        cursor.adbc_ingest("t", words("side"), "replace", catalog_name="side", db_schema_name="lab")
    assert rows(shared_client, "SELECT * FROM main.lab.t") == [("main",)]
    assert rows(shared_client, "SELECT * FROM side.lab.t") == [("side",)]


def test_temporary_tables_are_their_sessions_own(
    shared_server: Server, shared_client: dbapi.Connection
) -> None:
    with dbapi.connect(shared_server.uri, autocommit=True) as other, other.cursor() as cursor:
        cursor.adbc_ingest("fleeting", words("x"), temporary=True)
        assert rows(other, "SELECT * FROM fleeting") == [("x",)]
    with pytest.raises(Error, match="fleeting"):
        rows(shared_client, "SELECT * FROM fleeting")


# --------------------------------------------------------------------------- looking things up


def test_the_current_catalog_and_schema(shared_server: Server) -> None:
    with dbapi.connect(shared_server.uri, autocommit=True) as own:
        assert (own.adbc_current_catalog, own.adbc_current_db_schema) == ("main", "public")
        run(own, "CREATE BRANCH elsewhere")
        run(own, "CREATE SCHEMA IF NOT EXISTS attic")
        own.adbc_current_catalog = "elsewhere"
        assert own.adbc_current_catalog == "elsewhere"
        own.adbc_current_catalog = "main"
        own.adbc_current_db_schema = "attic"
        run(own, "CREATE TABLE box (n INT)")
        assert rows(own, "SELECT count(*) FROM main.attic.box") == [(0,)]
        with pytest.raises(Error):
            own.adbc_current_catalog = "nowhere"


def test_info(shared_client: dbapi.Connection) -> None:
    told = shared_client.adbc_get_info()
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
    shared_client: dbapi.Connection, filters: dict[str, Any], names: set[str]
) -> None:
    wanted: dict[str, Any] = {"catalog_filter": "main", **filters}
    found = shared_client.adbc_get_objects(depth="tables", **wanted).read_all().to_pylist()
    tables = {
        table["table_name"]
        for catalog in found
        for schema in catalog["catalog_db_schemas"] or ()
        for table in schema["db_schema_tables"] or ()
    }
    assert tables == names


@pytest.mark.parametrize("depth", ["catalogs", "db_schemas", "tables", "columns", "all"])
def test_objects_are_told_to_the_depth_that_is_asked_for(
    shared_client: dbapi.Connection, depth: Depth
) -> None:
    found = shared_client.adbc_get_objects(depth=depth).read_all().to_pylist()
    catalogs = [catalog["catalog_name"] for catalog in found]
    assert "main" in catalogs
    assert len(set(catalogs)) == len(catalogs)
    (main,) = [catalog for catalog in found if catalog["catalog_name"] == "main"]
    if depth == "catalogs":
        assert main["catalog_db_schemas"] is None
        return
    schemas = {s["db_schema_name"]: s["db_schema_tables"] for s in main["catalog_db_schemas"]}
    assert {"nodes", "edges", "public"} <= schemas.keys()
    if depth == "db_schemas":
        assert schemas["nodes"] is None
        return
    tables = {table["table_name"]: table["table_columns"] for table in schemas["nodes"]}
    assert tables.keys() == {"Person", "Club"}
    if depth == "tables":
        assert tables["Person"] is None
        return
    columns = {column["column_name"]: column for column in tables["Person"]}
    assert columns["age"]["xdbc_type_name"] == "BIGINT"
    assert [column["ordinal_position"] for column in tables["Person"]] == [1, 2, 3]


def test_columns_are_filtered_and_described(shared_client: dbapi.Connection) -> None:
    (catalog,) = (
        shared_client.adbc_get_objects(
            depth="all", catalog_filter="main", table_name_filter="Person", column_name_filter="ag%"
        )
        .read_all()
        .to_pylist()
    )
    (table,) = [t for s in catalog["catalog_db_schemas"] for t in s["db_schema_tables"]]
    (column,) = table["table_columns"]
    assert column["column_name"] == "age"
    assert column["ordinal_position"] >= 1


def test_the_schema_of_a_table_that_is_not_there(shared_client: dbapi.Connection) -> None:
    with pytest.raises(Error):
        shared_client.adbc_get_table_schema("Nobody")
    found = shared_client.adbc_get_table_schema(
        "Person", catalog_filter="main", db_schema_filter="nodes"
    )
    assert {"name", "age"} <= set(found.names)


def test_an_option_that_is_not_there(shared_client: dbapi.Connection) -> None:
    with pytest.raises(Error):
        shared_client.adbc_connection.set_options(nonsense="x")
