"""RETURNING gives the rows a statement changed: new as they became, deleted as they were."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound, OmniGraphError
from omnigraph_sql import AccessRequest
from omnigraph_sql.resolve.parameter_types import Params
from sql.conftest import rows, table

SCHEMA = """
node Boat { name: String @key  crew: I32? }
edge Meets: Boat -> Boat { on: Date? }
"""


@pytest.fixture
def session(tmp_path: Path) -> omnigraph_sql.Connection:
    found = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g.omni"), SCHEMA))
    found.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT DEFAULT 'none', n INT)")
    found.execute("INSERT INTO t (id, v, n) VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL)")
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t (id, n) VALUES (7, 70), (8, 80) RETURNING *",
        "INSERT INTO t (id, n) SELECT id + 10, n FROM t RETURNING id, n + 1 AS more",
        "UPDATE t SET n = n + 1 WHERE id < 3 RETURNING id, n",
        "UPDATE t AS u SET v = 'x' FROM (SELECT 2 AS k) s WHERE s.k = u.id RETURNING u.id, v AS w",
        "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE n >= 10) RETURNING id, v",
        "DELETE FROM t WHERE id = 99 RETURNING *",
        "INSERT INTO t (id, v) VALUES (1, 'new'), (9, 'nine') ON CONFLICT (id) "
        "DO UPDATE SET v = excluded.v RETURNING id, v, n",
    ],
)
def test_the_rows_are_those_of_duckdb(session: omnigraph_sql.Connection, sql: str) -> None:
    peer = duckdb.connect()
    peer.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v TEXT DEFAULT 'none', n INT)")
    peer.execute("INSERT INTO t (id, v, n) VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL)")
    wanted = sorted(map(repr, peer.execute(sql).fetchall()))
    found = session.execute(sql)
    assert isinstance(found, pa.RecordBatchReader)
    assert sorted(repr(tuple(row.values())) for row in found.read_all().to_pylist()) == wanted
    after = sorted(map(repr, peer.execute("SELECT id, v, n FROM t").fetchall()))
    now = rows(session, "SELECT id, v, n FROM t")
    assert sorted(repr(tuple(row.values())) for row in now) == after


def test_nodes_and_edges_return_their_ids(session: omnigraph_sql.Connection) -> None:
    made = rows(
        session, "INSERT INTO Boat (name, crew) VALUES ('Ada', 2), ('Bly', 3) RETURNING id, crew"
    )
    assert made == [{"id": "Ada", "crew": 2}, {"id": "Bly", "crew": 3}]
    (edge,) = rows(session, "INSERT INTO Meets (src, dst) VALUES ('Ada', 'Bly') RETURNING *")
    assert rows(session, "SELECT * FROM Meets") == [edge]
    assert rows(session, "UPDATE Boat SET crew = 9 WHERE name = 'Ada' RETURNING name, crew") == [
        {"name": "Ada", "crew": 9}
    ]
    assert rows(session, "DELETE FROM Meets RETURNING src, dst") == [{"src": "Ada", "dst": "Bly"}]


def test_a_merge_returns_what_each_clause_touched(session: omnigraph_sql.Connection) -> None:
    found = rows(
        session,
        """MERGE INTO t USING (VALUES (1, 'one'), (5, 'five')) s(k, w) ON t.id = s.k
           WHEN MATCHED THEN UPDATE SET v = s.w
           WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.k, s.w)
           WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE
           RETURNING id, v""",
    )
    assert sorted(map(repr, found)) == sorted(
        map(repr, [{"id": 1, "v": "one"}, {"id": 5, "v": "five"}, {"id": 3, "v": "c"}])
    )


def test_a_merge_may_ask_queries_in_its_conditions(session: omnigraph_sql.Connection) -> None:
    done = session.execute(
        """MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 2) s ON t.id = s.k
           WHEN MATCHED AND t.id IN (SELECT id FROM t WHERE n = 10) THEN DELETE
           WHEN MATCHED THEN UPDATE SET v = 'kept'"""
    )
    assert done == 2
    assert rows(session, "SELECT id, v FROM t ORDER BY id") == [
        {"id": 2, "v": "kept"},
        {"id": 3, "v": "c"},
    ]


def test_the_columns_are_known_before_and_parameters_count(
    session: omnigraph_sql.Connection,
) -> None:
    statement = session.prepare("UPDATE t SET n = ? WHERE id = ? RETURNING id, n * 2 AS twice")
    assert not statement.is_update
    assert statement.result_schema is not None
    assert statement.result_schema.names == ["id", "twice"]
    assert statement.parameter_schema.types == [pa.int32(), pa.int64()]
    found = statement.execute([4, 1])
    assert isinstance(found, pa.RecordBatchReader)
    assert found.read_all().to_pylist() == [{"id": 1, "twice": 8}]
    cursor = session.cursor().execute("DELETE FROM t WHERE id = ? RETURNING v", [2])
    assert cursor.fetchall() == [("b",)]


def test_what_cannot_be_returned_changes_nothing(session: omnigraph_sql.Connection) -> None:
    with pytest.raises(NotFound):
        session.execute("DELETE FROM t RETURNING nothing_like_it")
    with pytest.raises(OmniGraphError):
        session.execute("INSERT INTO t (id) VALUES (1) RETURNING id")
    assert len(rows(session, "SELECT * FROM t")) == 3
    commits = len(session.graph.commits())
    session.execute("BEGIN; DELETE FROM t RETURNING id")
    session.execute("ROLLBACK")
    assert len(session.graph.commits()) == commits


def test_what_fails_while_it_is_returned_changes_nothing(session: omnigraph_sql.Connection) -> None:
    commits = len(session.graph.commits())
    for sql in (
        "UPDATE t SET n = 0 WHERE id = 2 RETURNING 1 / n",
        "INSERT INTO t (id, n) VALUES (9, 0) RETURNING 1 / n",
        "DELETE FROM t RETURNING 1 / (n - 10)",
    ):
        with pytest.raises(OmniGraphError):
            table(session, sql)
    assert [row["n"] for row in rows(session, "SELECT n FROM t ORDER BY id")] == [10, 20, None]
    assert len(session.graph.commits()) == commits


@pytest.mark.parametrize(
    ("sql", "params", "wanted"),
    [
        ("UPDATE t SET n = ? WHERE id = ? RETURNING n + ? AS x", [4, 1, 5], [9]),
        ("UPDATE t SET n = $2 WHERE id = $3 RETURNING n + $1 AS x", [5, 4, 1], [9]),
        ("UPDATE t SET n = :n WHERE id = 1 RETURNING n + :more AS x", {"n": 4, "more": 5}, [9]),
        ("INSERT INTO t (id, n) VALUES (?, ?) RETURNING n * ? AS x", [8, 6, 7], [42]),
        (
            "INSERT INTO t (id, n) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET n = ? "
            "RETURNING n * ? AS x",
            [1, 2, 3],
            [6],
        ),
        ("DELETE FROM t WHERE id = ? RETURNING v || ? AS x", [1, "!"], ["a!"]),
        ("DELETE FROM t WHERE id = 1 RETURNING v || ? AS x", ["!"], ["a!"]),
    ],
)
def test_parameters_may_stand_in_what_is_returned(
    session: omnigraph_sql.Connection, sql: str, params: Params, wanted: list[object]
) -> None:
    assert [row["x"] for row in rows(session, sql, params)] == wanted


@pytest.mark.parametrize("params", [[1], [1, 2, 3, 4], None])
def test_values_must_be_as_many_as_parameters(
    session: omnigraph_sql.Connection, params: Params
) -> None:
    for sql in (
        "UPDATE t SET n = ? WHERE id = ? RETURNING n + ?",
        "UPDATE t SET n = ? WHERE id = ? AND n = ?",
    ):
        with pytest.raises(InvalidInput, match="3 parameters"):
            session.execute(sql, params)


def test_the_guard_sees_a_write_whatever_ran_before(session: omnigraph_sql.Connection) -> None:
    session.execute("CREATE TABLE other (a INT)")
    requests: list[AccessRequest] = []
    session.guard = requests.append
    statement = session.prepare("INSERT INTO t (id) VALUES (9) RETURNING id")
    assert statement.result_schema == pa.schema([pa.field("id", pa.int64(), nullable=False)])
    assert {request.action for request in requests if request.name == "t"} == {"write"}
