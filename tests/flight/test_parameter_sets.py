"""A query with several sets of parameters: one answer, all of it of the moment it was asked at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from flight.clients import prepared
from flight.conftest import Serve
from omnigraph import Graph

NAMES = "SELECT name FROM Person WHERE name >= ? ORDER BY name"


@pytest.mark.parametrize("on_another_replica", [False, True])
def test_every_set_reads_the_moment_of_the_ticket(
    serve: Serve, graph: Graph, on_another_replica: bool
) -> None:
    one, other = serve(ticket_key="shared"), serve(ticket_key="shared")
    sets = pa.record_batch({"1": ["Bob", "Cid", "Ann"]})
    with fl.connect(one.uri) as client, fl.connect(other.uri) as second:
        command = prepared(client, NAMES, sets)
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Late"}])
        reading = second if on_another_replica else client
        found = pa.concat_tables(reading.do_get(e.ticket).read_all() for e in info.endpoints)
    assert found["name"].to_pylist() == ["Bob", "Cid", "Cid", "Ann", "Bob", "Cid"]


def test_a_graph_function_reads_the_moment_of_the_ticket_too(serve: Serve, graph: Graph) -> None:
    sql = "SELECT count(*) AS n FROM traverse('Knows', 'Person', seed => ?, max => 9)"
    with fl.connect(serve().uri) as client:
        command = prepared(client, sql, pa.record_batch({"1": ["Ann", "Bob"]}))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": "Late"}])
            txn.insert("Knows", [{"src": "Cid", "dst": "Late"}])
        found = client.do_get(info.endpoints[0].ticket).read_all()
    assert found["n"].to_pylist() == [2, 1]


def test_large_parameters_are_not_copied_into_every_slice(serve: Serve, graph: Graph) -> None:
    for number in range(3):
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": f"p{number}"}])
    slices = fl.FlightCallOptions(headers=[(b"x-omnigraph-slices", b"4")])
    with fl.connect(serve().uri) as client:
        for size in (10, 100_000):
            sets = pa.record_batch({"1": ["x" * size]})
            command = prepared(client, "SELECT name FROM Person WHERE name <> ?", sets)
            info = client.get_flight_info(fl.FlightDescriptor.for_command(command), slices)
            assert len(info.endpoints) > 1
            assert max(len(each.ticket.ticket) for each in info.endpoints) < 4096
            found = pa.concat_tables(client.do_get(e.ticket).read_all() for e in info.endpoints)
            assert found.num_rows == 6


def test_no_set_gives_no_row(serve: Serve) -> None:
    with fl.connect(serve().uri) as client:
        command = prepared(client, NAMES, pa.record_batch({"1": pa.array([], pa.string())}))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        found = client.do_get(info.endpoints[0].ticket).read_all()
    assert (found.num_rows, found.schema) == (0, info.schema)


def test_every_set_of_a_change_gives_its_rows_in_one_publish(serve: Serve, graph: Graph) -> None:
    before = graph.history()[0].version
    with fl.connect(serve().uri) as client:
        sql = "INSERT INTO Person (name) VALUES (?) RETURNING name"
        command = prepared(client, sql, pa.record_batch({"1": ["Dee", "Eli"]}))
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        found = client.do_get(info.endpoints[0].ticket).read_all()
    assert found["name"].to_pylist() == ["Dee", "Eli"]
    assert graph.snapshot().count("Person") == 5
    assert graph.history()[0].version == before + 1
