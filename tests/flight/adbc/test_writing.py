"""What ADBC sends to write: updates with counts, many rows at once, uploads, transactions."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import action, header, query, rows, run, update
from flight.conftest import Connect
from omnigraph import Graph
from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server
from support.social import people

COUNT = "SELECT count(*) FROM Person"


def test_updates_tell_how_many_rows_they_changed(client: dbapi.Connection, graph: Graph) -> None:
    assert run(client, "CREATE TABLE t (a BIGINT, b VARCHAR)") == 0
    assert run(client, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')") == 3
    assert run(client, "UPDATE t SET b = 'w' WHERE a > 1") == 2
    assert run(client, "DELETE FROM t WHERE a = 1") == 1
    assert sorted(rows(client, "SELECT a, b FROM t")) == [(2, "w"), (3, "w")]
    assert run(client, "INSERT INTO nodes.Person (name, age) VALUES ('Dee', 4)") == 1
    assert people(graph) == ["Ann", "Bob", "Cid", "Dee"]


def test_each_statement_is_one_commit_by_its_user(client: dbapi.Connection, graph: Graph) -> None:
    before = graph.commits()[0].version
    run(client, "INSERT INTO Person (name) VALUES ('Dee'), ('Eli')")
    newest = graph.commits()[0]
    assert newest.version == before + 1
    assert newest.actor == "anonymous"


def test_parameters_of_anupdate(client: dbapi.Connection, graph: Graph) -> None:
    assert run(client, "INSERT INTO Person (name, age) VALUES (?, ?)", "Dee", 7) == 1
    assert rows(client, "SELECT age FROM Person WHERE name = 'Dee'") == [(7,)]


def test_many_rows_are_bound_at_once(client: dbapi.Connection, graph: Graph) -> None:
    before = graph.commits()[0].version
    with client.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO Person (name, age) VALUES (?, ?)", [(f"P{i}", i) for i in range(100)]
        )
        assert cursor.rowcount == 100
    assert rows(client, COUNT) == [(103,)]
    assert graph.commits()[0].version == before + 1, "all of them in one commit"


def test_a_failing_update_changes_nothing(client: dbapi.Connection, graph: Graph) -> None:
    before = graph.commits()[0].id
    for sql in (
        "INSERT INTO Person (name) VALUES ('Ann')",
        "INSERT INTO Person (name) VALUES (NULL)",
        "INSERT INTO Knows (src, dst) VALUES ('Ann', 'Nobody')",
        "INSERT INTO nowhere VALUES (1)",
    ):
        with pytest.raises(Error):
            run(client, sql)
    assert graph.commits()[0].id == before


@pytest.mark.parametrize("schema", [None, "staging"])
def test_uploads_in_four_modes(client: dbapi.Connection, schema: str | None) -> None:
    if schema:
        run(client, f"CREATE SCHEMA {schema}")
    table = f"{schema}.t" if schema else "t"
    given = pa.table({"a": [1, 2], "b": ["x", None]})
    with client.cursor() as cursor:

        def upload(mode: str) -> int:
            return int(
                cursor.adbc_ingest("t", given, mode=mode, db_schema_name=schema)  # type: ignore[arg-type]
            )

        with pytest.raises(Error):
            upload("append")
        assert upload("create") == 2
        with pytest.raises(Error):
            upload("create")
        assert upload("append") == 2
        assert upload("create_append") == 2
        assert rows(client, f"SELECT count(*) FROM {table}") == [(6,)]
        assert upload("replace") == 2
        assert sorted(rows(client, f"SELECT a, b FROM {table}")) == [(1, "x"), (2, None)]


def test_uploads_into_a_type_and_a_branch(client: dbapi.Connection, graph: Graph) -> None:
    graph.create_branch("draft")
    with client.cursor() as cursor:
        cursor.adbc_ingest(
            "Person",
            pa.table({"name": ["Dee", "Eli"], "age": [1, 2]}),
            mode="append",
            catalog_name="draft",
            db_schema_name="nodes",
        )
    assert people(graph, "draft") == ["Ann", "Bob", "Cid", "Dee", "Eli"]
    assert people(graph) == ["Ann", "Bob", "Cid"]


def test_a_large_upload_streams(client: dbapi.Connection) -> None:
    schema = pa.schema([("n", pa.int64()), ("text", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in range(30):
            numbers = pa.array(range(part * 10_000, (part + 1) * 10_000), pa.int64())
            yield pa.record_batch([numbers, numbers.cast(pa.string())], schema=schema)

    with client.cursor() as cursor:
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        assert cursor.adbc_ingest("big", reader, mode="create") == 300_000
    assert rows(client, "SELECT count(*), sum(n) FROM big") == [(300_000, 44_999_850_000)]


def test_a_header_chooses_where_to_write(connect: Connect, graph: Graph) -> None:
    graph.create_branch("draft")
    draft = connect(**header(branch="draft"))
    run(draft, "INSERT INTO Person (name) VALUES ('Dee')")
    run(draft, "CREATE TABLE t AS SELECT name FROM Person")
    assert people(graph) == ["Ann", "Bob", "Cid"]
    assert rows(draft, "SELECT count(*) FROM t") == [(4,)]


def test_several_statements_in_one_text(server: Server) -> None:
    with fl.connect(server.uri) as client:
        text = "CREATE TABLE a (n INT); INSERT INTO a VALUES (1), (2); DELETE FROM a WHERE n = 1"
        assert update(client, text) == 1
        assert query(client, "SELECT n FROM a").to_pydict() == {"n": [2]}


def test_clients_that_take_an_update_for_a_query_run_it_once(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        told = query(client, "INSERT INTO Person (name) VALUES ('Dee'), ('Eli')")
        assert told.to_pydict() == {"count": [2]}
    assert people(graph) == ["Ann", "Bob", "Cid", "Dee", "Eli"]


# --------------------------------------------------------------------------- transactions


def test_a_transaction_is_seen_by_its_own_client_until_it_commits(
    connect: Connect, graph: Graph
) -> None:
    inside, outside = connect(autocommit=False), connect()
    run(inside, "INSERT INTO Person (name) VALUES ('Dee')")
    run(inside, "CREATE TABLE t (n INT)")
    run(inside, "INSERT INTO t VALUES (1), (2)")
    assert rows(inside, COUNT) == [(4,)]
    assert rows(outside, COUNT) == [(3,)]
    before = graph.commits()[0].version
    inside.commit()
    assert rows(outside, COUNT) == [(4,)]
    assert rows(outside, "SELECT count(*) FROM t") == [(2,)]
    assert graph.commits()[0].version == before + 1, "one publish"


def test_a_rollback_leaves_nothing(connect: Connect, graph: Graph, server: Server) -> None:
    inside = connect(autocommit=False)
    run(inside, "INSERT INTO Person (name) VALUES ('Dee')")
    inside.rollback()
    assert rows(inside, COUNT) == [(3,)]
    inside.rollback()
    assert people(graph) == ["Ann", "Bob", "Cid"]


def test_an_upload_belongs_to_the_open_transaction(connect: Connect) -> None:
    inside, outside = connect(autocommit=False), connect()
    with inside.cursor() as cursor:
        cursor.adbc_ingest("t", pa.table({"a": [1]}), mode="create")
    assert rows(inside, "SELECT a FROM t") == [(1,)]
    with pytest.raises(Error):
        rows(outside, "SELECT a FROM t")
    inside.commit()
    assert rows(outside, "SELECT a FROM t") == [(1,)]


def test_closing_rolls_back(server: Server, graph: Graph) -> None:
    with dbapi.connect(server.uri) as client:
        run(client, "INSERT INTO Person (name) VALUES ('Dee')")
    assert people(graph) == ["Ann", "Bob", "Cid"]
    assert len(server.service.sessions) == 0


def test_begin_and_commit_as_statements(connect: Connect, graph: Graph) -> None:
    one, other = connect(), connect()
    run(one, "BEGIN")
    run(one, "INSERT INTO Person (name) VALUES ('Dee')")
    assert rows(one, COUNT) == [(4,)]
    assert rows(other, COUNT) == [(3,)]
    run(one, "COMMIT")
    assert rows(other, COUNT) == [(4,)]


def test_gq_sees_and_joins_the_transaction(connect: Connect, graph: Graph) -> None:
    inside = connect(autocommit=False)
    run(inside, 'query add() { insert Person { name: "Dee" } }')
    assert rows(inside, "query all() { match { $p: Person } return { count($p) as n } }") == [(4,)]
    assert people(graph) == ["Ann", "Bob", "Cid"]
    inside.commit()
    assert people(graph) == ["Ann", "Bob", "Cid", "Dee"]


def test_savepoints(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        begun = action(client, "BeginTransaction", wrapped("ActionBeginTransactionRequest"))
        transaction = decode_command(begun).body.transaction_id
        insert = "INSERT INTO Person (name) VALUES ('{}')"
        update(client, insert.format("Dee"), transaction)
        asked = wrapped("ActionBeginSavepointRequest", transaction_id=transaction, name="s")
        made = action(client, "BeginSavepoint", asked)
        savepoint = decode_command(made).body.savepoint_id
        update(client, insert.format("Eli"), transaction)
        back = wrapped("ActionEndSavepointRequest", savepoint_id=savepoint, action=2)
        list(client.do_action(fl.Action("EndSavepoint", back)))
        update(client, insert.format("Fay"), transaction)
        release = wrapped("ActionEndSavepointRequest", savepoint_id=savepoint, action=1)
        list(client.do_action(fl.Action("EndSavepoint", release)))
        end = wrapped("ActionEndTransactionRequest", transaction_id=transaction, action=1)
        list(client.do_action(fl.Action("EndTransaction", end)))
        with pytest.raises(pa.ArrowKeyError, match="no such open transaction"):
            list(client.do_action(fl.Action("EndTransaction", end)))
    assert people(graph) == ["Ann", "Bob", "Cid", "Dee", "Fay"]


def test_a_commit_that_cannot_be_is_refused_whole(connect: Connect, graph: Graph) -> None:
    one, other = connect(autocommit=False), connect()
    run(one, "UPDATE Person SET age = 1 WHERE name = 'Ann'")
    run(other, "UPDATE Person SET age = 2 WHERE name = 'Ann'")
    with pytest.raises(Error):
        one.commit()
    assert rows(other, "SELECT age FROM Person WHERE name = 'Ann'") == [(2,)]


def test_returning_gives_the_changed_rows_once(client: dbapi.Connection, graph: Graph) -> None:
    run(client, "CREATE TABLE t (a BIGINT, b VARCHAR)")
    before = graph.commits()[0].version
    assert rows(client, "INSERT INTO t VALUES (1, 'x'), (2, 'y') RETURNING a, b") == [
        (1, "x"),
        (2, "y"),
    ]
    assert rows(client, "DELETE FROM t WHERE a = 1 RETURNING b") == [("x",)]
    assert rows(client, "SELECT a FROM t") == [(2,)]
    assert graph.commits()[0].version == before + 2
