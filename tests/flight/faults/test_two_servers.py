"""Two servers on one graph: both write, both see everything, tickets go to either."""

from __future__ import annotations

import threading

import pyarrow.flight as fl
from adbc_driver_flightsql import dbapi

from flight.clients import rows, run
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from support.social import assert_sound

EACH = 10


def test_both_write_and_nothing_is_lost(serve: Serve, graph: Graph) -> None:
    servers = [serve(), serve()]
    problems: list[Exception] = []

    def write(number: int) -> None:
        try:
            with dbapi.connect(servers[number].uri, autocommit=True) as client:
                for count in range(EACH):
                    run(client, "INSERT INTO Person (name) VALUES (?)", f"s{number}n{count}")
        except Exception as error:  # noqa: BLE001 - told to the test
            problems.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    for server in servers:
        with dbapi.connect(server.uri, autocommit=True) as client:
            assert rows(client, "SELECT count(*) FROM Person") == [(3 + 2 * EACH,)]
    assert_sound(graph)


def test_a_ticket_of_one_is_served_by_the_other_at_the_same_moment(
    serve: Serve, graph: Graph
) -> None:
    one, other = serve(ticket_key="shared"), serve(ticket_key="shared")
    command = wrapped("CommandStatementQuery", query="SELECT name FROM Person")
    with fl.connect(one.uri) as client:
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
    with dbapi.connect(one.uri, autocommit=True) as writer:
        run(writer, "INSERT INTO Person (name) VALUES ('Late')")
    with fl.connect(other.uri) as client:
        read = client.do_get(info.endpoints[0].ticket).read_all()
    assert sorted(read["name"].to_pylist()) == ["Ann", "Bob", "Cid"]
