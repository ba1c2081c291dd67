"""TPC-H's questions over plain tables give duckdb's answers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from sql.conftest import table
from support.tpch import QUERIES, tables

SCALE = 0.1
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("tpch")]


@pytest.fixture(scope="module")
def data() -> dict[str, pa.Table]:
    return tables(SCALE)


@pytest.fixture(scope="module")
def database(data: dict[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    found = duckdb.connect()
    for name, rows in data.items():
        found.register(name, rows)
    yield found
    found.close()


@pytest.fixture(scope="module")
def loaded(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, pa.Table]
) -> omnigraph_sql.Connection:
    graph = omnigraph.init(str(tmp_path_factory.mktemp("tpch") / "g"), "node Unused { k: String? }")
    connection = omnigraph_sql.connect(graph)
    for name, rows in data.items():
        assert connection.ingest(name, rows.to_reader(), "create") == rows.num_rows
    return connection


def alike(ours: Any, theirs: Any) -> bool:  # noqa: ANN401
    """Equal, or as near as a quotient of decimals is to that of doubles."""
    if isinstance(ours, float | Decimal) or isinstance(theirs, float | Decimal):
        if ours is None or theirs is None:
            return ours is theirs
        return float(ours) == pytest.approx(float(theirs), rel=1e-4, abs=1e-4)
    return bool(ours == theirs)


@pytest.mark.parametrize("number", QUERIES)
def test_a_question_has_duckdbs_answer(
    number: int, loaded: omnigraph_sql.Connection, database: duckdb.DuckDBPyConnection
) -> None:
    ours = table(loaded, QUERIES[number])
    theirs = database.execute(QUERIES[number]).fetchall()
    assert theirs, "a question without an answer tests nothing"
    columns = [column.to_pylist() for column in ours.columns]
    found = list(zip(*columns, strict=True))
    assert len(found) == len(theirs)
    for mine, other in zip(found, theirs, strict=True):
        assert len(mine) == len(other)
        assert all(map(alike, mine, other)), (mine, other)
