"""Policies hold for every way to a type: SQL, views, functions, .gq, updates, uploads, branches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import Error

from flight.clients import rows, run
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight.authentication import User, token_sha256
from omnigraph_flight.running import Server

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
