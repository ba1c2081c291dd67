"""The real server under dbt's own suite: one per session, one schema per test class."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 - its fixtures are the suite's ground

import omnigraph
from omnigraph_flight.config import Config
from omnigraph_flight.server import Server


@pytest.fixture(scope="session")
def served_graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one empty graph."""
    root: Path = tmp_path_factory.mktemp("dbt") / "graph.omni"
    omnigraph.init(str(root), "")
    with Server(Config(graphs={"graph": str(root)}, port=0, optimize_seconds=0)) as server:
        yield server.uri


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where dbt logs: not in the repository, where the suite would put it."""
    folder = str(tmp_path_factory.mktemp("logs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_LOG_PATH", folder)
        yield folder


@pytest.fixture(scope="module")
def test_data_dir(request: pytest.FixtureRequest) -> Path:
    """The suite's own files for a family of tests."""
    family = Path(request.path).stem.removeprefix("test_")
    return Path(import_module(f"dbt.tests.adapter.{family}").__path__[0]) / "data"


@pytest.fixture(scope="class")
def omnigraph_target(served_graph: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a profile says of the server."""
    return {
        "type": "omnigraph",
        "uri": served_graph,
        "branch": "main",
        "threads": 4,
        "publish": request.config.getoption("--dbt-publish"),
    }


@pytest.fixture(scope="class")
def dbt_profile_target(omnigraph_target: dict[str, Any]) -> dict[str, Any]:
    return omnigraph_target


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """dbt and its suite warn about themselves; that is theirs to mend."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            item.add_marker(pytest.mark.dbt)
            # The first Python model of a process starts Spark.
            item.add_marker(pytest.mark.timeout(900))
