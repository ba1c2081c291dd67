"""A session over a small graph, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph_sql
from omnigraph_sql.resolve.parameter_types import Params
from sql.logic_data import logic_graph

Row = dict[str, Any]


@pytest.fixture
def connection(tmp_path: Path) -> omnigraph_sql.Connection:
    """A session over people, items and sales."""
    return omnigraph_sql.connect(logic_graph(str(tmp_path / "logic.omni")), user="ada")


def rows(connection: omnigraph_sql.Connection, sql: str, params: Params = None) -> list[Row]:
    """The rows of a query as dictionaries."""
    found: list[Row] = table(connection, sql, params).to_pylist()
    return found


def table(connection: omnigraph_sql.Connection, sql: str, params: Params = None) -> pa.Table:
    """The rows of a query as Arrow."""
    reader = connection.execute(sql, params)
    assert isinstance(reader, pa.RecordBatchReader)
    return reader.read_all()


@pytest.fixture(scope="module")
def shared_connection(tmp_path_factory: pytest.TempPathFactory) -> omnigraph_sql.Connection:
    """The same for tests that only read."""
    root = tmp_path_factory.mktemp("shared") / "logic.omni"
    return omnigraph_sql.connect(logic_graph(str(root)), user="ada")
