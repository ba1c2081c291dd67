"""Clients that send nonsense get a clear error each, and the server goes on."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import dbapi
from adbc_driver_manager import Error
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flight.clients import query
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight.access.admission import ServerLimits
from omnigraph_flight.handlers.do_action import ACTIONS
from omnigraph_flight.protocol.flight_sql_messages import encoded, wrapped
from omnigraph_flight.protocol.tickets import Ticket, TicketKey
from omnigraph_flight.server import Server

_LEAK = re.compile(r"Traceback|\.py\b|File \"|/(?:tmp|home|root|usr)/|site-packages|line \d+, in")


@pytest.fixture
def flight(server: Server) -> Iterator[fl.FlightClient]:
    with fl.connect(server.uri) as client:
        yield client
        assert query(client, "SELECT 1 AS one").to_pydict() == {"one": [1]}, "the server goes on"
        assert len(server.service.calls) == 0
        assert server.service.admission.running == 0


def refused(action: Callable[[], object]) -> str:
    """What a client is told; never where the server's files are or how its code looks."""
    with pytest.raises((fl.FlightError, pa.ArrowException)) as caught:
        action()
    told = str(caught.value)
    assert not _LEAK.search(told), told
    return told


def descriptor(command: bytes) -> fl.FlightDescriptor:
    return fl.FlightDescriptor.for_command(command)


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, b"hello", b"\x0a\x02hi"])
def test_malformed_requests(flight: fl.FlightClient, data: bytes) -> None:
    for action in (
        lambda: flight.get_flight_info(descriptor(data)),
        lambda: flight.get_schema(descriptor(data)),
        lambda: flight.do_get(fl.Ticket(data)).read_all(),
        lambda: _put(flight, data),
        lambda: list(flight.do_action(fl.Action("CreatePreparedStatement", data))),
    ):
        assert "bad_request" in refused(action)


def _put(flight: fl.FlightClient, data: bytes) -> None:
    writer, _ = flight.do_put(descriptor(data), pa.schema([("a", pa.int64())]))
    writer.write_batch(pa.record_batch({"a": [1]}))
    writer.close()


def test_descriptors_of_another_kind(flight: fl.FlightClient) -> None:
    refused(lambda: flight.get_flight_info(fl.FlightDescriptor.for_path("a", "b")))


def test_parts_of_flight_that_are_not_spoken(flight: fl.FlightClient) -> None:
    def exchange() -> None:
        writer, reader = flight.do_exchange(fl.FlightDescriptor.for_command(b"x"))
        with writer:
            writer.done_writing()
            reader.read_all()

    for call in (lambda: list(flight.list_flights(b"x")), exchange):
        told = refused(call)
        assert "unsupported" in told
        assert "Traceback" not in told
        assert "File " not in told


@pytest.mark.parametrize("name", [*ACTIONS, "Nonsense"])
def test_actions_with_any_body(flight: fl.FlightClient, name: str) -> None:
    if name not in ("CloseSession", "GetSessionOptions", "SetSessionOptions", "BeginTransaction"):
        nothing = () if name == "CancelFlightInfo" else (b"",)  # of nothing, nothing is cancelled
        for body in (*nothing, b"\xff\xff\xff", wrapped("CommandGetCatalogs")):
            refused(lambda b=body: list(flight.do_action(fl.Action(name, b))))  # type: ignore[misc]
    else:
        refused(lambda: list(flight.do_action(fl.Action(name, b"\xff\xff\xff"))))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=120))
def test_any_ticket_is_answered_or_refused(server: Server, data: bytes) -> None:
    with fl.connect(server.uri) as client:
        for sent in (data, wrapped("TicketStatementQuery", statement_handle=data)):
            refused(lambda s=sent: client.do_get(fl.Ticket(s)).read_all())  # type: ignore[misc]


def test_forged_and_expired_tickets(flight: fl.FlightClient, serve: Serve) -> None:
    ticket = Ticket("social", "anonymous", "sql", "SELECT 1", "main")
    forged = TicketKey(b"guess").seal(ticket)
    told = refused(lambda: flight.do_get(_ticket(forged)).read_all())
    assert "not issued by this server" in told
    keyed = serve(ticket_key="shared")
    with fl.connect(keyed.uri) as client:
        expired = keyed.service.key.seal(ticket, now=1.0)
        assert "expired" in refused(lambda: client.do_get(_ticket(expired)).read_all())
        good = keyed.service.key.seal(ticket)
        assert client.do_get(_ticket(good)).read_all().num_rows == 1


def _ticket(sealed: bytes) -> fl.Ticket:
    return fl.Ticket(wrapped("TicketStatementQuery", statement_handle=sealed))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT 1" + " + 1" * 20_000,
        "SELECT " + "'" + "x" * 10_000_000 + "'",
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "Person" + ")" * 500,
        "SELECT CASE " * 300,
        "\x00" * 100,
        "SELECT '\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ],
    ids=["parentheses", "long sum", "10 MB", "subqueries", "cases", "zeros", "open string"],
)
def test_sql_bombs(flight: fl.FlightClient, sql: str) -> None:
    try:
        query(flight, sql)
    except (fl.FlightError, pa.ArrowException) as error:
        told = str(error)
        assert not _LEAK.search(told), told
        assert "[internal]" not in told


