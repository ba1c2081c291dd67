"""Branches in SQL: made, used, merged and dropped; what is on one is on no other."""

from __future__ import annotations

import pytest

from omnigraph.errors import AlreadyExists, Conflict, InvalidInput, NotFound
from sql.writing.session import Session


def test_work_on_a_branch_and_merge_it(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a")
    session.run('/* nightly */ CREATE BRANCH "dbt/run-7" FROM main')
    session.run('USE "dbt/run-7"')
    assert session.connection.catalog == "dbt/run-7"
    session.run("INSERT INTO t VALUES (2)")
    session.run("CREATE SCHEMA s")
    session.run("CREATE VIEW s.v AS SELECT count(*) AS n FROM public.t")
    session.run("USE main")
    assert session.rows("SELECT count(*) FROM t") == [(1,)]
    before = session.commits()
    session.run('MERGE BRANCH "dbt/run-7" INTO main DROP SOURCE')
    assert session.commits() == before + 1
    assert session.rows("SELECT n FROM s.v") == [(2,)]
    assert [branch.name for branch in session.graph.branches()] == ["main"]
    assert session.graph.commits()[0].actor == "ada"


def test_branches_are_made_at_any_moment(session: Session) -> None:
    version = session.graph.snapshot().version
    session.run("DELETE FROM Boat")
    session.run(f'CREATE BRANCH old FROM "main@v{version}"')
    session.run("CREATE BRANCH IF NOT EXISTS old")
    with pytest.raises(AlreadyExists):
        session.run("CREATE BRANCH old")
    assert session.rows("SELECT count(*) FROM old.nodes.Boat") == [(3,)]
    session.run("DROP BRANCH old")
    with pytest.raises(NotFound):
        session.run("DROP BRANCH old")
    session.run("DROP BRANCH IF EXISTS old")
    with pytest.raises(InvalidInput):
        session.run("DROP BRANCH main")
    with pytest.raises(InvalidInput):
        session.run('CREATE BRANCH "__txn/1"')


def test_a_replaced_table_merges(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 1 AS a")
    session.run("CREATE BRANCH dev")
    session.run("USE dev")
    session.run("CREATE OR REPLACE TABLE t AS SELECT 'x' AS b, 2 AS c")
    session.run("CREATE OR REPLACE TABLE fresh AS SELECT 3 AS d")
    session.run("USE main")
    session.run("INSERT INTO u VALUES (2)")
    session.run("MERGE BRANCH dev INTO main")
    assert session.rows("SELECT * FROM t") == [("x", 2)]
    assert session.rows("SELECT * FROM fresh") == [(3,)]
    assert session.rows("SELECT count(*) FROM u") == [(2,)]
    session.run("USE dev; CREATE OR REPLACE TABLE t AS SELECT 9 AS z; USE main")
    session.run("MERGE BRANCH dev INTO main DROP SOURCE WITH MESSAGE 'Ada''s merge'")
    assert session.graph.commits()[0].message == "Ada's merge"
    assert session.rows("SELECT * FROM t") == [(9,)]
    assert session.graph.verify(rules=True).ok


def test_a_table_that_both_sides_changed_is_a_conflict(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a")
    session.run("CREATE BRANCH dev")
    session.run("INSERT INTO t VALUES (2)")
    session.run("INSERT INTO dev.public.t VALUES (3)")
    with pytest.raises(Conflict):
        session.run("MERGE BRANCH dev INTO main")
    assert session.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    session.run("MERGE BRANCH dev INTO main ON CONFLICT theirs")
    assert session.rows("SELECT a FROM t ORDER BY a") == [(1,), (3,)]
    with pytest.raises(InvalidInput, match="ON CONFLICT"):
        session.run("MERGE BRANCH dev INTO main ON CONFLICT both")


@pytest.mark.parametrize(
    "statement",
    [
        "MERGE BRANCH dev INTO main WITH MESSAGE",
        "MERGE BRANCH dev INTO",
        "MERGE BRANCH dev INTO main ON CONFLICT DROP SOURCE",
        "MERGE BRANCH dev INTO main DROP SOURCE now",
        "CREATE BRANCH b FROM",
        "CREATE BRANCH b WITH",
        "DROP BRANCH IF EXISTS",
        "CREATE TAG t FROM",
    ],
)
def test_a_statement_that_stops_short_changes_nothing(session: Session, statement: str) -> None:
    session.run("CREATE BRANCH dev; USE dev; CREATE TABLE t AS SELECT 1 AS a; USE main")
    before = session.graph.branches(), session.commits()
    with pytest.raises(InvalidInput, match="missing after|cannot follow") as failure:
        session.run(statement)
    assert failure.value.hint
    assert (session.graph.branches(), session.commits()) == before


def test_a_session_uses_a_branch_and_a_schema(session: Session) -> None:
    session.run("CREATE BRANCH dev; CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a")
    session.run("USE SCHEMA s")
    assert session.rows("SELECT a FROM t") == [(1,)]
    session.run("USE main.s")
    assert (session.connection.catalog, session.connection.schema) == ("main", "s")
    with pytest.raises(NotFound):
        session.run("USE nowhere")
    with pytest.raises(NotFound):
        session.run("USE SCHEMA nowhere")
    assert session.connection.catalog == "main"
