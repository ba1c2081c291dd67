"""One server for a module of many small statements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from adbc_driver_flightsql import dbapi

from flight.clients import run
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from support.social import social_graph


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    graph = social_graph(str(tmp_path_factory.mktemp("graph") / "g"), ["Ann"], [])
    config = Config(graphs={"social": graph.uri}, port=0, optimize_seconds=0)
    with Server(config) as running:
        yield running


@pytest.fixture(scope="module")
def shared_client(shared_server: Server) -> Iterator[dbapi.Connection]:
    with dbapi.connect(shared_server.uri, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table(shared_client: dbapi.Connection) -> Iterator[str]:
    """A name that is free, before and after."""
    run(shared_client, "DROP TABLE IF EXISTS t")
    yield "t"
    run(shared_client, "DROP TABLE IF EXISTS t")