def test_unknown_handles(flight: fl.FlightClient) -> None:
    handle = wrapped("CommandPreparedStatementQuery", prepared_statement_handle=b"nothing")
    assert "prepared statement" in refused(lambda: flight.get_flight_info(descriptor(handle)))
    command = wrapped("CommandStatementQuery", query="SELECT 1", transaction_id=b"nothing")
    assert "transaction" in refused(lambda: flight.get_flight_info(descriptor(command)))
    closing = wrapped("ActionClosePreparedStatementRequest", prepared_statement_handle=b"no")
    assert list(flight.do_action(fl.Action("ClosePreparedStatement", closing))) == []


def test_substrait_is_refused_as_unsupported(flight: fl.FlightClient) -> None:
    command = wrapped("CommandStatementSubstraitPlan")
    with pytest.raises(pa.ArrowNotImplementedError):
        flight.get_flight_info(descriptor(command))


def test_options_that_do_not_exist(flight: fl.FlightClient) -> None:
    for name, value in (("x-omnigraph-colour", "red"), ("x-omnigraph-branch", "nowhere")):
        options = fl.FlightCallOptions(headers=[(name.encode(), value.encode())])
        refused(lambda o=options: query(flight, "SELECT 1", o))  # type: ignore[misc]


def test_a_client_that_stops_reading_is_forgotten(serve: Serve) -> None:
    server = serve(limits=ServerLimits(statements_per_user=2, wait_seconds=20))
    for _ in range(6):  # more than may run at once: each must give its place back
        with fl.connect(server.uri) as client:
            info = client.get_flight_info(
                descriptor(wrapped("CommandStatementQuery", query=_ENDLESS))
            )
            reader = client.do_get(info.endpoints[0].ticket)
            reader.read_chunk()
            reader.cancel()
    assert server.service.admission.idle(20)
    assert len(server.service.calls) == 0


_DIGITS = "WITH d(v) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
_ENDLESS = f"{_DIGITS} SELECT a.v FROM {', '.join(f'd {n}' for n in 'abcdefghij')}"
"""As many rows as nobody waits for."""
_COUNTED = (
    "SELECT a.v + 10 * b.v + 100 * c.v + 1000 * e.v + 10000 * f.v AS x FROM d a, d b, d c, d e, d f"
)


def test_too_much_at_once_is_refused(serve: Serve) -> None:
    server = serve(limits=ServerLimits(statements_per_user=1, wait_seconds=0.2))
    with fl.connect(server.uri) as client:
        command = descriptor(wrapped("CommandStatementQuery", query=_ENDLESS))
        reader = client.do_get(client.get_flight_info(command).endpoints[0].ticket)
        reader.read_chunk()
        told = refused(lambda: query(client, "SELECT 1"))
        assert "[busy]" in told
        reader.cancel()
        assert server.service.admission.idle(20)
        assert query(client, "SELECT 1 AS one").to_pydict() == {"one": [1]}


def test_a_statement_that_takes_too_long_is_stopped(serve: Serve) -> None:
    server = serve(limits=ServerLimits(statement_seconds=0.5))
    with fl.connect(server.uri) as client:
        slow = _ENDLESS.replace("a.v", "sum(a.v + b.v * c.v)")
        with pytest.raises(fl.FlightTimedOutError, match="statement timeout"):
            query(client, slow)
    assert server.service.admission.idle(20)


def test_results_that_are_too_large_are_stopped(serve: Serve) -> None:
    server = serve(limits=ServerLimits(result_bytes=1_000_000))
    with fl.connect(server.uri) as client:
        told = refused(lambda: query(client, _ENDLESS))
    assert "resource_limit" in told


def test_requests_that_are_too_large_are_refused(serve: Serve, graph: Graph) -> None:
    server = serve(
        limits=ServerLimits(statement_bytes=10_000, parameter_bytes=100_000, ingest_bytes=100_000)
    )
    many = pa.table({"name": [f"{number:0100}" for number in range(2000)]})
    with dbapi.connect(server.uri, autocommit=True) as client, client.cursor() as cursor:
        for send in (
            lambda: cursor.execute(f"SELECT '{'x' * 10_000}'"),
            lambda: cursor.executemany("INSERT INTO Person (name) VALUES (?)", many),
            lambda: cursor.adbc_ingest("words", many),
        ):
            with pytest.raises(Error, match="resource_limit"):
                send()
    assert graph.snapshot().count("Person") == 3
    assert graph.tables() == []


def test_an_error_in_the_middle_of_a_stream_is_told(flight: fl.FlightClient) -> None:
    late = f"{_DIGITS} SELECT 10 / (99999 - x) FROM ({_COUNTED})"
    told = refused(lambda: query(flight, late))
    assert "[internal]" not in told


def test_nobody_notices_the_others(server: Server) -> None:
    """Nonsense and questions side by side."""
    problems: list[Exception] = []

    def ask() -> None:
        try:
            with fl.connect(server.uri) as client:
                for _ in range(20):
                    assert query(client, "SELECT 7 AS n").to_pydict() == {"n": [7]}
        except Exception as error:  # noqa: BLE001 - told to the test
            problems.append(error)

    def disturb() -> None:
        with fl.connect(server.uri) as client:
            for _ in range(40):
                refused(lambda: client.do_get(fl.Ticket(encoded("Ticket", ticket=b"x"))).read_all())

    threads = [threading.Thread(target=each) for each in (ask, disturb, ask, disturb)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
