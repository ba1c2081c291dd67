"""Tables, views and schemas made, changed and dropped with SQL; each statement one commit."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from omnigraph.errors import (
    AlreadyExists,
    ConstraintViolation,
    InvalidInput,
    NotFound,
    OmniGraphError,
)
from sql.writing.session import Session


def test_a_table_is_created_filled_and_dropped_in_one_commit_each(session: Session) -> None:
    before = session.commits()
    assert session.run("CREATE TABLE t (a INT, b TEXT, c DECIMAL(10, 2), d DATE)") == 0
    assert session.run("INSERT INTO t VALUES (1, 'x', 1.5, DATE '2024-02-29')") == 1
    assert session.rows("SELECT * FROM t") == [(1, "x", Decimal("1.50"), date(2024, 2, 29))]
    assert session.run("DROP TABLE t") == 0
    assert session.commits() == before + 3
    with pytest.raises(NotFound):
        session.rows("SELECT * FROM t")
    with pytest.raises(NotFound):
        session.run("DROP TABLE t")
    assert session.run("DROP TABLE IF EXISTS t CASCADE") == 0
    assert session.commits() == before + 3


def test_commits_say_who_and_what(session: Session) -> None:
    session.run("/* {'app': 'dbt'} */ CREATE TABLE t AS\n  SELECT 1 AS a")
    commit = session.graph.commits()[0]
    assert (commit.actor, commit.message) == ("ada", "CREATE TABLE t AS SELECT 1 AS a")
    assert commit.changed == ("table:public.t",)


def test_a_table_is_made_from_a_query(session: Session) -> None:
    assert session.run("CREATE TABLE t AS SELECT name, crew * 2 AS twice FROM Boat") == 3
    assert session.rows("SELECT * FROM t ORDER BY name") == [("Ada", 4), ("Bly", 6), ("Cap", None)]
    with pytest.raises(AlreadyExists):
        session.run("CREATE TABLE t AS SELECT 1 AS one")
    assert session.run("CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS one") == 0
    assert session.run("CREATE OR REPLACE TABLE t AS SELECT 7 AS one, NULL AS nothing") == 1
    assert session.rows("SELECT * FROM t") == [(7, None)]
    assert session.run("CREATE OR REPLACE TABLE t AS SELECT one + 1 AS one FROM t") == 1
    assert session.rows("SELECT * FROM t") == [(8,)]


def test_a_table_made_from_a_query_that_fails_is_not_there(session: Session) -> None:
    session.run("CREATE TABLE kept AS SELECT 1 AS a")
    before = session.commits()
    for sql in (
        "CREATE TABLE t AS SELECT CAST(name AS INT) AS n FROM Boat",
        "CREATE OR REPLACE TABLE kept AS SELECT CAST(name AS INT) AS n FROM Boat",
        "CREATE OR REPLACE TABLE kept (a INT NOT NULL) AS SELECT crew FROM Boat",
        "CREATE TABLE t AS SELECT 1 AS a, 2 AS a",
        'CREATE TABLE t AS SELECT 1 AS "a.b"',
        "CREATE TABLE t AS SELECT * FROM nowhere",
        "CREATE TABLE missing.t AS SELECT 1 AS a",
        "CREATE TABLE nodes.t AS SELECT 1 AS a",
    ):
        with pytest.raises(OmniGraphError):
            session.run(sql)
    assert session.commits() == before
    assert session.rows("SELECT * FROM kept") == [(1,)]
    assert [t.name for t in session.graph.tables()] == ["public.kept"]


def test_columns_of_a_query_are_named_and_typed_by_the_table(session: Session) -> None:
    session.run("CREATE TABLE t (a BIGINT NOT NULL, b TEXT) AS SELECT crew, name FROM Boat LIMIT 1")
    assert [f.name for f in session.graph.tables()[0].schema] == ["a", "b"]
    session.run("CREATE TABLE u (x, y) AS SELECT 1, 'z'")
    assert session.rows("SELECT x, y FROM u") == [(1, "z")]
    with pytest.raises(InvalidInput, match="3 columns are declared and the query gives 2"):
        session.run("CREATE TABLE w (a INT, b INT, c INT) AS SELECT 1, 2")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("(NULL, 'u', 1)", "NOT NULL"),
        ("(1, 'u', 1)", "two rows"),
        ("(9, 'x', 1)", "two rows"),
        ("(9, 'u', 100)", "violates the check"),
    ],
)
def test_declared_constraints_hold(session: Session, row: str, problem: str) -> None:
    session.run(
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9) UNIQUE, n INT NOT NULL,"
        " CONSTRAINT small CHECK (n < 100))"
    )
    session.run("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)")
    with pytest.raises(ConstraintViolation, match=problem):
        session.run(f"INSERT INTO t VALUES {row}")
    with pytest.raises(ConstraintViolation):
        session.run("UPDATE t SET a = 1")
    assert session.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_defaults_fill_what_is_not_said(session: Session) -> None:
    session.run("CREATE TABLE t (a INT, b TEXT DEFAULT 'none', c INT DEFAULT 40 + 2)")
    session.run("INSERT INTO t (a) VALUES (1), (2)")
    session.run("INSERT INTO t VALUES (3, DEFAULT, 0)")
    session.run("INSERT INTO t DEFAULT VALUES")
    session.run("UPDATE t SET c = DEFAULT WHERE a = 3")
    assert session.rows("SELECT * FROM t ORDER BY a") == [
        (1, "none", 42),
        (2, "none", 42),
        (3, "none", 42),
        (None, "none", 42),
    ]


def test_columns_come_go_and_change(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a, '7' AS b UNION ALL SELECT 2, '8'")
    session.run("ALTER TABLE t ADD COLUMN c TEXT, ADD COLUMN d INT DEFAULT 5")
    session.run("ALTER TABLE t RENAME COLUMN a TO id")
    session.run("ALTER TABLE t ALTER COLUMN b TYPE BIGINT")
    session.run("ALTER TABLE t ALTER COLUMN d TYPE TEXT USING 'd' || CAST(d AS TEXT)")
    assert session.rows("SELECT id, b, c, d FROM t ORDER BY id") == [
        (1, 7, None, "d5"),
        (2, 8, None, "d5"),
    ]
    session.run("ALTER TABLE t DROP COLUMN c, DROP COLUMN IF EXISTS nothing")
    session.run("ALTER TABLE t ADD COLUMN IF NOT EXISTS d INT")
    assert session.rows("SELECT * FROM t ORDER BY id") == [(1, 7, "d5"), (2, 8, "d5")]
    with pytest.raises(InvalidInput):
        session.run("ALTER TABLE t ALTER COLUMN d TYPE INT")
    with pytest.raises(ConstraintViolation):
        session.run("ALTER TABLE t ADD COLUMN e INT NOT NULL")
    session.run("ALTER TABLE t ADD PRIMARY KEY (id)")
    with pytest.raises(ConstraintViolation):
        session.run("INSERT INTO t (id) VALUES (1)")
    session.run("ALTER TABLE t RENAME COLUMN id TO key")
    with pytest.raises(ConstraintViolation):
        session.run("INSERT INTO t (key) VALUES (1)")


def test_a_table_and_a_view_are_renamed(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a")
    place = session.graph.tables()[0].pointer.location
    session.run("ALTER TABLE t RENAME TO t2")
    assert session.graph.tables()[0].pointer.location == place
    session.run("CREATE VIEW v AS SELECT a + 1 AS b FROM t2")
    session.run("ALTER VIEW v RENAME TO w")
    assert session.rows("SELECT b FROM w") == [(2,)]
    with pytest.raises(AlreadyExists):
        session.run("ALTER TABLE t2 RENAME TO w")


def test_a_table_swap_as_dbt_does_it_is_one_commit(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a")
    session.run("CREATE TABLE t__tmp AS SELECT 2 AS a")
    before = session.commits()
    session.run(
        "ALTER TABLE t RENAME TO t__backup; ALTER TABLE t__tmp RENAME TO t;"
        " DROP TABLE IF EXISTS t__backup CASCADE"
    )
    assert session.commits() == before + 1
    assert session.rows("SELECT a FROM t") == [(2,)]
    assert [t.name for t in session.graph.tables()] == ["public.t"]


def test_truncate_says_how_many_rows_went(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
    assert session.run("TRUNCATE TABLE t") == 2
    assert session.rows("SELECT count(*) FROM t") == [(0,)]
    assert session.run("TRUNCATE t") == 0


def test_a_clone_is_a_table_of_its_own(session: Session) -> None:
    session.run("CREATE TABLE t (a INT PRIMARY KEY)")
    session.run("INSERT INTO t VALUES (1)")
    version = session.graph.snapshot().version
    session.run("INSERT INTO t VALUES (2)")
    session.run("CREATE TABLE u CLONE t")
    session.run(f'CREATE TABLE w CLONE "main@v{version}".public.t')
    session.run("DELETE FROM u WHERE a = 1")
    with pytest.raises(ConstraintViolation):
        session.run("INSERT INTO u VALUES (2)")
    answers = [session.rows(f"SELECT a FROM {name} ORDER BY a") for name in ("t", "u", "w")]
    assert answers == [[(1,), (2,)], [(2,)], [(1,)]]
    session.run("CREATE TABLE x (LIKE t)")
    assert session.rows("SELECT count(*) FROM x") == [(0,)]


def test_comments_are_kept_and_shown(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
    session.run("CREATE VIEW v AS SELECT a FROM t")
    session.run("COMMENT ON TABLE t IS 'it''s a table'")
    session.run("COMMENT ON COLUMN public.t.b IS 'second'")
    session.run("COMMENT ON VIEW v IS $$a view$$")
    session.run("COMMENT ON COLUMN v.a IS 'first'")
    table = session.graph.tables()[0].declaration
    assert (table.comment, dict(table.column_comments)) == ("it's a table", {"b": "second"})
    view = session.graph.snapshot().definition("view", "public.v")
    assert view is not None
    assert (view.body["comment"], view.body["columns"][0]["comment"]) == ("a view", "first")
    assert session.rows("SELECT a FROM v") == [(1,)]


def test_views_are_stored_with_the_branch(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2")
    session.run("CREATE VIEW v (double) AS SELECT a * 2 FROM t")
    assert session.rows("SELECT double FROM v ORDER BY 1") == [(2,), (4,)]
    with pytest.raises(AlreadyExists):
        session.run("CREATE VIEW v AS SELECT 1 AS x")
    session.run("CREATE OR REPLACE VIEW v AS SELECT a * 10 AS ten FROM t WHERE a > 1")
    assert session.rows("SELECT * FROM v") == [(20,)]
    with pytest.raises(OmniGraphError):
        session.run("CREATE OR REPLACE VIEW v AS SELECT b FROM t")
    with pytest.raises(InvalidInput, match="view"):
        session.run("INSERT INTO v VALUES (1)")
    with pytest.raises(InvalidInput, match="DROP VIEW"):
        session.run("DROP TABLE v")
    with pytest.raises(AlreadyExists):
        session.run("CREATE OR REPLACE VIEW t AS SELECT 1 AS a")
    session.run("DROP VIEW v")
    with pytest.raises(NotFound):
        session.rows("SELECT * FROM v")


def test_schemas_hold_tables_until_they_are_dropped_with_them(session: Session) -> None:
    session.run("CREATE SCHEMA analytics")
    session.run("CREATE SCHEMA IF NOT EXISTS analytics")
    with pytest.raises(AlreadyExists):
        session.run("CREATE SCHEMA analytics")
    session.run("CREATE TABLE analytics.t AS SELECT 1 AS a")
    session.run("CREATE VIEW analytics.v AS SELECT a FROM analytics.t")
    with pytest.raises(InvalidInput, match="CASCADE"):
        session.run("DROP SCHEMA analytics")
    before = session.commits()
    session.run("DROP SCHEMA IF EXISTS analytics CASCADE")
    assert session.commits() == before + 1
    assert session.graph.tables() == []
    session.run("DROP SCHEMA IF EXISTS analytics CASCADE")
    with pytest.raises(NotFound):
        session.run("DROP SCHEMA analytics")
    with pytest.raises(InvalidInput):
        session.run("DROP SCHEMA nodes CASCADE")


def test_temporary_tables_end_with_their_session(session: Session) -> None:
    session.run("CREATE TEMPORARY TABLE scratch AS SELECT 1 AS a")
    session.run("CREATE TEMP VIEW seen AS SELECT a FROM scratch")
    assert session.rows("SELECT a FROM seen") == [(1,)]
    session.connection.close()
    assert session.graph.tables() == []
    assert session.graph.snapshot().definitions("view") == {}


def test_names_are_found_in_any_case_and_kept_as_written(session: Session) -> None:
    session.run('CREATE TABLE "My Table" ("Größe" INT, "select" TEXT)')
    session.run("""INSERT INTO "my table" (größe, "SELECT") VALUES (1, 'x')""")
    session.run('UPDATE "My Table" SET "Größe" = "Größe" + 1 WHERE "select" = \'x\'')
    assert session.rows('SELECT "Größe" FROM "My Table"') == [(2,)]
    session.run('ALTER TABLE "My Table" RENAME COLUMN "select" TO "from"')
    session.run('DELETE FROM "My Table" WHERE "from" = \'x\'')
    assert session.rows('SELECT count(*) FROM "My Table"') == [(0,)]
    assert session.graph.verify(rules=True).ok


def test_tables_that_spell_a_column_differently_are_compared_by_either_spelling(
    session: Session,
) -> None:
    session.run("CREATE TABLE lower AS SELECT 1 AS valid")
    session.run("CREATE TABLE upper AS SELECT 1 AS VALID")
    assert session.rows('SELECT "valid" FROM lower EXCEPT SELECT "valid" FROM upper') == []
    assert session.rows('SELECT valid FROM upper EXCEPT SELECT "VALID" FROM lower') == []


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE FUNCTION f() RETURNS INT AS 'SELECT 1'",
        "CREATE INDEX i ON t (a)",
        "GRANT SELECT ON t TO bob",
        "CREATE TABLE t ()",
        "ALTER TABLE t SET TABLESPACE x",
        "INSERT INTO t SELECT 1 RETURNING b",
    ],
)
def test_what_cannot_be_done_is_said(session: Session, sql: str) -> None:
    session.run("CREATE TABLE t (a INT)")
    before = session.commits()
    with pytest.raises(OmniGraphError):
        session.run(sql)
    assert session.commits() == before


@pytest.mark.parametrize("sql", ["VACUUM", "VACUUM t", "ANALYZE t"])
def test_upkeep_that_other_databases_ask_for_is_taken_and_changes_nothing(
    session: Session, sql: str
) -> None:
    session.run("CREATE TABLE t (a INT)")
    before = session.commits()
    assert session.run(sql) == 0
    assert session.commits() == before


def test_views_may_use_the_same_names_in_their_withs(session: Session) -> None:
    session.run("CREATE VIEW inner_view AS WITH base AS (SELECT 1 AS a) SELECT base.a FROM base")
    session.run(
        "CREATE VIEW outer_view AS WITH base AS (SELECT 1 AS a), Copy AS (SELECT * FROM Base) "
        "SELECT c.a, inner_view.a AS b FROM copy AS c JOIN inner_view ON c.a = inner_view.a"
    )
    assert session.rows(
        "WITH base AS (SELECT 1 AS a) SELECT o.a, o.b, i.a FROM outer_view o "
        "JOIN inner_view i ON o.a = i.a JOIN base ON base.a = o.a"
    ) == [(1, 1, 1)]


def test_a_view_may_count_with_a_recursive_with(session: Session) -> None:
    session.run(
        "CREATE VIEW three AS WITH RECURSIVE t(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT t.n FROM t"
    )
    assert session.rows("WITH t AS (SELECT * FROM three) SELECT sum(t.n) FROM t") == [(6,)]


def test_texts_of_times_are_read_as_postgres_reads_them(session: Session) -> None:
    assert session.rows("SELECT TIMESTAMP '2020-01-01 00:00:00-0'") == [(datetime(2020, 1, 1),)]
    assert session.rows("SELECT CAST('09/30/2023' AS DATE)") == [(date(2023, 9, 30),)]


def test_the_end_of_time_may_be_a_date_beside_times(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT TIMESTAMP '2020-01-01 00:00:00' AS a")
    end = "coalesce(nullif(a, a), date('9999-12-31'))"
    assert session.rows(f"SELECT {end} FROM t") == [(datetime(9999, 12, 31),)]
    session.run(f"UPDATE t SET a = {end}")
    assert session.rows("SELECT count(*) FROM t WHERE a = date('9999-12-31')") == [(1,)]


@pytest.mark.parametrize("schema", ["information_schema", "system"])
def test_nothing_is_made_where_the_database_describes_itself(session: Session, schema: str) -> None:
    for statement in (
        f"CREATE TABLE {schema}.mine (n INT)",
        f"CREATE TABLE {schema}.mine AS SELECT 1 AS n",
        f"CREATE VIEW {schema}.mine AS SELECT 1 AS n",
    ):
        with pytest.raises(InvalidInput, match="describes the database"):
            session.run(statement)
    with pytest.raises(InvalidInput, match="describes the database"):
        session.connection.ingest("mine", pa.table({"n": [1]}).to_reader(), schema=schema)
    found = session.rows("SELECT schema_name FROM information_schema.schemata")
    assert len(found) == len(set(found))
