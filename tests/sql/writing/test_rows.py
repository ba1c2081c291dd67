"""Rows added, changed, removed and merged with SQL: counts are exact, nothing else changes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.errors import InvalidInput, NotFound, OmniGraphError
from sql.writing.session import Session


@pytest.fixture
def shop(session: Session) -> Session:
    session.run("CREATE TABLE t (id INT, v TEXT, n INT)")
    session.run("INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', NULL), (4, 'd', 40)")
    session.run("CREATE TABLE s (id INT, v TEXT)")
    session.run("INSERT INTO s VALUES (2, 'B'), (3, 'C'), (9, 'Z')")
    return session


def ids(session: Session) -> list[Any]:
    return [row[0] for row in session.rows("SELECT id FROM t ORDER BY id")]


# --------------------------------------------------------------------------- INSERT


def test_values_and_queries_are_inserted_by_column(shop: Session) -> None:
    assert shop.run("INSERT INTO t (n, id) VALUES (50, 5), (60, 6)") == 2
    assert shop.run("INSERT INTO t (id, v) SELECT id, v FROM s WHERE id > 5") == 1
    assert shop.run("WITH x AS (SELECT 7 AS id) INSERT INTO t (id) SELECT id FROM x") == 1
    assert shop.run("INSERT INTO t SELECT * FROM t WHERE id = 1") == 1
    assert ids(shop) == [1, 1, 2, 3, 4, 5, 6, 7, 9]
    assert shop.rows("SELECT v, n FROM t WHERE id = 5") == [(None, 50)]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t (id, nope) VALUES (1, 2)",
        "INSERT INTO t (id, id) VALUES (1, 2)",
        "INSERT INTO t (id) VALUES (1, 2)",
        "INSERT INTO t VALUES (1, 'x', 2, 3)",
        "INSERT INTO t (id) VALUES ('many')",
        "INSERT INTO t (id) SELECT id FROM nowhere",
        "INSERT INTO nowhere VALUES (1)",
    ],
)
def test_what_does_not_fit_is_refused_whole(shop: Session, sql: str) -> None:
    with pytest.raises(OmniGraphError):
        shop.run(sql)
    assert ids(shop) == [1, 2, 3, 4]


def test_values_are_judged_by_themselves_and_not_by_their_type(session: Session) -> None:
    session.run("CREATE TABLE t (d DECIMAL(4, 2), i INT, f DOUBLE, s TEXT, day DATE)")
    session.run("INSERT INTO t VALUES (1, 2.0, 3, 4, '2024-02-29'), (1.239, 7, 0.1, 'x', NULL)")
    assert session.rows("SELECT d, i, f, s FROM t ORDER BY i") == [
        (Decimal("1.00"), 2, 3.0, "4"),
        (Decimal("1.24"), 7, 0.1, "x"),
    ]
    for row in ("(100, 0, 0, '', NULL)", "(1, 1.5, 0, '', NULL)", "(1, 1, 0, '', '2024-02-30')"):
        with pytest.raises(InvalidInput):
            session.run(f"INSERT INTO t VALUES {row}")


def test_what_was_to_be_inserted_has_the_types_of_the_columns(session: Session) -> None:
    session.run("CREATE TABLE kv (k TEXT PRIMARY KEY, n BIGINT, m TEXT)")
    values = "INSERT INTO kv (k, n) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET n = excluded.n + ?"
    assert session.run(values, ["a", 1, 10]) == 1
    assert session.run(values, ["a", 2, 10]) == 1
    assert session.rows("SELECT * FROM kv") == [("a", 12, None)]
    query = (
        "INSERT INTO kv (k, n) SELECT $1, $2 ON CONFLICT (k) DO UPDATE SET n = kv.n + excluded.n"
    )
    assert session.run(query, ["a", 5]) == 1
    assert session.run(query + ", m = $3 WHERE kv.n > $4", ["a", 5, "x", 0]) == 1
    assert session.rows("SELECT * FROM kv") == [("a", 22, "x")]
    merged = (
        "MERGE INTO kv USING (VALUES (?, ?), (?, ?)) s(k, n) ON kv.k = s.k "
        "WHEN MATCHED AND s.n > ? THEN UPDATE SET n = s.n + ? "
        "WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, s.n + ?)"
    )
    assert session.run(merged, ["a", 3, "b", 4, 1, 100, 1000]) == 2
    assert session.rows("SELECT k, n FROM kv ORDER BY k") == [("a", 103), ("b", 1004)]


def test_conflicts_are_left_alone_or_update(session: Session) -> None:
    session.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    session.run("INSERT INTO t VALUES (1, 'a')")
    assert session.run("INSERT INTO t VALUES (1, 'x'), (2, 'b') ON CONFLICT DO NOTHING") == 1
    assert session.run("INSERT INTO t VALUES (3, 'c'), (3, 'd') ON CONFLICT (id) DO NOTHING") == 1
    changed = session.run(
        "INSERT INTO t AS old VALUES (1, 'y'), (4, 'e') ON CONFLICT (id)"
        " DO UPDATE SET v = old.v || EXCLUDED.v"
    )
    assert changed == 2
    assert session.rows("SELECT * FROM t ORDER BY id") == [
        (1, "ay"),
        (2, "b"),
        (3, "c"),
        (4, "e"),
    ]
    filtered = "ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v WHERE t.id > 1"
    assert session.run(f"INSERT INTO t VALUES (1, 'no'), (2, 'yes') {filtered}") == 1
    assert session.rows("SELECT v FROM t WHERE id < 3 ORDER BY id") == [("ay",), ("yes",)]
    with pytest.raises(InvalidInput, match="several rows"):
        session.run(
            "INSERT INTO t VALUES (1, 'p'), (1, 'q') ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v"
        )


# --------------------------------------------------------------------------- DELETE


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("DELETE FROM t", []),
        ("DELETE FROM t WHERE id = 2", [1, 3, 4]),
        ("DELETE FROM t WHERE n IS NULL", [1, 2, 4]),
        ("DELETE FROM t WHERE id IN (SELECT id FROM s)", [1, 4]),
        ("DELETE FROM t WHERE id NOT IN (SELECT id FROM s)", [2, 3]),
        ("DELETE FROM public.t AS x WHERE x.id > (SELECT min(id) FROM s)", [1, 2]),
        (
            "DELETE FROM t DBT_INTERNAL_DEST WHERE EXISTS (SELECT 1 FROM s"
            " WHERE s.id = DBT_INTERNAL_DEST.id)",
            [1, 4],
        ),
        ("DELETE FROM t USING s WHERE t.id = s.id AND s.v = 'B'", [1, 3, 4]),
        ("DELETE FROM t USING s, s AS s2 WHERE t.id = s.id AND s2.id = 9", [1, 4]),
        ("DELETE FROM main.public.t WHERE t.id IN (SELECT t.id FROM t WHERE n > 10)", [1, 3]),
        (
            "WITH gone AS (SELECT 1 AS id) DELETE FROM t WHERE id IN (SELECT id FROM gone)",
            [2, 3, 4],
        ),
        ("DELETE FROM t WHERE false", [1, 2, 3, 4]),
    ],
)
def test_deletes_take_what_matches_and_count_it(shop: Session, sql: str, left: list[int]) -> None:
    before = shop.commits()
    assert shop.run(sql) == 4 - len(left)
    assert ids(shop) == left
    assert shop.commits() == before + (len(left) < 4)


# --------------------------------------------------------------------------- UPDATE


@pytest.mark.parametrize(
    ("sql", "changed", "values"),
    [
        ("UPDATE t SET n = 0", 4, [0, 0, 0, 0]),
        ("UPDATE t SET n = n + 1 WHERE id < 3", 2, [11, 21, None, 40]),
        ("UPDATE t SET n = id, v = 'z' WHERE n IS NULL", 1, [10, 20, 3, 40]),
        ("UPDATE t AS x SET n = s.id * 100 FROM s WHERE s.id = x.id", 2, [10, 200, 300, 40]),
        ("UPDATE t SET n = 5 FROM s, s AS s2 WHERE t.id = 2", 1, [10, 5, None, 40]),
        (
            "UPDATE t SET n = (SELECT max(id) FROM s) WHERE id IN (SELECT id FROM s)",
            2,
            [10, 9, 9, 40],
        ),
        ("UPDATE t SET (n, v) = (7, 'q') WHERE id = 1", 1, [7, 20, None, 40]),
        ("UPDATE t SET n = NULL WHERE id = 4", 1, [10, 20, None, None]),
        ("UPDATE t SET n = 1 WHERE id = 77", 0, [10, 20, None, 40]),
    ],
)
def test_updates_change_what_matches_and_count_it(
    shop: Session, sql: str, changed: int, values: list[Any]
) -> None:
    assert shop.run(sql) == changed
    assert [row[0] for row in shop.rows("SELECT n FROM t ORDER BY id")] == values
    assert len(ids(shop)) == 4


@pytest.mark.parametrize(
    "sql", ["UPDATE t SET nope = 1", "UPDATE t SET n = 'x'", "UPDATE t SET n = 1, n = 2"]
)
def test_updates_that_do_not_fit_change_nothing(shop: Session, sql: str) -> None:
    with pytest.raises(OmniGraphError):
        shop.run(sql)
    assert shop.rows("SELECT sum(n) FROM t") == [(70,)]


# --------------------------------------------------------------------------- MERGE


def test_a_merge_with_every_clause(shop: Session) -> None:
    changed = shop.run(
        "MERGE INTO t AS t USING (SELECT id, v FROM s) AS s ON t.id = s.id"
        " WHEN MATCHED AND s.v = 'B' THEN UPDATE SET v = s.v, n = t.n + 1"
        " WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED AND s.id > 5 THEN INSERT (id, v) VALUES (s.id, lower(s.v))"
        " WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET v = 'alone'"
        " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert changed == 5
    assert shop.rows("SELECT * FROM t ORDER BY id") == [
        (1, "alone", 10),
        (2, "B", 21),
        (9, "z", None),
    ]
    assert shop.graph.tables()[1].pointer.version == 3


def test_a_merge_by_a_key_as_dbt_sends_it(shop: Session) -> None:
    changed = shop.run(
        'MERGE INTO "main"."public"."t" AS DBT_INTERNAL_DEST USING "main"."public"."s"'
        " AS DBT_INTERNAL_SOURCE ON (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id)"
        " WHEN MATCHED THEN UPDATE SET v = DBT_INTERNAL_SOURCE.v"
        ' WHEN NOT MATCHED THEN INSERT ("id", "v") VALUES'
        " (DBT_INTERNAL_SOURCE.id, DBT_INTERNAL_SOURCE.v)"
    )
    assert changed == 3
    assert shop.rows("SELECT id, v FROM t ORDER BY id") == [
        (1, "a"),
        (2, "B"),
        (3, "C"),
        (4, "d"),
        (9, "Z"),
    ]


def test_an_inserting_clause_of_a_merge_sees_the_source_alone(shop: Session) -> None:
    merged = (
        "MERGE INTO t USING s ON t.id = s.id"
        ' WHEN NOT MATCHED AND v = \'Z\' THEN INSERT (id, "v") VALUES (ID, lower("v"))'
    )
    assert shop.run(merged) == 1
    assert shop.rows("SELECT v FROM t WHERE id = 9") == [("z",)]


def test_a_merge_of_all_columns(shop: Session) -> None:
    assert (
        shop.run(
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT *"
        )
        == 3
    )
    assert shop.rows("SELECT v FROM t WHERE id IN (2, 9) ORDER BY id") == [("B",), ("Z",)]


def test_a_target_row_that_matches_twice_is_refused(shop: Session) -> None:
    shop.run("INSERT INTO s VALUES (2, 'again')")
    with pytest.raises(InvalidInput, match="several rows"):
        shop.run("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v")
    assert shop.rows("SELECT v FROM t WHERE id = 2") == [("b",)]
    assert shop.run("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DO NOTHING") == 0


def test_nulls_never_match(session: Session) -> None:
    session.run("CREATE TABLE t AS SELECT CAST(NULL AS INT) AS id, 'old' AS v")
    session.run("CREATE TABLE s AS SELECT CAST(NULL AS INT) AS id, 'new' AS v")
    merged = session.run(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)"
    )
    assert merged == 1
    assert session.rows("SELECT v FROM t ORDER BY v") == [("new",), ("old",)]


# --------------------------------------------------------------------------- parameters


def test_parameters_are_values_wherever_they_stand(shop: Session) -> None:
    assert shop.run("INSERT INTO t VALUES (?, ?, ?)", [5, "o'x; DROP TABLE t", None]) == 1
    assert shop.rows("SELECT v FROM t WHERE id = $1", [5]) == [("o'x; DROP TABLE t",)]
    assert shop.run("UPDATE t SET n = :new WHERE v = :old", {"new": 7, "old": "a"}) == 1
    assert shop.run("DELETE FROM t WHERE id IN (?, ?)", [5, 1]) == 2
    merged = (
        "MERGE INTO t USING (SELECT ? AS id) AS s ON t.id = s.id AND t.n > ?"
        " WHEN MATCHED AND t.v = ? THEN UPDATE SET n = ?"
        " WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, ?)"
    )
    assert shop.run(merged, [2, 1, "b", 22, 0]) == 1
    assert shop.run(merged, [8, 1, "b", 22, 80]) == 1
    assert shop.rows("SELECT id, n FROM t ORDER BY id") == [(2, 22), (3, None), (4, 40), (8, 80)]


def test_many_rows_of_parameters_are_one_commit(shop: Session) -> None:
    before = shop.commits()
    batch = pa.record_batch({"1": list(range(100, 1100)), "2": ["x"] * 1000})
    assert shop.run("INSERT INTO t (id, v) VALUES (?, ?)", batch) == 1000
    assert shop.commits() == before + 1
    gone = pa.record_batch({"1": [100, 101, 55]})
    assert shop.run("DELETE FROM t WHERE id = ?", gone) == 2
    assert shop.commits() == before + 2
    assert shop.rows("SELECT count(*) FROM t") == [(1002,)]


def test_another_branch_is_written_by_its_name(shop: Session) -> None:
    shop.run('CREATE BRANCH "dev/1"')
    shop.run('INSERT INTO "dev/1".public.t (id) SELECT id + 100 FROM main.public.t')
    assert shop.rows('SELECT count(*) FROM "dev/1".public.t') == [(8,)]
    assert ids(shop) == [1, 2, 3, 4]
    with pytest.raises(InvalidInput, match="read-only moment"):
        shop.run('DELETE FROM "main@v2".nodes."Boat"')
    with pytest.raises(NotFound):
        shop.run("DELETE FROM nowhere.public.t")


def test_a_merge_inserts_what_the_table_declares(session: Session) -> None:
    session.run("CREATE TABLE d (id INT PRIMARY KEY, v TEXT DEFAULT 'x', n INT DEFAULT 7)")
    merge = "MERGE INTO d USING (SELECT {} AS id) s ON s.id = d.id WHEN NOT MATCHED THEN INSERT "
    assert session.run(merge.format(1) + "(id) VALUES (s.id)") == 1
    assert session.run(merge.format(2) + "(id, v, n) VALUES (s.id, NULL, DEFAULT)") == 1
    assert session.rows("SELECT * FROM d ORDER BY id") == [(1, "x", 7), (2, None, 7)]


def test_decimals_are_rounded_away_from_zero(session: Session) -> None:
    session.run("CREATE TABLE d (a DECIMAL(10, 2))")
    session.run("INSERT INTO d VALUES (1.005), (-1.005), (2.665)")
    found = [row[0] for row in session.rows("SELECT a FROM d ORDER BY a")]
    assert found == [Decimal("-1.01"), Decimal("1.01"), Decimal("2.67")]
