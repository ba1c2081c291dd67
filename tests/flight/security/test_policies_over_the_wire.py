"""Policies hold for every way to a type: SQL, views, functions, .gq, updates, uploads, branches."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import Error

from flight.clients import rows, run
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight.access.authentication import User, token_sha256
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server

POLICIES = """
permit(principal, action == Action::"connect", resource);
permit(principal == User::"ada", action, resource);
permit(principal == User::"bob", action == Action::"read", resource)
  when { resource has name && resource.name != "Club" };
permit(principal == User::"bob", action == Action::"write", resource in Branch::"social/bobs")
  when { resource has name && resource.name == "Person" };
"""
AUTHORIZATION = DatabaseOptions.AUTHORIZATION_HEADER.value


@pytest.fixture
def guarded(serve: Serve, graph: Graph) -> Server:
    graph.create_branch("bobs")
    users = tuple(User(name, token_sha256(name)) for name in ("ada", "bob"))
    server = serve(users=users, policies=POLICIES)
    with connected(server, "ada") as ada:
        run(ada, "CREATE VIEW clubs AS SELECT name FROM Club")
        run(ada, "CREATE TABLE notes (n INT)")
    return server


def connected(server: Server, name: str) -> dbapi.Connection:
    options = {AUTHORIZATION: f"Bearer {name}"}
    return dbapi.connect(server.uri, db_kwargs=options, autocommit=True)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM Club",
        "SELECT * FROM bobs.nodes.Club",
        'SELECT * FROM "main@v2".nodes."Club"',
        "SELECT p.name FROM Person p WHERE EXISTS (SELECT 1 FROM Club)",
        "SELECT * FROM clubs",
        "SELECT * FROM gq('query q() { match { $c: Club } return { $c.name } }')",
        "SELECT * FROM traverse('Member', 'Club')",
        "SELECT * FROM changes('main@v1', 'main')",
        "query q() { match { $p: Person $p member $c } return { $c.name } }",
        "EXPLAIN SELECT * FROM Club",
    ],
)
def test_no_way_leads_to_a_type_that_may_not_be_read(guarded: Server, sql: str) -> None:
    with connected(guarded, "ada") as ada:
        rows(ada, sql)
    with connected(guarded, "bob") as bob:
        assert rows(bob, "SELECT count(*) FROM Person") == [(3,)]
        with pytest.raises(Error, match=r"\[forbidden\] bob may not read"):
            rows(bob, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO Person (name) VALUES ('Dee')",
        "UPDATE Person SET age = 1",
        "DELETE FROM Person",
        "TRUNCATE TABLE notes",
        "INSERT INTO notes VALUES (1)",
        "CREATE TABLE t AS SELECT name FROM Person",
        "CREATE VIEW v AS SELECT name FROM Person",
        "DROP TABLE notes",
        "ALTER TABLE notes ADD COLUMN m INT",
        "CREATE SCHEMA s",
        "CREATE BRANCH b",
        "DROP BRANCH bobs",
        "MERGE BRANCH bobs INTO main",
        "BEGIN; SET commit_once = 'stream@1'; COMMIT",
        'query add() { insert Person { name: "Dee" } }',
        "INSERT INTO bobs.edges.Knows (src, dst) VALUES ('Ann', 'Cid')",
    ],
)
def test_what_may_not_be_changed_is_not(guarded: Server, graph: Graph, sql: str) -> None:
    heads = {b.name: b.commit for b in graph.branches()}
    with (
        connected(guarded, "bob") as bob,
        pytest.raises(Error, match=r"\[forbidden\] bob may not (write|define|branch|read)"),
    ):
        run(bob, sql)
    assert {b.name: b.commit for b in graph.branches()} == heads


def test_what_may_be_changed_is(guarded: Server, graph: Graph) -> None:
    with connected(guarded, "bob") as bob:
        assert run(bob, "INSERT INTO bobs.nodes.Person (name) VALUES ('Dee')") == 1
        with bob.cursor() as cursor:
            table = pa.table({"name": ["Eli"]})
            cursor.adbc_ingest(
                "Person", table, mode="append", catalog_name="bobs", db_schema_name="nodes"
            )
        with bob.cursor() as cursor, pytest.raises(Error, match="bob may not write"):
            cursor.adbc_ingest("Person", table, mode="append", db_schema_name="nodes")
    assert graph.snapshot("bobs").count("Person") == 5
    assert graph.snapshot().count("Person") == 3


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("SELECT name FROM Person ORDER BY name", None),
        ("SELECT 1 AS n", None),
        ("SELECT count(*) FROM Club", "read social/main/nodes.Club"),
        ("SELECT name FROM clubs ORDER BY name", "read social/main/nodes.Club"),
        ("SELECT count(*) FROM traverse('Member', 'Club')", "read social/main/nodes.Club"),
        (
            "query q() { match { $p: Person $p member $c } return { $c.name } }",
            "read social/main/nodes.Club",
        ),
    ],
)
def test_kept_rows_are_given_only_to_whom_may_read_what_they_come_from(
    serve: Serve, graph: Graph, sql: str, refused: str | None
) -> None:
    """Another replica, or this one after a restart, may have other policies."""
    bob, everything = User("bob", token_sha256("bob")), "permit(principal, action, resource);"
    lax = serve(users=(bob,), policies=everything, ticket_key="shared")
    strict = serve(users=(bob,), policies=POLICIES, ticket_key="shared")
    closed = serve(users=(bob,), policies="", ticket_key="shared")
    with connected(lax, "bob") as client:
        run(client, "CREATE VIEW clubs AS SELECT name FROM Club")
    options = fl.FlightCallOptions(
        headers=[(b"authorization", b"Bearer bob"), (b"x-omnigraph-slices", b"2")]
    )
    asked = fl.FlightDescriptor.for_command(wrapped("CommandStatementQuery", query=sql))
    with fl.connect(lax.uri) as client:
        for _ in range(2):  # the second time with a plan that is remembered
            ticket = client.get_flight_info(asked, options).endpoints[0].ticket
        client.do_get(ticket, options).read_all()
    with fl.connect(strict.uri) as client:
        if refused is None:
            client.do_get(ticket, options).read_all()
        else:
            with pytest.raises(fl.FlightUnauthorizedError, match=f"bob may not {refused}"):
                client.do_get(ticket, options).read_all()
    with (
        fl.connect(closed.uri) as client,
        pytest.raises(fl.FlightUnauthorizedError, match="bob may not connect"),
    ):
        client.do_get(ticket, options).read_all()
