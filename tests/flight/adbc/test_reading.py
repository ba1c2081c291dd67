"""What ADBC sends to read, answered: statements, parameters, schemas, partitions."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import ProgrammingError

from flight.clients import header, rows
from omnigraph import Graph
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server


def test_a_query_streams_its_rows(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.execute('SELECT name, age FROM "Person" ORDER BY name')
        assert cursor.fetchone() == ("Ann", 30)
        assert cursor.fetchall() == [("Bob", 30), ("Cid", 30)]
        assert [column[0] for column in cursor.description or ()] == ["name", "age"]


def test_results_are_arrow_pandas_and_polars(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT name FROM Person ORDER BY name")
        assert cursor.fetch_arrow_table().to_pydict() == {"name": ["Ann", "Bob", "Cid"]}
        cursor.execute("SELECT name FROM Person ORDER BY name")
        assert cursor.fetch_df()["name"].tolist() == ["Ann", "Bob", "Cid"]
        cursor.execute("SELECT name FROM Person ORDER BY name")
        assert cursor.fetch_polars()["name"].to_list() == ["Ann", "Bob", "Cid"]


def test_an_empty_result_has_its_schema(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT name, age FROM Person WHERE name = 'Zoe'")
        table = cursor.fetch_arrow_table()
    assert table.num_rows == 0
    assert table.schema.names == ["name", "age"]


def test_parameters_are_bound_by_type(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.execute("SELECT name FROM Person WHERE name = ? AND age > ?", ("Bob", 20))
        assert cursor.fetchall() == [("Bob",)]
        cursor.execute("SELECT name FROM Person WHERE name = $1", ("Cid",))
        assert cursor.fetchall() == [("Cid",)]


def test_parameter_schemas_are_typed(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        schema = cursor.adbc_prepare("SELECT name FROM Person WHERE age > ? AND name <> ?")
    assert schema is not None
    assert [field.type for field in schema] == [pa.int64(), pa.string()]


def test_a_prepared_statement_runs_again_and_again(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.adbc_prepare("SELECT age FROM Person WHERE name = ?")
        for name in ("Ann", "Bob", "Ann"):
            cursor.execute("SELECT age FROM Person WHERE name = ?", (name,))
            assert cursor.fetchall() == [(30,)]


def test_the_schema_is_told_without_running(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        schema = cursor.adbc_execute_schema("SELECT name, age + 1 AS next FROM Person")
    assert schema.names == ["name", "next"]


def test_partitions_are_read_from_anywhere(server: Server, graph: Graph) -> None:
    for name in ("Dee", "Eli", "Fay", "Gus"):  # each a fragment of its own
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": name}])
    options = header(slices="3")
    with dbapi.connect(server.uri, db_kwargs=options, autocommit=True) as one:
        with one.cursor() as cursor:
            partitions, schema = cursor.adbc_execute_partitions("SELECT name FROM Person")
        assert schema is not None
        assert schema.names == ["name"]
        assert len(partitions) == 3
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Late"}])  # too late for those tickets
    seen: list[str] = []
    for partition in pickle.loads(pickle.dumps(partitions)):
        with dbapi.connect(server.uri, autocommit=True) as other, other.cursor() as cursor:
            cursor.adbc_read_partition(partition)
            seen += [name for (name,) in cursor.fetchall()]
    assert sorted(seen) == ["Ann", "Bob", "Cid", "Dee", "Eli", "Fay", "Gus"]


def test_a_small_scan_is_one_slice_unless_asked(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        partitions, _ = cursor.adbc_execute_partitions("SELECT name FROM Person")
    assert len(partitions) == 1


def test_a_large_scan_comes_in_slices_and_in_order(client: dbapi.Connection, graph: Graph) -> None:
    for part in range(3):  # each a fragment of its own
        names = pa.array([f"p{part}{n:05}" for n in range(15_000)])
        with graph.transaction() as txn:
            txn.insert("Person", pa.table({"name": names}))
    scan = "SELECT name FROM Person"
    with client.cursor() as cursor:
        partitions, _ = cursor.adbc_execute_partitions(scan)
        cursor.execute(scan)
        read = cursor.fetch_arrow_table().column("name").to_pylist()
        ordered, _ = cursor.adbc_execute_partitions(f"{scan} ORDER BY name")
        filtered, _ = cursor.adbc_execute_partitions(f"{scan} WHERE name = 'p100000'")
    assert len(partitions) > 1
    assert read == sorted(read)
    assert len(read) == 45_003
    assert (len(ordered), len(filtered)) == (1, 1)


def test_a_client_that_may_read_one_slice_only_gets_one(server: Server, graph: Graph) -> None:
    for part in range(2):
        with graph.transaction() as txn:
            txn.insert("Person", pa.table({"name": [f"p{part}{n:05}" for n in range(15_000)]}))
    command = wrapped("CommandStatementQuery", query="SELECT name FROM Person")
    with fl.connect(server.uri) as client:
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    assert len(info.endpoints) == 1


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT * FRM Person", "parse_error"),
        ("SELECT nope FROM Person", "nope"),
        ("SELECT * FROM Nobody", "Nobody"),
        ("-- nothing", "statement"),
    ],
)
def test_a_wrong_statement_is_explained(client: dbapi.Connection, sql: str, told: str) -> None:
    with client.cursor() as cursor, pytest.raises(ProgrammingError, match=told):
        cursor.execute(sql)


def test_statements_in_gq(client: dbapi.Connection, graph: Graph) -> None:
    text = (
        "query who($n: String) { match { $p: Person { name: $n } $p knows $q } return { $q.name } }"
    )
    with client.cursor() as cursor:
        cursor.execute(text, ("Ann",))
        assert cursor.fetchall() == [("Bob",)]
        graph.register_queries(text)
        cursor.execute("who", ("Bob",))
        assert cursor.fetchall() == [("Cid",)]
        cursor.execute("query add($n: String) { insert Person { name: $n } }", ("Dee",))
        assert cursor.rowcount == 1
    assert rows(client, "SELECT count(*) FROM Person") == [(4,)]
