"""Parts of one column agree on a type, and the column says so before its rows come."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from datafusion import DataFrame, LogicalPlan

import omnigraph_sql
from omnigraph.errors import InvalidInput
from sql.conftest import rows, table

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
    ("SELECT age + age FROM person", pa.int32()),
    ("SELECT age * age - age FROM (SELECT * FROM person) p", pa.int32()),
    ("SELECT CAST(age AS SMALLINT) * CAST(age AS SMALLINT) FROM person", pa.int16()),
    ("SELECT CAST(age AS SMALLINT) + age FROM person", pa.int32()),
    ("SELECT age + 1 FROM person", pa.int64()),
    ("SELECT sum(age) + sum(age) FROM person", pa.int64()),
    ("SELECT coalesce(age, 3000000000) + age FROM person", pa.int64()),
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
    context = connection.datafusion.context
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
    with pytest.raises(InvalidInput, match="x of type int64") as failure:
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


BIG = "(SELECT CAST(2147483647 AS INT) AS i, CAST(5 AS INT) AS j)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT i + j FROM {BIG} q",
        f"SELECT i * j FROM (SELECT * FROM {BIG} q) r",
        f"SELECT -i - j FROM {BIG} q",
        f"WITH w AS (SELECT i, j FROM {BIG} q) SELECT i + j FROM w",
        f"SELECT a + a FROM (SELECT i FROM {BIG} q UNION ALL SELECT j FROM {BIG} r) u(a)",
        f"SELECT max(i) + max(j) FROM {BIG} q",
        f"SELECT i / j * j * j FROM {BIG} q",
        f"SELECT i % j + i FROM {BIG} q",
        f"SELECT x + y FROM (SELECT j, i AS x FROM {BIG} r) q(x, y)",
        f"SELECT lag(j) OVER (ORDER BY n) + i FROM {BIG} q, (VALUES (1), (2)) m(n)",
        f"SELECT max(i) OVER () + j FROM {BIG} q",
        f"SELECT max(i) FILTER (WHERE j > 1) + max(j) FROM {BIG} q",
        f"SELECT (SELECT max(i) FROM {BIG} r) + j FROM {BIG} q",
        f"SELECT greatest(i, j) + j, CASE WHEN j > 9 THEN j WHEN j > 4 THEN NULL END FROM {BIG} q",
        f"SELECT CASE WHEN j > 4 THEN i ELSE NULL END + j FROM {BIG} q",
    ],
)
def test_an_integer_that_overflows_is_told(
    shared_connection: omnigraph_sql.Connection, sql: str
) -> None:
    with pytest.raises(InvalidInput, match="does not fit INTEGER") as failure:
        table(shared_connection, sql)
    assert failure.value.hint is not None and "BIGINT" in failure.value.hint


def test_an_integer_that_overflows_by_a_parameter_is_told(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    statement = shared_connection.prepare(f"SELECT i - ? + ? AS v FROM {BIG} q")
    assert statement.parameter_schema.types == [pa.int32()] * 2
    assert statement.result_schema == pa.schema([("v", pa.int32())])
    found = statement.execute([5, 4])
    assert isinstance(found, pa.RecordBatchReader)
    assert found.read_all().to_pydict() == {"v": [2147483646]}
    with pytest.raises(InvalidInput, match="does not fit INTEGER"):
        table(shared_connection, f"SELECT i - ? + ? AS v FROM {BIG} q", [4, 5])


def test_a_sum_of_integers_fits_by_what_it_comes_to(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    found = table(shared_connection, f"SELECT i + j - (j + i) + j AS v FROM {BIG} q")
    assert found.to_pydict() == {"v": [5]}
    assert found.schema.types == [pa.int32()]


def test_dates_apart_are_days_whatever_made_them(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    sql = "SELECT d - CAST(ts - INTERVAL '1 hour' AS DATE) AS v, d + (INTERVAL '1 hour') AS t FROM "
    given = "(SELECT DATE '2024-01-05' AS d, TIMESTAMP '2024-01-03 00:30:00' AS ts) q"
    found = table(shared_connection, sql + given)
    assert found.to_pydict() == {"v": [3], "t": [datetime(2024, 1, 5, 1)]}


def test_types_are_told_once_however_deep_the_query_is(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    depth = 40  # by halves, this would take a trillion looks
    deep = "SELECT " + "a + a AS a FROM (SELECT " * depth + "age AS a FROM person" + ") q" * depth
    assert shared_connection.prepare(deep).result_schema == pa.schema([("a", pa.int32())])
    long = f"SELECT {' + '.join(['age'] * 900)} AS a FROM person"
    assert shared_connection.prepare(long).result_schema == pa.schema([("a", pa.int32())])


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT 1.5 AS x) t",
        "(SELECT score - 8 AS x FROM person WHERE name = 'ada') t",
        "(VALUES (1.5)) t(x)",
        "(SELECT * FROM (SELECT 1.5 AS x, 2 AS y) u) t",
        "(SELECT CASE WHEN true THEN 1.5 END AS x) t",
    ],
)
def test_a_cast_rounds_what_a_derived_table_gives(
    shared_connection: omnigraph_sql.Connection, source: str
) -> None:
    assert rows(shared_connection, f"SELECT CAST(x AS INT) AS i FROM {source}") == [{"i": 2}]


def test_what_bag_operations_give_is_called_as_what_others_give(
    shared_connection: omnigraph_sql.Connection,
) -> None:
    for operation in ("EXCEPT", "EXCEPT ALL"):
        found = rows(shared_connection, f"SELECT -5 {operation} SELECT 1")
        assert found == [{"?column?": -5}]
