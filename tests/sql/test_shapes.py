"""Tables that are turned, lists that are unnested and JSON that is deep answer, or say why not."""

from __future__ import annotations

import pytest

import omnigraph_sql
from omnigraph.errors import InvalidInput
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
    with pytest.raises(InvalidInput, match="rows they are of") as failure:
        session.execute(kept.format("RIGHT", "u.x > 2"))
    assert failure.value.hint


def test_json_that_is_too_deep_is_no_json(session: omnigraph_sql.Connection) -> None:
    deep = "[" * 200_000
    asked = table(session, "SELECT json_valid(?) AS v", [deep])
    assert asked.column(0).to_pylist() == [False]
    with pytest.raises(InvalidInput, match="not JSON"):
        table(session, "SELECT CAST(? AS JSON) -> 'a'", [deep])
