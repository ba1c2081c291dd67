"""Who may call, over the wire: tokens, logins, and tickets that belong to somebody."""

from __future__ import annotations

import pyarrow.flight as fl
import pytest
from adbc_driver_flightsql import DatabaseOptions, dbapi
from adbc_driver_manager import Error

from flight.clients import query, rows, run
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import User, token_sha256
from omnigraph_flight.config import Config
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.server import Server

AUTHORIZATION = DatabaseOptions.AUTHORIZATION_HEADER.value
USERS = (
    User("ada", token_sha256("ada's token"), ("modeler",)),
    User("bob", token_sha256("bob's token"), ("reader",)),
    User("cy", token_sha256("cy's token")),
)


@pytest.fixture
def guarded(serve: Serve) -> Server:
    return serve(users=USERS)


def login(name: str) -> dict[str, str]:
    return {"username": name, "password": f"{name}'s token"}


def bearer(name: str) -> dict[str, str]:
    return {AUTHORIZATION: f"Bearer {name}'s token"}


@pytest.mark.parametrize("options", [login("bob"), bearer("bob")], ids=["login", "token"])
def test_a_known_user_is_served(guarded: Server, options: dict[str, str]) -> None:
    with dbapi.connect(guarded.uri, db_kwargs=options, autocommit=True) as client:
        assert rows(client, "SELECT count(*) FROM Person") == [(3,)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {AUTHORIZATION: "Bearer guess"},
        {"username": "bob", "password": "guess"},
        {"username": "bob", "password": "ada's token"},
    ],
    ids=["nobody", "wrong token", "wrong password", "somebody else's"],
)
def test_nobody_else_is(guarded: Server, options: dict[str, str]) -> None:
    with (
        pytest.raises(Error, match="(?i)unauthenticated"),
        dbapi.connect(guarded.uri, db_kwargs=options, autocommit=True) as client,
    ):
        rows(client, "SELECT 1")


def test_a_bare_client_shakes_hands(guarded: Server) -> None:
    client = fl.connect(guarded.uri)
    header = client.authenticate_basic_token("bob", "bob's token")
    assert header[0] == b"authorization"
    options = fl.FlightCallOptions(headers=[header])
    assert query(client, "SELECT 1 AS one", options).to_pydict() == {"one": [1]}
    with pytest.raises(fl.FlightUnauthenticatedError):
        client.authenticate_basic_token("bob", "guess")


def test_a_ticket_is_useless_to_another_user(guarded: Server) -> None:
    client = fl.connect(guarded.uri)
    ada, bob = (
        fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {name}'s token".encode())])
        for name in ("ada", "bob")
    )
    command = wrapped("CommandStatementQuery", query="SELECT name FROM Person")
    info = client.get_flight_info(fl.FlightDescriptor.for_command(command), ada)
    ticket = info.endpoints[0].ticket
    with pytest.raises(fl.FlightUnauthorizedError, match="another user"):
        client.do_get(ticket, bob).read_all()
    assert client.do_get(ticket, ada).read_all().num_rows == 3


def test_a_role_decides_what_may_be_done(guarded: Server, graph: Graph) -> None:
    add = 'query add() { insert Person { name: "Dee" } }'
    with dbapi.connect(guarded.uri, db_kwargs=bearer("bob"), autocommit=True) as client:
        with pytest.raises(Error, match="bob may not write"):
            run(client, add)
        assert rows(client, "SELECT count(*) FROM Person") == [(3,)]
    with (
        dbapi.connect(guarded.uri, db_kwargs=bearer("cy"), autocommit=True) as client,
        pytest.raises(Error, match="cy may not read"),
    ):
        rows(client, "SELECT 1 FROM Person")
    with dbapi.connect(guarded.uri, db_kwargs=bearer("ada"), autocommit=True) as client:
        assert run(client, add) == 1
    assert graph.commits()[0].actor == "ada", "the server says who it was, not the client"


def test_a_user_has_the_same_roles_with_every_token(graph: Graph) -> None:
    users = tuple(User("ada", token_sha256(token), (token,)) for token in ("reader", "admin"))
    with pytest.raises(InvalidInput, match="ada has different roles"):
        Config(graphs={"social": graph.uri}, users=users).checked()
