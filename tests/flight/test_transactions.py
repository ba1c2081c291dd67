"""A transaction holds what its client chose and did, until it ends; then it is over."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import action, begin, query, rows, update
from flight.conftest import Connect, Serve
from omnigraph import Graph
from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server
from support.social import add_person, social_graph

COUNT = "SELECT count(*) FROM Person"
COMMIT, ROLL_BACK = 1, 2


@pytest.fixture
def branched(graph: Graph) -> Graph:
    """Dee is on the branch `draft` only."""
    graph.create_branch("draft")
    add_person(graph, "Dee", "draft")
    return graph


def end(client: fl.FlightClient, transaction: bytes, how: int) -> None:
    request = wrapped("ActionEndTransactionRequest", transaction_id=transaction, action=how)
    list(client.do_action(fl.Action("EndTransaction", request)))


def savepoint(client: fl.FlightClient, transaction: bytes, name: str) -> bytes:
    request = wrapped("ActionBeginSavepointRequest", transaction_id=transaction, name=name)
    made = decode_command(action(client, "BeginSavepoint", request)).body
    return bytes(made.savepoint_id)


def back_to(client: fl.FlightClient, point: bytes) -> None:
    request = wrapped("ActionEndSavepointRequest", savepoint_id=point, action=2)
    list(client.do_action(fl.Action("EndSavepoint", request)))


def insert(client: fl.FlightClient, name: str, transaction: bytes | None = None) -> None:
    update(client, f"INSERT INTO Person (name) VALUES ('{name}')", transaction)


def people(graph: Graph) -> int:
    return graph.snapshot().count("Person")


# --------------------------------------------------------------------------- what was chosen


def test_a_branch_that_is_chosen_in_an_untouched_transaction_is_written(
    connect: Connect, branched: Graph
) -> None:
    client = connect(autocommit=False)  # as ADBC connects unless it is told: a transaction is open
    assert rows(client, COUNT) == [(3,)]
    client.adbc_current_catalog = "draft"
    assert rows(client, COUNT) == [(4,)]
    with client.cursor() as cursor:
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
    client.commit()
    assert (branched.snapshot().count("Person"), branched.snapshot("draft").count("Person")) == (
        3,
        5,
    )


def test_a_transaction_that_wrote_to_one_branch_writes_to_no_other(
    connect: Connect, branched: Graph
) -> None:
    client = connect(autocommit=False)
    insert = "INSERT INTO Person (name) VALUES (?)"
    with client.cursor() as cursor:
        cursor.execute(insert, ("Eli",))
        client.adbc_current_catalog = "draft"
        assert rows(client, COUNT) == [(4,)]
        with pytest.raises(Error, match="one branch"):
            cursor.execute(insert, ("Fay",))
        client.commit()
        cursor.execute(insert, ("Gus",))
        client.commit()
    assert branched.snapshot().count("Person") == 4
    assert branched.snapshot("draft").count("Person") == 5


def test_a_schema_and_a_dialect_hold_in_an_open_transaction(connect: Connect) -> None:
    client = connect(autocommit=False)
    with client.cursor() as cursor:
        cursor.execute("CREATE SCHEMA attic")
        client.adbc_current_db_schema = "attic"
        cursor.execute("CREATE TABLE box (n INT)")
        client.commit()
        assert rows(client, "SELECT count(*) FROM attic.box") == [(0,)]


def test_use_in_a_transaction_outlives_it(connect: Connect, branched: Graph) -> None:
    client = connect(autocommit=False)
    with client.cursor() as cursor:
        cursor.execute("USE draft")
        assert client.adbc_current_catalog == "draft"
        client.commit()
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
        client.commit()
    assert branched.snapshot().count("Person") == 3
    assert branched.snapshot("draft").count("Person") == 5


def test_a_statement_that_is_run_again_after_a_commit_is_in_the_next_transaction(
    connect: Connect, graph: Graph
) -> None:
    client = connect(autocommit=False)
    insert = "INSERT INTO Person (name) VALUES (?)"
    with client.cursor() as cursor:  # which prepares a text once
        cursor.execute(insert, ("Dee",))
        client.commit()
        cursor.execute(insert, ("Eli",))
        client.rollback()
        cursor.execute(insert, ("Fay",))
        assert graph.snapshot().count("Person") == 4
        client.commit()
        client.adbc_connection.set_autocommit(True)
        cursor.execute(insert, ("Gus",))
    found = rows(client, "SELECT name FROM Person WHERE name > 'Cid' ORDER BY name")
    assert found == [("Dee",), ("Fay",), ("Gus",)]


def test_a_statement_of_a_transaction_that_idled_away_is_refused(
    serve: Serve, graph: Graph
) -> None:
    server = serve()
    with dbapi.connect(server.uri) as client, client.cursor() as cursor:
        insert = "INSERT INTO Person (name) VALUES (?)"
        cursor.execute(insert, ("Dee",))
        server.service.sessions.close_all(lambda error: None)
        with pytest.raises(Error, match="no such open transaction"):
            cursor.execute(insert, ("Eli",))
    assert graph.snapshot().count("Person") == 3


GRAPH = "adbc.flight.sql.session.option.graph"


@pytest.fixture
def other(tmp_path: Path) -> Graph:
    """A second graph, with Zoe."""
    return social_graph(str(tmp_path / "other"), ["Zoe"], [])


def test_a_graph_that_is_chosen_in_an_untouched_transaction_is_written(
    serve: Serve, graph: Graph, other: Graph
) -> None:
    server = serve(graphs={"social": graph.uri, "other": other.uri})
    with dbapi.connect(server.uri) as client, client.cursor() as cursor:
        assert rows(client, COUNT) == [(3,)]
        client.adbc_connection.set_options(**{GRAPH: "other"})
        assert rows(client, COUNT) == [(1,)]
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
        cursor.adbc_ingest("words", pa.table({"word": ["one"]}))
        client.commit()
        assert rows(client, "SELECT word FROM words") == [("one",)]
    assert (people(graph), people(other)) == (3, 2)


def test_a_transaction_that_wrote_to_one_graph_is_not_left_for_another(
    serve: Serve, graph: Graph, other: Graph
) -> None:
    server = serve(graphs={"social": graph.uri, "other": other.uri})
    with dbapi.connect(server.uri) as client, client.cursor() as cursor:
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
        with pytest.raises(Error):
            client.adbc_connection.set_options(**{GRAPH: "other"})
        cursor.execute("INSERT INTO Person (name) VALUES ('Fay')")
        client.commit()
        client.adbc_connection.set_options(**{GRAPH: "other"})
        cursor.execute("INSERT INTO Person (name) VALUES ('Gus')")
        client.commit()
    assert (people(graph), people(other)) == (5, 2)


# --------------------------------------------------------------------------- how it ends


def test_savepoints_of_one_name_are_not_mixed_up(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        first = savepoint(client, transaction, "point")
        insert(client, "Dee", transaction)
        savepoint(client, transaction, "point")
        insert(client, "Eli", transaction)
        back_to(client, first)
        insert(client, "Fay", transaction)
        end(client, transaction, COMMIT)
        found = query(client, "SELECT name FROM Person WHERE name > 'Cid'")
    assert found["name"].to_pylist() == ["Fay"]


def test_savepoints_whose_names_differ_in_case_are_not_mixed_up(
    server: Server, graph: Graph
) -> None:
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        first = savepoint(client, transaction, "A")
        insert(client, "Dee", transaction)
        savepoint(client, transaction, "a")
        insert(client, "Eli", transaction)
        back_to(client, first)
        end(client, transaction, COMMIT)
    assert people(graph) == 3


def test_a_savepoint_of_a_call_is_known_to_statements(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        savepoint(client, transaction, "point")
        insert(client, "Dee", transaction)
        update(client, "ROLLBACK TO SAVEPOINT point", transaction)
        end(client, transaction, COMMIT)
    assert people(graph) == 3


def test_a_commit_by_statement_begins_the_next_transaction(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        insert(client, "Dee", transaction)
        update(client, "COMMIT", transaction)
        assert people(graph) == 4
        insert(client, "Eli", transaction)
        assert people(graph) == 4
        update(client, "ROLLBACK", transaction)
        insert(client, "Fay", transaction)
        end(client, transaction, ROLL_BACK)
    assert people(graph) == 4
    assert [branch.name for branch in graph.branches(hidden=True)] == ["main"]


def test_a_commit_that_lost_says_what_to_do_next(server: Server, graph: Graph) -> None:
    with fl.connect(server.uri) as client:
        one, other = begin(client), begin(client)
        for transaction, age in ((one, 1), (other, 2)):
            update(client, f"UPDATE Person SET age = {age} WHERE name = 'Ann'", transaction)
        end(client, one, COMMIT)
        with pytest.raises(fl.FlightServerError, match="transaction cannot be committed") as lost:
            end(client, other, COMMIT)
        assert "merge_conflicts" in str(lost.value)
        assert "Begin a new transaction" in str(lost.value)
        assert "__txn" not in str(lost.value)
        assert query(client, "SELECT age FROM Person WHERE name = 'Ann'")["age"].to_pylist() == [1]
        with pytest.raises(KeyError, match="no such open transaction"):
            insert(client, "Dee", other)


def test_a_ticket_of_a_transaction_ends_with_it(server: Server) -> None:
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        insert(client, "Dee", transaction)
        asked = wrapped("CommandStatementQuery", query=COUNT, transaction_id=transaction)
        info = client.get_flight_info(fl.FlightDescriptor.for_command(asked))
        end(client, transaction, ROLL_BACK)
        with pytest.raises(KeyError, match="no such open transaction"):
            client.do_get(info.endpoints[0].ticket).read_all()


def test_what_waits_while_its_transaction_ends_is_refused(server: Server, graph: Graph) -> None:
    refused: list[Exception] = []
    with fl.connect(server.uri) as client:
        transaction = begin(client)
        insert(client, "Dee", transaction)
        (held,) = [
            found
            for session in server.service.sessions._sessions.values()
            for found in session.transactions.values()
        ]

        def write() -> None:
            try:
                insert(client, "Eli", transaction)
            except Exception as error:  # noqa: BLE001 - looked at below
                refused.append(error)

        with held.lease.lock:
            waiting = threading.Thread(target=write)
            waiting.start()
            until = time.monotonic() + 10
            while not server.service.admission.running:
                assert time.monotonic() < until
                time.sleep(0.01)
            # As another call would, which had the connection before.
            held.lease.connection.rollback()
            held.ended = True
        waiting.join()
    assert "no such open transaction" in str(refused)
    assert not held.lease.connection.in_transaction
    assert people(graph) == 3


def test_a_statement_does_not_go_on_in_a_transaction_that_is_not_its_own(
    server: Server, graph: Graph
) -> None:
    with fl.connect(server.uri) as client:
        other, own = begin(client), begin(client)
        request = wrapped(
            "ActionCreatePreparedStatementRequest",
            query="INSERT INTO Person (name) VALUES ('Dee')",
            transaction_id=own,
        )
        made = decode_command(action(client, "CreatePreparedStatement", request)).body
        end(client, own, COMMIT)
        command = wrapped(
            "CommandPreparedStatementUpdate",
            prepared_statement_handle=made.prepared_statement_handle,
        )
        descriptor = fl.FlightDescriptor.for_command(command)
        writer, reader = client.do_put(descriptor, pa.schema([]))
        with pytest.raises(Exception, match="no such open transaction"), writer:
            writer.done_writing()
            reader.read()
        end(client, other, ROLL_BACK)
    assert people(graph) == 3
