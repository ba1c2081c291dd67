"""One graph with something of everything, copied for each test, which may damage its copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph
from support.kept_graphs import fleet


@pytest.fixture(scope="session")
def _fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fleet") / "graph"
    fleet(str(place))
    return place


@pytest.fixture
def place(_fleet: Path, tmp_path: Path) -> Path:
    """Where the graph of the test is."""
    return Path(shutil.copytree(_fleet, tmp_path / "graph"))


@pytest.fixture
def graph(place: Path) -> omnigraph.Graph:
    """The graph of the test, opened."""
    return omnigraph.open(place)
