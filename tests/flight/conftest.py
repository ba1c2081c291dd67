"""A server per test over a small graph, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from adbc_driver_flightsql import dbapi

from omnigraph import Graph
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from support.social import social_graph

Serve = Callable[..., Server]
Connect = Callable[..., dbapi.Connection]


@pytest.fixture
def graph(root: str) -> Graph:
    """Ann, Bob and Cid; Ann knows Bob and Bob knows Cid."""
    return social_graph(root, ["Ann", "Bob", "Cid"], ["Ann>Bob", "Bob>Cid"])


@pytest.fixture
def serve(graph: Graph) -> Iterator[Serve]:
    """Start servers over the graph, with settings of one's own."""
    with ExitStack() as running:

        def start(**settings: Any) -> Server:  # noqa: ANN401
            given = {"graphs": {"social": graph.uri}, "port": 0, "optimize_seconds": 0, **settings}
            return running.enter_context(Server(Config(**given)))

        yield start


@pytest.fixture
def server(serve: Serve) -> Server:
    """A server with no configuration."""
    return serve()


@pytest.fixture
def connect(server: Server) -> Iterator[Connect]:
    """Connect with ADBC; options are `db_kwargs`."""
    with ExitStack() as open_:

        def start(
            *, to: Server = server, autocommit: bool = True, **options: str
        ) -> dbapi.Connection:
            connection = dbapi.connect(to.uri, db_kwargs=options, autocommit=autocommit)
            return open_.enter_context(connection)

        yield start


@pytest.fixture
def client(connect: Connect) -> dbapi.Connection:
    """One ADBC connection in autocommit."""
    return connect()
