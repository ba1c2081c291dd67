"""JOIN … USING gives each joined column once, first, and with the value that the join has."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

import omnigraph_sql
from sql.conftest import table

LEFT = "(VALUES (1, 'one'), (2, 'two'), (5, NULL)) l(k, v)"
RIGHT = "(VALUES (2, 'zwei'), (3, 'drei')) r(k, w)"


@pytest.mark.parametrize(
    ("join", "rows"),
    [
        ("JOIN", [(2, "two", "zwei")]),
        ("LEFT JOIN", [(1, "one", None), (2, "two", "zwei"), (5, None, None)]),
        ("RIGHT JOIN", [(2, "two", "zwei"), (3, None, "drei")]),
        (
            "FULL JOIN",
            [(1, "one", None), (2, "two", "zwei"), (3, None, "drei"), (5, None, None)],
        ),
    ],
)
def test_a_joined_column_has_a_value_in_every_row(
    shared_connection: omnigraph_sql.Connection, join: str, rows: list[tuple[Any, ...]]
) -> None:
    for spelled in (f"{LEFT} {join} {RIGHT} USING (k)", f"{LEFT} NATURAL {join} {RIGHT}"):
        whole = table(shared_connection, f"SELECT * FROM {spelled} ORDER BY k")
        assert whole.schema.names == ["k", "v", "w"]
        assert list(zip(*(c.to_pylist() for c in whole.columns), strict=True)) == rows
        keys = table(shared_connection, f"SELECT K FROM {spelled} WHERE k > 0 ORDER BY k")
        assert keys.column(0).to_pylist() == [row[0] for row in rows]
        grouped = table(shared_connection, f"SELECT k, count(*) FROM {spelled} GROUP BY k")
        assert sorted(grouped.column(0).to_pylist()) == [row[0] for row in rows]


def test_a_chain_of_joins_shares_its_column(shared_connection: omnigraph_sql.Connection) -> None:
    sql = f"SELECT * FROM {LEFT} FULL JOIN {RIGHT} USING (k) LEFT JOIN (SELECT 3 AS k, 'x' AS z) m "
    found = table(shared_connection, sql + "USING (k) ORDER BY k")
    assert found.schema.names == ["k", "v", "w", "z"]
    assert found.column("z").to_pylist() == [None, None, "x", None]


def test_each_side_keeps_its_own_column(shared_connection: omnigraph_sql.Connection) -> None:
    sql = f"SELECT k, l.k, r.k FROM {LEFT} FULL JOIN {RIGHT} USING (k) WHERE l.k IS NULL"
    found = table(shared_connection, sql)
    assert found.schema.names == ["k", "k", "k"]
    assert [column.to_pylist() for column in found.columns] == [[3], [None], [3]]


def test_stars_may_leave_columns_out(shared_connection: omnigraph_sql.Connection) -> None:
    sql = f"SELECT * EXCLUDE (v) FROM {LEFT} LEFT JOIN {RIGHT} USING (k) ORDER BY k"
    shared_connection.dialect = "duckdb"
    try:
        assert table(shared_connection, sql).schema.names == ["k", "w"]
    finally:
        shared_connection.dialect = "postgres"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT k FROM {l} FULL JOIN {r} USING (k) ORDER BY k",
        "SELECT DISTINCT k, v FROM {l} FULL JOIN {r} USING (k) ORDER BY k DESC, v",
        "SELECT sum(k) OVER (ORDER BY k) AS q, k + 1 AS k FROM {l} FULL JOIN {r} USING (k) "
        "ORDER BY k",
        "SELECT -k AS k FROM {l} FULL JOIN {r} USING (k) ORDER BY k",
        "SELECT k, w FROM {l} FULL JOIN {r} USING (k) ORDER BY k % 3, k",
        "SELECT v FROM {l} FULL JOIN {r} USING (k) ORDER BY k",
        "SELECT k, count(*) AS n FROM {l} FULL JOIN {r} USING (k) GROUP BY k ORDER BY k",
    ],
)
def test_rows_are_sorted_by_a_joined_column(
    shared_connection: omnigraph_sql.Connection, sql: str
) -> None:
    sql = sql.format(l=LEFT, r=RIGHT)
    found = table(shared_connection, sql)
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert rows == duckdb.execute(sql).fetchall()


@pytest.mark.parametrize("side", ["", "INNER", "LEFT", "RIGHT", "FULL"])
def test_a_natural_join_without_a_common_column_pairs_all_rows(
    shared_connection: omnigraph_sql.Connection, side: str
) -> None:
    other = "(VALUES (7), (8)) o(z)"
    paired = table(shared_connection, f"SELECT * FROM {LEFT} NATURAL {side} JOIN {other}")
    assert (paired.schema.names, paired.num_rows) == (["k", "v", "z"], 6)
    none = f"SELECT * FROM {LEFT} NATURAL {side} JOIN (SELECT z FROM {other} WHERE z > 9) p"
    assert table(shared_connection, none).num_rows == (3 if side in ("LEFT", "FULL") else 0)
