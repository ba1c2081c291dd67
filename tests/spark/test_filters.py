"""Filters that Spark pushes down select what Spark selects, from tables and through a server."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    Not,
    StringContains,
    StringStartsWith,
)

import omnigraph
import omnigraph_sql
from omnigraph_spark.graph_location import GraphLocation
from omnigraph_spark.reading.spark_filters import sql_condition
from omnigraph_spark.reading.storage_scan import StorageTable
from sql.conftest import rows

SCHEMA = """node P { k: String @key  i: I64?  u: U64?  g: F64?  f: F32?  on: Bool?  day: Date?
                     at: DateTime? }"""
SMALLEST = -(2**63)
NOON = datetime(2024, 2, 29, 12, 0, 0, 1, UTC)
ROWS = {
    "k": ["a", "b", "it's", "none"],
    "i": [SMALLEST, 7, 2**63 - 1, None],
    "u": [0, 2**64 - 1, 7, None],
    "g": [-0.0, 0.1, 1e300, None],
    "f": [0.0, 0.5, -0.5, None],
    "on": [True, False, True, None],
    "day": [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None],
    "at": [datetime(1970, 1, 1, tzinfo=UTC), NOON, datetime(9999, 1, 1, tzinfo=UTC), None],
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    root: Path = tmp_path_factory.mktemp("filters")
    graph = omnigraph.init(str(root / "g.omni"), SCHEMA)
    with graph.transaction() as txn:
        txn.insert("P", pa.table({**ROWS, "u": pa.array(ROWS["u"], pa.uint64())}))
    return graph


def one(name: str) -> tuple[str, ...]:
    return (name,)


CASES: list[tuple[Filter, list[str]]] = [
    (EqualTo(one("i"), SMALLEST), ["a"]),
    (Not(EqualTo(one("i"), SMALLEST)), ["b", "it's"]),
    (GreaterThan(one("i"), SMALLEST), ["b", "it's"]),
    (LessThan(one("i"), SMALLEST + 1), ["a"]),
    (In(one("i"), (SMALLEST, 7, None)), ["a", "b"]),
    (EqualTo(one("u"), Decimal(2**64 - 1)), ["b"]),
    (EqualTo(one("g"), 0.0), ["a"]),
    (EqualTo(one("g"), 0.1), ["b"]),
    (GreaterThanOrEqual(one("f"), 0.5), ["b"]),
    (EqualTo(one("on"), True), ["a", "it's"]),
    (LessThan(one("day"), date(2024, 2, 29)), ["a"]),
    (EqualTo(one("at"), NOON), ["b"]),
    (EqualTo(one("k"), "it's"), ["it's"]),
    (StringStartsWith(one("k"), "it'"), ["it's"]),
    (Not(StringContains(one("k"), "'")), ["a", "b", "none"]),
    (IsNull(one("i")), ["none"]),
    (IsNotNull(one("i")), ["a", "b", "it's"]),
]


@pytest.mark.parametrize(("test", "expected"), CASES, ids=str)
def test_a_table_evaluates_it(graph: omnigraph.Graph, test: Filter, expected: list[str]) -> None:
    table = StorageTable(GraphLocation(graph.uri), "node:P", "main")
    parts = table.parts(["k"], [test])
    found = [row["k"] for part in parts for batch in table.read(part) for row in batch.to_pylist()]
    assert sorted(found) == expected


@pytest.mark.parametrize(("test", "expected"), CASES, ids=str)
def test_a_server_evaluates_it(graph: omnigraph.Graph, test: Filter, expected: list[str]) -> None:
    session = omnigraph_sql.connect(graph)
    found = rows(session, f"SELECT k FROM P WHERE {sql_condition([test])}")
    assert sorted(row["k"] for row in found) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", Decimal("0.5"), None])
def test_what_sql_cannot_write_is_left_to_spark(value: Any) -> None:  # noqa: ANN401
    assert sql_condition([EqualTo(("g", "nested"), 1.0)]) is None
    assert value is None or sql_condition([EqualTo(one("g"), value)]) is None
    assert sql_condition([In(one("g"), (value,)), IsNull(one("i"))]) == '"i" IS NULL'
