"""Parts of one column agree on a type, and the column says so before its rows come."""

from __future__ import annotations

import pyarrow as pa
import pytest
from datafusion import DataFrame, LogicalPlan

import omnigraph_sql
from omnigraph.errors import InvalidInput
from sql.conftest import table

AGREED = [
    ("SELECT 1", pa.int32()),
    ("SELECT 1 UNION ALL SELECT 2", pa.int32()),
    ("SELECT 1 UNION SELECT 3000000000", pa.int64()),
    ("SELECT 1 INTERSECT SELECT 1", pa.int32()),
    ("WITH w AS (SELECT 1 AS x UNION ALL SELECT 2) SELECT x FROM w", pa.int32()),
    ("SELECT age FROM person UNION ALL SELECT 3000000000", pa.int64()),
    ("SELECT age FROM person UNION ALL SELECT score FROM person", pa.float64()),
    ("SELECT NULL UNION ALL SELECT 1.5", pa.decimal128(2, 1)),
    ("SELECT born FROM person UNION ALL SELECT TIMESTAMP '2024-01-02 10:00:00'",
     pa.timestamp("us")),
    ("SELECT CASE WHEN age > 30 THEN 0 ELSE score END FROM person", pa.float64()),
    ("SELECT CASE WHEN age > 30 THEN age ELSE 3000000000 END FROM person", pa.int64()),
    ("SELECT CASE WHEN age > 30 THEN DATE '9999-12-31' ELSE TIMESTAMP '2024-01-02 10:00:00' END "
     "FROM person", pa.timestamp("us")),
    ("SELECT sum(CASE WHEN age > 30 THEN 0 ELSE score END) FROM person", pa.float64()),
    ("SELECT row_number() OVER (ORDER BY name) FROM person", pa.int64()),
    ("SELECT coalesce(rank() OVER (ORDER BY name), -1) FROM person", pa.int64()),
    ("SELECT cardinality(tags) FROM person", pa.int64()),
    ("SELECT 1e3", pa.float64()),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "type_"), AGREED, ids=[sql for sql, _ in AGREED])
def test_a_column_has_the_type_that_was_announced(
    shared_connection: omnigraph_sql.Connection, sql: str, type_: pa.DataType
) -> None:
    announced = shared_connection.prepare(sql).result_schema
    assert announced is not None
    assert announced.types == [type_]
    assert table(shared_connection, sql).schema == announced


@pytest.mark.parametrize(
    ("sql", "settled"),
    [
        ("SELECT name FROM person WHERE name = 'CASE ' OR name = ' UNION '", False),
        ("SELECT 'a UNION b, CASE ' AS x", False),
        ("SELECT CASE WHEN age > 30 THEN 1 ELSE 0 END FROM person", False),
        ("SELECT CASE WHEN age > 30 THEN 'old' WHEN age > 20 THEN name END FROM person", False),
        ("SELECT name FROM person WHERE CASE WHEN age > 30 THEN 1 ELSE score END > 1", False),
        ("SELECT CASE WHEN age > 30 THEN 1 ELSE score END FROM person", True),
        ("SELECT CASE WHEN age > 30 THEN NULL ELSE score END FROM person", True),
        ("SELECT CASE WHEN s > 3 THEN age ELSE s END FROM "
         "(SELECT age, sum(age) AS s FROM person GROUP BY age) q", True),
        ("SELECT name FROM person UNION SELECT name FROM person", True),
    ],
)  # fmt: skip
def test_only_parts_that_may_differ_are_made_to_agree(
    connection: omnigraph_sql.Connection,
    monkeypatch: pytest.MonkeyPatch,
    sql: str,
    settled: bool,
) -> None:
    asked: list[object] = []
    context = connection.engine.context
    settle = context.create_dataframe_from_logical_plan

    def counted(plan: LogicalPlan) -> DataFrame:
        asked.append(plan)
        return settle(plan)

    monkeypatch.setattr(context, "create_dataframe_from_logical_plan", counted)
    announced = connection.prepare(sql).result_schema
    assert bool(asked) == settled
    assert table(connection, sql).schema == announced


def test_a_table_made_of_a_union_holds_every_value(
    connection: omnigraph_sql.Connection,
) -> None:
    connection.execute("CREATE TABLE kept AS SELECT age AS x FROM person UNION ALL SELECT 2.5")
    found = table(connection, "SELECT x FROM kept ORDER BY x").column(0).to_pylist()
    assert [None if x is None else float(x) for x in found] == [2.5, 25, 25, 36, 41, None]


def test_a_parameter_that_does_not_fit_what_was_announced_is_told(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    sql = "SELECT CASE WHEN age > 30 THEN 1 ELSE ? END AS x FROM person"
    assert table(shared_connection, sql, [7]).column(0).to_pylist().count(7) == 3
    with pytest.raises(InvalidInput, match="x is int64") as failure:
        table(shared_connection, sql, [2.5])
    assert failure.value.hint


@pytest.mark.parametrize(
    "joined",
    [
        "p JOIN person q ON p.age IS NOT DISTINCT FROM q.age JOIN item i ON i.stock = 0",
        "p, person q, item i WHERE p.age IS NOT DISTINCT FROM q.age AND i.stock = 0",
        "p JOIN item i ON i.stock = 0 JOIN person q ON q.age IS NOT DISTINCT FROM p.age",
    ],
)
def test_nulls_that_are_the_same_join_beside_other_joins(
    shared_connection: omnigraph_sql.Connection, joined: str
) -> None:
    found = table(shared_connection, f"SELECT p.name, q.name FROM person {joined}")
    pairs = set(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert pairs == {
        *((name, name) for name in ("ada", "bob", "cy", "dee", "eve")),
        ("bob", "eve"),
        ("eve", "bob"),
    }
