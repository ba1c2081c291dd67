"""One Spark session for all tests of this folder: a JVM takes longer to start than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from omnigraph import Graph
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from spark.sessions import local_session

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Spark are slow, and go to one worker, which has the session."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = local_session("local[2]")
    yield session
    session.stop()


@pytest.fixture(params=["storage", "server"])
def uri(request: pytest.FixtureRequest, graph: Graph) -> Iterator[str]:
    """How Spark reaches the graph of a test: by itself, or through a server."""
    if request.param == "storage":
        yield graph.uri
        return
    with Server(Config(graphs={"g": graph.uri}, port=0, optimize_seconds=0)) as server:
        yield server.uri
