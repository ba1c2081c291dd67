"""What the server counts is what happened: statements, bytes, retries, plans, operations."""

from __future__ import annotations

import pyarrow as pa
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error

from flight.clients import rows, run
from flight.conftest import Connect
from omnigraph import Graph
from omnigraph_flight.server import Server


def value(server: Server, name: str, **labels: str) -> float:
    found = server.service.metrics.registry.get_sample_value(f"omnigraph_{name}", labels)
    return 0.0 if found is None else found


def test_statements_and_what_became_of_them(server: Server, client: dbapi.Connection) -> None:
    rows(client, "SELECT name FROM Person")
    run(client, "INSERT INTO Person (name) VALUES ('Dee')")
    with client.cursor() as cursor:
        cursor.adbc_ingest("words", pa.table({"word": ["one", "two"]}))
    with pytest.raises(Error):
        run(client, "INSERT INTO Person (name) VALUES (NULL)")
    assert value(server, "statements_total", kind="read", outcome="ok") == 1
    assert value(server, "statements_total", kind="update", outcome="ok") == 1
    assert value(server, "statements_total", kind="upload", outcome="ok") == 1
    assert value(server, "statement_seconds_count", kind="update") == 2
    assert value(server, "rows_sent_total") == 3
    assert value(server, "bytes_sent_total") > 0
    assert value(server, "rows_changed_total") == 1
    assert value(server, "rows_received_total") == 2


def test_storage_operations_of_a_statement(server: Server, client: dbapi.Connection) -> None:
    graph = server.service.graphs.graph("social")
    run(client, "INSERT INTO Person (name) VALUES ('Dee')")  # warm
    before = graph.counts()
    total = value(server, "statement_storage_operations_sum", kind="update")
    run(client, "INSERT INTO Person (name) VALUES ('Eli')")
    after = graph.counts()
    took = value(server, "statement_storage_operations_sum", kind="update") - total
    assert 7 <= took <= 14, "what the cost contract allows a small write"
    assert took <= after.operations - before.operations
    assert value(server, "storage_operations_total", graph="social", kind="write") == after.writes
    assert value(server, "storage_bytes_total", graph="social", kind="write") > 0


def test_plans_that_are_remembered(server: Server, client: dbapi.Connection) -> None:
    def hits() -> float:
        return value(server, "cache_lookups_total", graph="social", cache="plan", outcome="hit")

    rows(client, "SELECT name FROM Person WHERE age = 30")
    before = hits()
    rows(client, "SELECT name FROM Person WHERE age = 30")
    assert hits() > before
    assert value(server, "cache_lookups_total", graph="social", cache="handle", outcome="miss") > 0


def test_retries_of_publishes(server: Server, graph: Graph, connect: Connect) -> None:
    """Another process moves the branch behind the server's back."""
    client = connect()
    store = server.service.graphs.graph("social")._store
    run(client, "INSERT INTO Person (name) VALUES ('Dee')")
    assert value(server, "publish_retries_total", graph="social") == 0
    swap = store.publisher._manifest.compare_and_swap

    def beaten(*arguments: object, **named: object) -> object:
        store.publisher._manifest.compare_and_swap = swap  # type: ignore[method-assign]
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Faster"}])
        return swap(*arguments, **named)  # type: ignore[arg-type]

    store.publisher._manifest.compare_and_swap = beaten  # type: ignore[method-assign, assignment]
    run(client, "INSERT INTO Person (name) VALUES ('Eli')")
    assert value(server, "publish_retries_total", graph="social") >= 1
    assert len(rows(client, "SELECT name FROM Person")) == 6
