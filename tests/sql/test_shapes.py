"""Tables that are turned, lists that are unnested and JSON that is deep answer, or say why not."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

import omnigraph_sql
from omnigraph.errors import InvalidInput
from omnigraph_sql.datafusion.dialect import datafusion_dialect
from sql.conftest import rows, table


@pytest.fixture
def session(connection: omnigraph_sql.Connection) -> omnigraph_sql.Connection:
    connection.execute(
        "CREATE TABLE p AS SELECT * FROM (VALUES ('x', -1, true, 5), ('x', 1, false, 7)) "
        "AS v(k, n, b, w)"
    )
    connection.execute("CREATE TABLE l (id BIGINT, items BIGINT[])")
    connection.execute("INSERT INTO l VALUES (1, [1, 5]), (2, [1])")
    return connection


def test_values_with_a_sign_and_truth_values_name_columns(
    session: omnigraph_sql.Connection,
) -> None:
    session.dialect = "duckdb"
    by_sign = "PIVOT (SELECT k, n, w FROM p) ON n USING sum(w) GROUP BY k"
    assert rows(session, by_sign) == [{"k": "x", "-1": 5, "1": 7}]
    by_truth = "PIVOT (SELECT k, b, w FROM p) ON b USING sum(w) GROUP BY k"
    assert rows(session, by_truth) == [{"k": "x", "false": 7, "true": 5}]
    clause = "SELECT * FROM (SELECT k, n, w FROM p) PIVOT (sum(w) FOR n IN (-1, 1))"
    assert rows(session, clause) == [{"k": "x", "-1": 5, "1": 7}]
    clause = "SELECT * FROM (SELECT k, b, w FROM p) PIVOT (sum(w) FOR b IN (true, false))"
    assert rows(session, clause) == [{"k": "x", "true": 5, "false": 7}]


def test_an_outer_join_with_elements_keeps_every_row(
    session: omnigraph_sql.Connection,
) -> None:
    kept = "SELECT l.id, u.x FROM l {} JOIN unnest(l.items) AS u(x) ON {}"
    found = rows(session, kept.format("LEFT", "TRUE"))
    assert sorted((row["id"], row["x"]) for row in found) == [(1, 1), (1, 5), (2, 1)]
    assert rows(session, kept.format("", "u.x > 2")) == [{"id": 1, "x": 5}]
    assert rows(session, kept.format("", "FALSE")) == []
    some = rows(session, kept.format("LEFT", "u.x > 2"))
    assert sorted((row["id"], row["x"] or 0) for row in some) == [(1, 5), (2, 0)]
    none = rows(session, kept.format("LEFT", "FALSE"))
    assert sorted((row["id"], row["x"]) for row in none) == [(1, None), (2, None)]
    with pytest.raises(InvalidInput, match="RIGHT or FULL join") as failure:
        session.execute(kept.format("RIGHT", "u.x > 2"))
    assert failure.value.hint


def test_json_that_is_too_deep_is_no_json(session: omnigraph_sql.Connection) -> None:
    deep = "[" * 200_000
    asked = table(session, "SELECT json_valid(?) AS v", [deep])
    assert asked.column(0).to_pylist() == [False]
    with pytest.raises(InvalidInput, match="not JSON"):
        table(session, "SELECT CAST(? AS JSON) -> 'a'", [deep])


MANY = "(VALUES (1), (1), (1), (2)) z(a)"
SOME = "(VALUES (1), (1), (2)) y(a)"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a FROM {MANY} EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 2",
        f"SELECT a FROM {MANY} EXCEPT ALL (SELECT a FROM {SOME} EXCEPT ALL SELECT 1)",
        f"SELECT * FROM (SELECT a FROM {MANY} INTERSECT ALL SELECT a FROM {SOME}) q "
        "EXCEPT ALL SELECT 2",
        f"SELECT * FROM {MANY} EXCEPT ALL SELECT * FROM {SOME}",
        f"SELECT z.* FROM {MANY}, {SOME} EXCEPT ALL SELECT * FROM {SOME}",
        f"SELECT * EXCLUDE (b) FROM (SELECT a, 2 AS b FROM {MANY}) q EXCEPT ALL SELECT 1",
        f"((SELECT a FROM {MANY} ORDER BY a) LIMIT 2) EXCEPT ALL ((SELECT 1))",
        f"WITH w AS (SELECT * FROM {MANY}) SELECT * FROM w EXCEPT ALL SELECT 1 ORDER BY a LIMIT 2",
    ],
)
def test_rows_that_are_there_more_than_once_are_counted(
    shared_connection: omnigraph_sql.Connection, sql: str
) -> None:
    shared_connection.dialect = "duckdb"
    try:
        found = table(shared_connection, sql).column(0).to_pylist()
    finally:
        shared_connection.dialect = "postgres"
    assert sorted(found) == sorted(row[0] for row in duckdb.execute(sql).fetchall())


def test_rows_that_are_kept_or_seen_through_a_view_are_counted_too(
    session: omnigraph_sql.Connection,
) -> None:
    counted = f"SELECT a FROM {MANY} EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 2"
    session.execute(f"CREATE TABLE kept AS {counted}")
    session.execute(f"INSERT INTO kept {counted}")
    session.execute(
        "CREATE VIEW seen AS SELECT * FROM kept EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1"
    )
    assert table(session, "SELECT a FROM kept").column(0).to_pylist() == [1] * 4
    assert table(session, "SELECT a FROM seen").column(0).to_pylist() == [1] * 2


def test_sides_of_different_widths_are_told(shared_connection: omnigraph_sql.Connection) -> None:
    with pytest.raises(InvalidInput, match="1 columns and one of 2") as failure:
        shared_connection.execute("SELECT 1 EXCEPT ALL SELECT 1, 2")
    assert failure.value.hint


@pytest.mark.parametrize(
    ("query", "elements"),
    [
        ("SELECT a + 0 FROM {} ORDER BY -b", [2, 1, 3]),
        ("SELECT b AS a FROM {} ORDER BY t.a", [2, 3, 1]),
        ("SELECT b AS a FROM {} ORDER BY a", [1, 2, 3]),
        ("SELECT a FROM {} ORDER BY t.a DESC", [3, 2, 1]),
        ("SELECT a FROM {} ORDER BY b", [3, 1, 2]),
        ("SELECT -a FROM {} ORDER BY -a", [-3, -2, -1]),
        ("SELECT DISTINCT a FROM {} ORDER BY 1 DESC", [3, 2, 1]),
    ],
)
def test_an_array_is_sorted_by_what_it_says(
    shared_connection: omnigraph_sql.Connection, query: str, elements: list[int]
) -> None:
    array = f"ARRAY({query.format('(VALUES (1, 2), (2, 3), (3, 1)) t(a, b)')})"
    assert table(shared_connection, f"SELECT {array} AS v").to_pydict() == {"v": [elements]}


def test_a_select_is_looked_through_once_for_all_its_casts(
    shared_connection: omnigraph_sql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    look = datafusion_dialect._computes_groups  # noqa: SLF001

    def counted(select: exp.Select) -> bool:
        looks.append(select)
        return look(select)

    monkeypatch.setattr(datafusion_dialect, "_computes_groups", counted)
    casts = ", ".join(f"CAST(age AS BIGINT) AS c{place}" for place in range(50))
    shared_connection.prepare(f"SELECT {casts} FROM person").result_schema  # noqa: B018
    assert len(looks) == 1
    found = table(
        shared_connection, "SELECT age, CAST(age AS BIGINT) AS a FROM person GROUP BY 1, 2"
    )
    assert found.schema.types == [pa.int32(), pa.int64()]
