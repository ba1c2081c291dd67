"""Subqueries about the row around them, of any shape and in any place, answer as in duckdb."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module

import pyarrow as pa
import pytest

from omnigraph.errors import InvalidInput
from sql.both import Both
from sql.conftest import table

TABLES: dict[str, dict[str, list[int | None]]] = {
    "t": {"a": [1, 2, None, 3, 2, 5], "b": [None, 1, 2, 3, 0, None]},
    "s": {"c": [1, None, 3, 3, 2], "d": [1, 1, None, 2, 2]},
    "n": {"c": [1, 3, 2, 1], "d": [1, 2, 0, 2]},
    "e": {"c": [], "d": []},
}

decorrelate_module = import_module("omnigraph_sql.rewrite.subqueries.decorrelate")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    found = Both(str(tmp_path_factory.mktemp("correlated") / "g.omni"), TABLES)
    yield found
    found.duckdb.close()


VALUES = [
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d = t.a ORDER BY {x}.c LIMIT 1",
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d <= t.a ORDER BY 1 DESC NULLS LAST LIMIT 1 OFFSET 1",
    "SELECT DISTINCT c AS v FROM {s} WHERE d = t.a ORDER BY v LIMIT 1",
    "SELECT count(*) FROM {s} {x} WHERE {x}.d < t.a",
    "SELECT count({x}.c) + t.a FROM {s} {x} WHERE {x}.d < t.a OR {x}.c = t.b",
    "SELECT sum({x}.c * t.a) FROM {s} {x} WHERE {x}.d <> t.a",
    "SELECT count(*) FILTER (WHERE {x}.c > t.b) FROM {s} {x}",
    "SELECT max({x}.c) FROM {s} {x} WHERE {x}.d >= t.b HAVING count(*) > 1",
    "SELECT min(v) FROM (SELECT c AS v FROM {s} WHERE d = t.a ORDER BY c LIMIT 2) z",
    "SELECT max(r) FROM (SELECT rank() OVER (ORDER BY c) AS r FROM {s} WHERE d = t.a) z",
    "SELECT max({x}.c) FROM {s} {x} WHERE {x}.d = (SELECT min(m.d) FROM n m WHERE m.c = t.a)",
    "SELECT count(*) FROM {s} {x} JOIN n m ON m.c = {x}.c AND m.d > t.a",
    "SELECT count(m.d) FROM {s} {x} LEFT JOIN n m ON m.c = {x}.c AND m.d = t.b",
    "SELECT d FROM {s} WHERE c = t.a GROUP BY d ORDER BY count(*) DESC, d LIMIT 1",
    "SELECT sum(v) FROM (SELECT c AS v FROM {s} WHERE d = t.a UNION ALL SELECT t.b) z",
    "SELECT t.a + t.b",
    "SELECT count(*) FROM {s} {x} WHERE EXISTS (SELECT 1 FROM n m WHERE m.c = {x}.c AND m.d = t.b)",
    "WITH w AS (SELECT c, d FROM {s}) SELECT max(c) FROM w WHERE d > t.a",
]
SETS = [
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d = t.b GROUP BY {x}.c",
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d = t.b GROUP BY {x}.c HAVING count(*) < 2",
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d = t.b ORDER BY {x}.c LIMIT 1",
    "SELECT max({x}.c) OVER () FROM {s} {x} WHERE {x}.d = t.b",
    "SELECT c FROM {s} WHERE d = t.b UNION SELECT d FROM n WHERE c = t.a",
    "SELECT c FROM {s} WHERE d = t.b INTERSECT SELECT c FROM n WHERE d = t.b",
    "SELECT c FROM {s} WHERE d = t.b EXCEPT SELECT c FROM n WHERE d <> t.a",
    "SELECT c FROM {s} WHERE d = t.b UNION ALL SELECT c FROM n ORDER BY c LIMIT 2",
    "SELECT {x}.c FROM {s} {x} WHERE {x}.d IN (SELECT m.d FROM n m WHERE m.c = t.a)",
    "SELECT z.v + t.a FROM (SELECT DISTINCT c AS v FROM {s} WHERE d >= t.b) z",
    "SELECT c FROM {s} WHERE d = t.b LIMIT 0",
]
PLACES = [
    "SELECT a, b, {v} FROM t",
    "SELECT *, {v} AS v FROM t WHERE b IS NOT NULL",
    "SELECT a FROM t WHERE {v} > 1",
    "SELECT a FROM t WHERE NOT ({v} = a) OR b = 0",
    "SELECT a, CASE WHEN {v} > 1 THEN 'many' WHEN {v} IS NULL THEN 'none' ELSE 'few' END FROM t",
    "SELECT count(*), sum({v}), max(coalesce({v}, -1)) FROM t",
    "SELECT a, b, {v} AS v, count(*) FROM t GROUP BY a, b",
    "SELECT a, b, count(*) FROM t GROUP BY a, b HAVING count(*) >= coalesce({v}, 0)",
    "SELECT {v} AS v, count(*) FROM t GROUP BY 1",
    "SELECT a, b FROM t ORDER BY {v}, a, b",
    "SELECT a, row_number() OVER (ORDER BY {v}, a, b) FROM t",
    "SELECT t.a, o.c, {v} FROM t JOIN n o ON o.c = t.a",
    "SELECT t.a, o.c, {v} FROM n o LEFT JOIN t ON o.c = t.a",
    "SELECT t.a, o.c, {v} FROM t RIGHT JOIN n o ON o.c = t.b WHERE o.d > 0",
    "SELECT DISTINCT {v} FROM t",
    "SELECT t.a, l.v FROM t, LATERAL (SELECT {v} AS v) l",
    "SELECT t.a, (SELECT max(i.d) FROM n i WHERE i.c = {v}) FROM t",
    "WITH w AS (SELECT a, {v} AS v FROM t) SELECT v, count(*) FROM w GROUP BY v",
]
ASKING = [
    "SELECT a, b FROM t WHERE t.a IN ({q})",
    "SELECT a, b FROM t WHERE t.a NOT IN ({q})",
    "SELECT a, b, t.a IN ({q}) AS r FROM t",
    "SELECT a, b FROM t WHERE EXISTS ({q})",
    "SELECT a, b, NOT EXISTS ({q}) AS r FROM t",
    "SELECT a, b FROM t WHERE t.a >= ANY ({q}) OR b = 3",
    "SELECT a, b FROM t WHERE t.a <> ALL ({q})",
    "SELECT count(*) FILTER (WHERE t.a IN ({q})) FROM t",
    "SELECT t.a, l.v FROM t, LATERAL ({q}) l(v)",
    "SELECT t.a, l.v FROM t LEFT JOIN LATERAL ({q}) l(v) ON true",
    "SELECT t.a, l.v FROM t LEFT JOIN LATERAL ({q}) l(v) ON l.v > 1",
    "SELECT t.a, l.v, o.d FROM t CROSS JOIN LATERAL ({q}) l(v) JOIN n o ON o.c = l.v",
    "SELECT * FROM t CROSS JOIN LATERAL ({q}) AS l(v)",
]
BOTH_SIDES = [
    "SELECT s.c FROM s WHERE s.c = o.d AND s.d >= t.b LIMIT 1",
    "SELECT s.c FROM s WHERE s.c = o.d AND s.d >= t.b ORDER BY s.c LIMIT 1",
    "SELECT s.c FROM s WHERE s.c <= o.d AND s.d >= t.b GROUP BY s.c HAVING count(*) > 0",
    "SELECT s.c FROM s WHERE s.c = o.d UNION SELECT s.d FROM s WHERE s.d <> t.b",
]
JOINING = [
    "SELECT t.a, o.c FROM t JOIN n o ON EXISTS ({q})",
    "SELECT t.a, o.c FROM t JOIN n o ON t.a = o.c AND NOT EXISTS ({q}) WHERE o.d > 0",
    "SELECT t.a, o.c FROM t JOIN n o ON t.a = o.c OR EXISTS ({q})",
    "SELECT t.a, o.c FROM t JOIN n o ON t.a IN ({q})",
    "SELECT t.a, o.c FROM t JOIN n o ON t.a NOT IN ({q}) JOIN n p ON p.c = t.a AND EXISTS ({q})",
    "SELECT t.a, (SELECT count(*) FROM n WHERE n.c < t.a + o.d) FROM t JOIN n o ON EXISTS ({q})",
    "SELECT t.a, l.v FROM t JOIN n o ON EXISTS ({q}), "
    "LATERAL (SELECT d AS v FROM n WHERE n.c <= t.a + o.c ORDER BY d LIMIT 1) l",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_value_asked_of_each_row_is_duckdbs(both: Both, place: str) -> None:
    for number, value in list(enumerate(VALUES))[PLACES.index(place) % 2 :: 2]:
        if "OVER (ORDER BY {v}" in place and "rank()" in value:
            continue  # duckdb refuses a window inside a window's definition
        both.agree(place.format(v=f"({value.format(s='sne'[number % 3], x='x')})"))


@pytest.mark.parametrize("place", ASKING)
def test_rows_asked_of_each_row_are_duckdbs(both: Both, place: str) -> None:
    for number, query in list(enumerate(SETS))[ASKING.index(place) % 2 :: 2]:
        both.agree(place.format(q=query.format(s="sne"[number % 3], x="x")))


@pytest.mark.parametrize("place", JOINING)
def test_a_join_may_ask_about_both_its_sides(both: Both, place: str) -> None:
    for query in BOTH_SIDES:
        both.agree(place.format(q=query))


def test_an_outer_join_that_asks_about_both_its_sides_is_refused(both: Both) -> None:
    for kind in ("LEFT", "SEMI", "ANTI"):
        sql = f"SELECT t.a FROM t {kind} JOIN n o ON t.a = o.c AND EXISTS ({BOTH_SIDES[0]})"
        with pytest.raises(InvalidInput, match="outer join") as failure:
            table(both.ours, sql)
        assert failure.value.hint


def test_sorted_unions_keep_their_columns_whatever_they_are_called(both: Both) -> None:
    union = "SELECT c AS {name} FROM s WHERE s.d = t.b UNION ALL SELECT t.a ORDER BY {name} LIMIT 1"
    for name in ("v", "resort", "sort 0 of domain 1"):
        query = union.format(name=f'"{name}"')
        both.agree(f"SELECT a, ({query}) AS v FROM t")


def test_a_lateral_column_of_an_outer_row_keeps_its_name(both: Both) -> None:
    both.agree("SELECT l.a, l.c FROM t, LATERAL (SELECT t.a, max(c) AS c FROM s WHERE d < t.b) l")


def test_queries_about_one_another_end(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorrelate_module, "_MAX_SELECTS", 3)
    with pytest.raises(InvalidInput, match="too many correlated subqueries") as failure:
        table(both.ours, f"SELECT a, ({VALUES[7].format(s='s', x='x')}) AS v FROM t")
    assert failure.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {v} AS v FROM (SELECT random() AS r FROM s) q",
        "SELECT {v} AS v FROM (SELECT length(uuid()) AS r FROM s) q",
        "SELECT l.v FROM (SELECT random() AS r FROM s) q, LATERAL {v} l(v)",
        "WITH q AS (SELECT random() AS r FROM s) SELECT {v} AS v FROM q",
        "WITH p AS (SELECT random() AS r FROM s), q(r) AS (SELECT r FROM p) SELECT {v} FROM q",
        "SELECT {v} AS v FROM (SELECT c AS r FROM s LIMIT 2) q",
        "SELECT {v} AS v FROM (SELECT row_number() OVER () AS r FROM s) q",
        "SELECT {v} AS v FROM (SELECT 1 AS r) q LEFT JOIN n ON random() < 0.5",
    ],
)
def test_rows_that_are_others_when_read_again_are_not_asked_about(both: Both, sql: str) -> None:
    with pytest.raises(InvalidInput, match="non-deterministic source") as failure:
        table(both.ours, sql.format(v="(SELECT count(*) FROM s WHERE s.c < q.r + 1)"))
    assert failure.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, {v} AS v FROM t WHERE random() < 2",
        "SELECT a, {v} AS v FROM t JOIN n ON n.c = t.a AND random() < 2",
        "SELECT a, {v} AS v FROM t CROSS JOIN (SELECT random() AS r) q WHERE q.r < 2",
        "SELECT a, {v} AS v FROM (SELECT a FROM t ORDER BY a LIMIT 4) t",
    ],
)
def test_chance_elsewhere_changes_no_answer(both: Both, sql: str) -> None:
    both.agree(sql.format(v="(SELECT count(*) FROM s WHERE s.c < t.a)"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM s WHERE s.d = t.b",
        "SELECT max(c) FROM s WHERE s.d = t.b",
        "SELECT max(c) FROM s WHERE s.d > t.b",
        "SELECT max(c) FROM s WHERE s.d = t.b HAVING max(c) > 1",
        "SELECT max(c) FROM s WHERE s.d = t.b LIMIT 0",
        "SELECT max(c) FROM s WHERE s.d = t.b OFFSET 1",
        "SELECT 1 FROM s WHERE s.d < t.b",
        "SELECT 1 FROM s WHERE t.b = 1",
        "SELECT 1 FROM n WHERE n.c < t.a AND EXISTS (SELECT 1 FROM s WHERE s.d > n.d)",
    ],
)
def test_whether_there_is_a_row_may_be_asked_anywhere(both: Both, query: str) -> None:
    for place in (
        "SELECT a, b, EXISTS ({q}) FROM t",
        "SELECT t.a, NOT EXISTS ({q}) AS v FROM t JOIN s o ON t.a = o.c",
        "SELECT a, b FROM t WHERE EXISTS ({q})",
        "SELECT a, b FROM t WHERE NOT EXISTS ({q})",
        "SELECT a, b FROM t WHERE EXISTS ({q}) OR a = 3",
        "SELECT a, b FROM t WHERE NOT (EXISTS ({q}) AND a > 1)",
        "SELECT a, count(*) FROM t GROUP BY a, b HAVING EXISTS ({q})",
        "SELECT count(*) FILTER (WHERE EXISTS ({q})) FROM t",
        "SELECT a, n FROM (SELECT a, b, count(*) AS n FROM t GROUP BY a, b) t WHERE EXISTS ({q})",
    ):
        both.agree(place.format(q=query))


@pytest.mark.parametrize("query", ["SELECT max(c)", "SELECT count(c)", "SELECT count(*) + t.a"])
def test_one_value_may_be_asked_as_a_set(both: Both, query: str) -> None:
    for place in ("t.a IN ({q})", "t.a NOT IN ({q})", "t.a >= ANY ({q})", "t.a < ALL ({q})"):
        for about in ("s.d >= t.b", "s.d = t.b"):
            asked = place.format(q=f"{query} FROM s WHERE {about}")
            both.agree(f"SELECT a, b, {asked} AS v FROM t")
            both.agree(f"SELECT a, b FROM t WHERE {asked}")


def test_a_count_of_pairs_is_0_where_there_are_none(both: Both) -> None:
    sql = "SELECT a, (SELECT regr_count(c, d) FROM s WHERE s.d {} t.a) AS v FROM t"
    both.agree(sql.format(">"))
    both.agree(sql.format("="))
    assert table(both.ours, sql.format(">")).schema.field("v").type == pa.int64()
    both.agree("SELECT c, regr_count(c, d) OVER (PARTITION BY d) AS v FROM s")
    both.agree("SELECT regr_count(c, d) FILTER (WHERE c > 1) AS v FROM s")


def test_random_questions_about_each_row_are_answered_as_in_duckdb(both: Both) -> None:
    dice = random.Random(20261117)
    for _ in range(40):
        value = f"({dice.choice(VALUES).format(s=dice.choice('sne'), x='x')})"
        other = f"({dice.choice(VALUES).format(s=dice.choice('sn'), x='y')})"
        query = dice.choice(SETS).format(s=dice.choice("sne"), x="z")
        both.agree(
            dice.choice(
                [
                    f"SELECT a, b, {value} AS v, {other} AS w FROM t WHERE t.a IN ({query})",
                    f"SELECT a, b, {value} AS v FROM t WHERE EXISTS ({query}) OR {other} > 1",
                    f"SELECT a, {value} + coalesce({other}, 0) AS v FROM t",
                    f"SELECT t.a, l.v, {other} AS w FROM t, LATERAL ({query}) l(v)",
                    f"SELECT t.a, l.v, m.w FROM t, LATERAL ({query}) l(v), "
                    f"LATERAL (SELECT count(*) AS w FROM n WHERE n.c >= l.v AND n.d <> t.a) m",
                ]
            )
        )


def test_several_rows_for_one_value_are_refused(both: Both) -> None:
    sql = "SELECT a, (SELECT c FROM s WHERE d = t.a) FROM t WHERE a = {}"
    with pytest.raises(InvalidInput, match="several rows") as failure:
        table(both.ours, sql.format(2))
    assert failure.value.hint
    both.agree(sql.format(3))


def test_limits_may_be_parameters(both: Both) -> None:
    sql = (
        "SELECT t.a, l.c FROM t, LATERAL "
        "(SELECT c FROM n WHERE d <= t.a ORDER BY c, d LIMIT ? OFFSET ?) l"
    )
    found = table(both.ours, sql, [1, 1]).to_pylist()
    assert sorted((row["a"], row["c"]) for row in found) == [(1, 2), (2, 1), (2, 1), (3, 1), (5, 1)]


def test_a_parameter_beside_the_row_has_its_type(both: Both) -> None:
    sql = "SELECT a, (SELECT c FROM n WHERE d = t.a + ? ORDER BY c LIMIT 1) AS v FROM t WHERE a = 1"
    assert table(both.ours, sql, [1]).to_pylist() == [{"a": 1, "v": 1}]


def test_changes_may_ask_about_each_row(both: Both) -> None:
    both.ours.execute("CREATE TABLE changed AS SELECT a, b FROM t")
    latest = "(SELECT c FROM n WHERE d <= changed.a ORDER BY c DESC LIMIT 1)"
    both.ours.execute(f"UPDATE changed SET b = {latest} WHERE a IS NOT NULL")
    both.ours.execute(
        "DELETE FROM changed WHERE 1 < (SELECT count(*) FROM n WHERE n.c < changed.a)"
    )
    found = table(both.ours, "SELECT a, b FROM changed").to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, [{"a": 1, "b": 2}, {"a": None, "b": 2}]))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE a = (SELECT max(c) FROM n WHERE n.d <= t.b)",
        "SELECT a, b FROM t WHERE b = (SELECT c FROM s WHERE s.d = t.a ORDER BY c LIMIT 1)",
        "SELECT t.a, s.c FROM t LEFT JOIN s ON t.a IS NOT DISTINCT FROM s.c WHERE t.b = s.d",
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE c IS NOT DISTINCT FROM a AND d = b)",
        "SELECT a FROM t WHERE b NOT IN (SELECT d FROM s WHERE c IS NOT DISTINCT FROM a)",
    ],
)
def test_an_unknown_answer_equals_nothing(both: Both, sql: str) -> None:
    both.agree(sql)


@pytest.mark.parametrize(
    "value",
    [
        "WITH w AS (SELECT c FROM s WHERE d = t.a) SELECT max(c) FROM w",
        "WITH w(x) AS (SELECT c FROM s WHERE d = t.a) SELECT x FROM w ORDER BY x LIMIT 1",
        "WITH w AS (SELECT c FROM s WHERE d <= t.a), v AS (SELECT c FROM w WHERE c > t.b) "
        "SELECT count(*) FROM v, w",
    ],
)
def test_a_with_inside_may_be_about_the_row(both: Both, value: str) -> None:
    both.agree(f"SELECT a, b, ({value}) AS v FROM t")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, (SELECT sum(c) FROM s WHERE d = t.a GROUP BY ROLLUP (c) LIMIT 1) FROM t",
        "SELECT a, (SELECT DISTINCT ON (d) c FROM s WHERE d <= t.a ORDER BY d, c LIMIT 1) FROM t",
        "SELECT t.a FROM t FULL JOIN n ON n.c = (SELECT max(d) FROM s WHERE s.c = t.a)",
        "SELECT a, (SELECT c, d FROM s WHERE d = t.a LIMIT 1) FROM t",
    ],
)
def test_what_is_still_refused_says_what_to_do(both: Both, sql: str) -> None:
    with pytest.raises(InvalidInput, match="subquery") as failure:
        table(both.ours, sql)
    assert failure.value.hint
