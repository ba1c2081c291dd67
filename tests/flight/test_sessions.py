"""A session keeps what its client has chosen, and nobody else's."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import Error

from flight.clients import action, header, prepared, query, rows, update
from flight.conftest import Connect, Serve
from omnigraph import Graph
from omnigraph_flight.protocol.flight_sql_messages import encoded, message, wrapped
from omnigraph_flight.server import Server
from support.social import add_person, social_graph

COUNT = "SELECT count(*) FROM Person"


@pytest.fixture
def branched(graph: Graph) -> Graph:
    """Dee is on the branch `draft` only."""
    graph.create_branch("draft")
    add_person(graph, "Dee", "draft")
    return graph


def test_a_header_chooses_the_branch(connect: Connect, branched: Graph) -> None:
    assert rows(connect(**header(branch="draft")), COUNT) == [(4,)]
    assert rows(connect(), COUNT) == [(3,)]


def test_the_current_catalog_is_a_branch_that_can_be_changed(
    client: dbapi.Connection, branched: Graph
) -> None:
    assert client.adbc_current_catalog == "main"
    client.adbc_current_catalog = "draft"
    assert client.adbc_current_catalog == "draft"
    assert rows(client, COUNT) == [(4,)]
    client.adbc_current_catalog = f"main@{branched.commits()[0].id}"
    assert rows(client, COUNT) == [(3,)]


def test_the_current_schema_can_be_changed(client: dbapi.Connection) -> None:
    assert client.adbc_current_db_schema == "public"
    client.adbc_current_db_schema = "nodes"
    assert client.adbc_current_db_schema == "nodes"


def test_use_is_remembered(client: dbapi.Connection, branched: Graph) -> None:
    with client.cursor() as cursor:
        cursor.execute("USE draft")
    assert client.adbc_current_catalog == "draft"
    assert rows(client, COUNT) == [(4,)]


def test_set_is_remembered(client: dbapi.Connection) -> None:
    with client.cursor() as cursor:
        cursor.execute("SET dialect = 'mysql'")
        cursor.execute("SET schema = nodes")
    assert client.adbc_current_db_schema == "nodes"
    assert rows(client, "SELECT count(*) FROM `Person`") == [(3,)]


def test_an_option_goes_back_to_what_headers_say(connect: Connect) -> None:
    client = connect(**header(schema="edges"))
    client.adbc_current_db_schema = "nodes"
    with client.cursor() as cursor:
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
    client.adbc_current_db_schema = ""
    with client.cursor() as cursor:
        cursor.execute("INSERT INTO Person (name) VALUES ('Fay')")
    assert client.adbc_current_db_schema == "edges"


def test_a_branch_that_is_not_there_is_refused_and_nothing_changes(
    client: dbapi.Connection,
) -> None:
    with pytest.raises(Error):
        client.adbc_current_catalog = "nowhere"
    assert client.adbc_current_catalog == "main"
    assert rows(client, COUNT) == [(3,)]


def test_options_that_are_not_known_are_told_by_name(server: Server) -> None:
    with fl.connect(server.uri) as client:
        asked = message("SetSessionOptionsRequest")
        asked.session_options["colour"].string_value = "red"
        asked.session_options["catalog"].string_value = "nowhere"
        asked.session_options["schema"].int64_value = 7
        asked.session_options["dialect"].string_value = "duckdb"
        told = action(client, "SetSessionOptions", asked.SerializeToString())
        errors = message("SetSessionOptionsResult")
        errors.ParseFromString(told)
        found = {name: error.value for name, error in errors.errors.items()}
        assert found == {"colour": 1, "catalog": 2, "schema": 2}
        options = message("GetSessionOptionsResult")
        options.ParseFromString(action(client, "GetSessionOptions", b""))
        assert options.session_options["dialect"].string_value == "duckdb"


def test_connections_do_not_share_a_session(connect: Connect, branched: Graph) -> None:
    one, other = connect(), connect()
    one.adbc_current_catalog = "draft"
    assert rows(other, COUNT) == [(3,)]
    assert rows(one, COUNT) == [(4,)]


def test_a_cookie_finds_the_session_again(server: Server, branched: Graph) -> None:
    cookies = {DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true"}
    with dbapi.connect(server.uri, db_kwargs=cookies, autocommit=True) as client:
        client.adbc_current_catalog = "draft"
        assert rows(client, COUNT) == [(4,)]
        assert len(server.service.sessions) == 1


def test_closing_ends_the_session(server: Server) -> None:
    with dbapi.connect(server.uri, autocommit=True) as client:
        rows(client, COUNT)
        assert len(server.service.sessions) == 1
    assert len(server.service.sessions) == 0
    assert len(server.service.prepared) == 0


def test_an_idle_session_ends(serve: Serve) -> None:
    server = serve(session_seconds=0.1)
    with fl.connect(server.uri) as client:
        query(client, COUNT)
        time.sleep(0.2)
        server.service.sessions.expire(lambda error: pytest.fail(str(error)))
        assert len(server.service.sessions) == 0
        assert query(client, COUNT).num_rows == 1, "the next call begins a new one"


def test_a_session_whose_result_is_still_being_read_is_not_idle(serve: Serve) -> None:
    server = serve(session_seconds=0.1)
    digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
    tables = ", ".join(f"{digits} {name}(v)" for name in "abcdef")
    with fl.connect(server.uri) as client:
        command = wrapped("CommandStatementQuery", query=f"SELECT a.v FROM {tables}")
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        reader = client.do_get(info.endpoints[0].ticket)
        count = reader.read_chunk().data.num_rows
        time.sleep(0.2)
        assert server.service.sessions.expire(lambda error: pytest.fail(str(error))) == 0
        assert count + reader.read_all().num_rows == 1_000_000
        time.sleep(0.3)
        assert server.service.sessions.expire(lambda error: pytest.fail(str(error))) == 1


def test_several_graphs_are_told_apart(
    graph: Graph, serve: Serve, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = social_graph(str(tmp_path_factory.mktemp("other") / "graph"), ["Zoe"])
    server = serve(graphs={"social": graph.uri, "other": other.uri})
    for options, count in (({}, 3), (header(graph="other"), 1), (header(graph="social"), 3)):
        with dbapi.connect(server.uri, db_kwargs=options, autocommit=True) as client:
            assert rows(client, COUNT) == [(count,)]
    with (
        dbapi.connect(server.uri, db_kwargs=header(graph="none"), autocommit=True) as client,
        pytest.raises(Error, match="there is no graph 'none' here"),
    ):
        rows(client, COUNT)
    with fl.connect(server.uri) as bare:
        asked = message("SetSessionOptionsRequest")
        asked.session_options["graph"].string_value = "other"
        action(bare, "SetSessionOptions", asked.SerializeToString())
        assert query(bare, COUNT).column(0).to_pylist() == [1]
        assert action(bare, "CloseSession", b"") == encoded("CloseSessionResult", status=1)


def test_a_cancelled_ticket_is_not_served_and_a_renewed_one_is(server: Server) -> None:
    from omnigraph_flight.protocol.flight_sql_messages import wrapped

    with fl.connect(server.uri) as client:
        command = wrapped("CommandStatementQuery", query=COUNT)
        info = client.get_flight_info(fl.FlightDescriptor.for_command(command))
        endpoint = message("FlightEndpoint")
        endpoint.ticket.ticket = info.endpoints[0].ticket.ticket
        renewed = message("FlightEndpoint")
        asked = encoded("RenewFlightEndpointRequest", endpoint=endpoint)
        renewed.ParseFromString(action(client, "RenewFlightEndpoint", asked))
        assert client.do_get(fl.Ticket(renewed.ticket.ticket)).read_all().num_rows == 1

        told = message("FlightInfo")
        told.ParseFromString(info.serialize())
        result = message("CancelFlightInfoResult")
        result.ParseFromString(
            action(client, "CancelFlightInfo", encoded("CancelFlightInfoRequest", info=told))
        )
        assert result.status == 1
        with pytest.raises(fl.FlightCancelledError):
            client.do_get(info.endpoints[0].ticket).read_all()


def test_a_schema_that_is_not_there_is_refused_and_nothing_changes(
    client: dbapi.Connection,
) -> None:
    with pytest.raises(Error):
        client.adbc_current_db_schema = "nowhere"
    assert client.adbc_current_db_schema == "public"
    client.adbc_current_db_schema = "NODES"
    assert client.adbc_current_db_schema == "nodes"


def test_a_prepared_statement_runs_where_its_session_is_now(
    client: dbapi.Connection, branched: Graph
) -> None:
    with client.cursor() as cursor:
        cursor.execute(COUNT)
        assert cursor.fetchall() == [(3,)]
        client.adbc_current_catalog = "draft"
        cursor.execute(COUNT)
        assert cursor.fetchall() == [(4,)]
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
        client.adbc_current_catalog = "main"
        cursor.execute("INSERT INTO Person (name) VALUES ('Eli')")
    assert branched.snapshot().count("Person") == 4
    assert branched.snapshot("draft").count("Person") == 5


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("use", ["USE draft", "SET branch = 'draft'"])
def test_a_text_that_fails_leaves_the_session_where_it_was(
    connect: Connect, branched: Graph, use: str, autocommit: bool
) -> None:
    client = connect(autocommit=autocommit)
    with client.cursor() as cursor:
        with pytest.raises(Error):
            cursor.execute(f"{use}; INSERT INTO nowhere VALUES (1)")
        assert client.adbc_current_catalog == "main"
        cursor.execute("INSERT INTO Person (name) VALUES ('Fay')")
        if not autocommit:
            client.commit()
    assert branched.snapshot().get("Person", "Fay") is not None
    assert branched.snapshot("draft").get("Person", "Fay") is None


def test_headers_that_are_refused_move_nothing(server: Server, branched: Graph) -> None:
    with fl.connect(server.uri) as client:
        update(client, "INSERT INTO Person (name) VALUES ('Eli')")
        wrong = [(b"x-omnigraph-branch", b"draft"), (b"x-omnigraph-dialect", b"bogus")]
        command = wrapped("CommandStatementUpdate", query="DELETE FROM Person")
        writer, reader = client.do_put(
            fl.FlightDescriptor.for_command(command),
            pa.schema([]),
            fl.FlightCallOptions(headers=wrong),
        )
        with pytest.raises(Exception, match="bogus"), writer:
            writer.done_writing()
            reader.read()
        update(client, "INSERT INTO Person (name) VALUES ('Fay')")
    assert branched.snapshot().get("Person", "Fay") is not None
    assert branched.snapshot("draft").get("Person", "Fay") is None


def test_parameters_do_not_outlive_an_idle_session(serve: Serve) -> None:
    server = serve(session_seconds=0.1)
    with fl.connect(server.uri) as client:
        prepared(client, "SELECT $1 AS n", pa.record_batch({"1": ["x"]}))
        (held,) = server.service.prepared._statements.values()
        assert held.params is not None
        time.sleep(0.2)
        server.service.sessions.expire(lambda error: pytest.fail(str(error)))
        assert held.params is None
        assert len(server.service.prepared) == 1
