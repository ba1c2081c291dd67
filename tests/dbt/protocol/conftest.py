"""A server of one's own, and what a reader of the target sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph
import omnigraph_sql
from omnigraph import Graph
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server
from support.dbt_projects import Project, a_project

Read = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return omnigraph.init(str(tmp_path / "graph.omni"), "")


@pytest.fixture
def server(graph: Graph) -> Iterator[Server]:
    with Server(Config(graphs={"graph": graph.uri}, port=0, optimize_seconds=0)) as server:
        yield server


@pytest.fixture
def project(server: Server, tmp_path: Path) -> Callable[..., Project]:
    """Projects against the server: `project("name", {"model": "select …"})`."""

    def write(name: str, models: dict[str, str], **profile: Any) -> Project:  # noqa: ANN401
        return a_project(tmp_path / name, models, uri=server.uri, **profile)

    return write


@pytest.fixture
def rows(graph: Graph) -> Read:
    """The rows of a query on a branch, as tuples; `main` unless said otherwise."""

    def read(sql: str, branch: str = "main") -> list[tuple[Any, ...]]:
        connection = omnigraph_sql.connect(omnigraph.open(graph.uri), branch=branch)
        try:
            found = connection.execute(sql)
            assert not isinstance(found, int)
            columns = [column.to_pylist() for column in found.read_all().columns]
            return list(zip(*columns, strict=True))
        finally:
            connection.close()

    return read


@pytest.fixture
def branches(graph: Graph) -> Callable[[], list[str]]:
    """The names of the branches that runs have left."""
    return lambda: [branch.name for branch in graph.branches() if branch.name.startswith("dbt/")]
