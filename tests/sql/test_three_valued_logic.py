"""Conditions over nulls and subqueries, in every place of a statement, answer as duckdb does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import InvalidInput
from sql.both import Both
from sql.conftest import table

TABLES: dict[str, dict[str, list[int | None]]] = {
    "t": {"a": [1, 2, None, 3, 2, 5], "b": [None, 1, 2, 3, 0, None]},
    "s": {"c": [1, None, 3], "d": [1, 1, None]},
    "n": {"c": [1, 3, 2], "d": [1, 2, 0]},
    "e": {"c": [], "d": []},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    found = Both(str(tmp_path_factory.mktemp("three") / "valued.omni"), TABLES)
    yield found
    found.duckdb.close()


PREDICATES = [
    "a IN (SELECT c FROM {s})",
    "a NOT IN (SELECT c FROM {s})",
    "a IN (SELECT c FROM {s} WHERE d = b)",
    "a NOT IN (SELECT c FROM {s} WHERE d = b)",
    "a NOT IN (SELECT c FROM {s} WHERE d < b)",
    "(a, b) IN (SELECT c, d FROM {s})",
    "(a, b) NOT IN (SELECT c, d FROM {s})",
    "a = ANY (SELECT c FROM {s})",
    "a <> ALL (SELECT c FROM {s})",
    "a < ALL (SELECT c FROM {s} WHERE d = b)",
    "b >= ANY (SELECT d FROM {s})",
    "a IN (SELECT max(c) FROM {s} WHERE d = b)",
    "a NOT IN (SELECT c FROM {s} WHERE d = b UNION SELECT d FROM n WHERE c = b)",
    "a IN (SELECT c FROM {s} ORDER BY c LIMIT 1)",
    "EXISTS (SELECT 1 FROM {s} WHERE c = a)",
    "EXISTS (SELECT 1 FROM {s} WHERE c > a)",
    "NOT EXISTS (SELECT 1 FROM {s})",
    "a + 1 IN (SELECT c FROM {s})",
    "2 NOT IN (SELECT c FROM {s})",
]
PLACES = [
    "SELECT a, b FROM t WHERE {p}",
    "SELECT a, b FROM t WHERE NOT ({p})",
    "SELECT a, b FROM t WHERE {p} OR b = 3",
    "SELECT a, b FROM t WHERE NOT ({p} AND b = 1)",
    "SELECT a, b FROM t WHERE ({p}) IS NULL",
    "SELECT a, b FROM t WHERE ({p}) IS NOT TRUE AND a IS DISTINCT FROM 3 AND b < 3",
    "SELECT a, b FROM t WHERE coalesce({p}, b = 2)",
    "SELECT *, {p} AS r FROM t",
    "SELECT a, CASE WHEN {p} THEN 'yes' WHEN NOT ({p}) THEN 'no' END FROM t",
    "SELECT count(*) FILTER (WHERE {p}), sum(CASE WHEN {p} THEN 1 ELSE 10 END) FROM t",
    "SELECT {p} AS r, count(*) FROM t GROUP BY 1",
    "SELECT a, b, count(*), {p} FROM t GROUP BY a, b",
    "SELECT a, b FROM t GROUP BY a, b HAVING {p}",
    "SELECT t.a, n.d AS e FROM t JOIN n ON n.c = t.a AND ({p})",
    "SELECT a, row_number() OVER (ORDER BY {p}, a, b) FROM t",
    "WITH w AS (SELECT a, {p} AS r FROM t) SELECT r, max(a) FROM w GROUP BY r",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_subquery_with_nulls_answers_in_every_place_as_in_duckdb(both: Both, place: str) -> None:
    for number, predicate in enumerate(PREDICATES):
        if " JOIN " in place:
            predicate = predicate.replace("d = b", "d = t.b").replace("= a)", "= t.a)")
        for source in ("s", "n", "e") if number < 2 else ("sne"[number % 3],):
            both.agree(place.format(p=predicate.format(s=source)))


def test_random_conditions_answer_as_in_duckdb(both: Both) -> None:
    dice = random.Random(20240501)
    for _ in range(80):
        place = dice.choice([p for p in PLACES if " JOIN " not in p and "HAVING" not in p])
        both.agree(place.format(p=f"({_condition(dice, 3)})"))


def _condition(dice: random.Random, depth: int) -> str:
    def inner() -> str:
        return _condition(dice, depth - 1)

    leaves: list[Callable[[], str]] = [
        lambda: dice.choice(PREDICATES).format(s=dice.choice("sne")),
        lambda: f"{dice.choice('ab')} {dice.choice(['=', '<', '>=', '<>'])} {dice.randrange(4)}",
        lambda: f"{dice.choice('ab')} IS {dice.choice(['', 'NOT '])}NULL",
        lambda: f"a IS {dice.choice(['', 'NOT '])}DISTINCT FROM b",
        lambda: f"a {dice.choice(['', 'NOT '])}IN (1, NULL, 2)",
        lambda: f"a {dice.choice(['', 'NOT '])}BETWEEN b AND 3",
    ]
    nested: list[Callable[[], str]] = [
        lambda: f"({inner()}) AND ({inner()})",
        lambda: f"({inner()}) OR ({inner()})",
        lambda: f"NOT ({inner()})",
        lambda: f"({inner()}) IS {dice.choice(['NULL', 'NOT NULL', 'TRUE', 'NOT FALSE'])}",
        lambda: f"CASE WHEN {inner()} THEN {inner()} ELSE {inner()} END",
        lambda: f"coalesce({inner()}, {inner()})",
        lambda: f"({inner()}) = ({inner()})",
        lambda: f"{inner()} AND {inner()} OR NOT {inner()}",
    ]
    return dice.choice(nested if depth and dice.random() < 0.7 else leaves)()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.a, n.c FROM t LEFT JOIN n ON n.c = t.a AND t.b IN (SELECT c FROM s)",
        "SELECT t.a, n.c FROM t LEFT JOIN n ON n.c = t.a AND n.d NOT IN (SELECT d FROM s)",
        "SELECT max(a) IN (SELECT c FROM s), min(b) NOT IN (SELECT c FROM s) AS x FROM t",
        "SELECT a + 1 AS k, count(*), (a + 1) IN (SELECT c FROM s) FROM t GROUP BY k",
        "SELECT a FROM t AS o WHERE a NOT IN (SELECT a FROM t WHERE t.b < o.b)",
        "SELECT a FROM t WHERE a IN (SELECT a FROM t WHERE b > 1) OR b = 0",
    ],
)
def test_outer_joins_aggregates_and_one_table_twice(both: Both, sql: str) -> None:
    both.agree(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.a FROM t JOIN n o ON t.a = o.c "
        "WHERE t.a NOT IN (SELECT b FROM t WHERE t.a = o.c AND b IS NOT NULL)",
        "SELECT t.a, t.b FROM t JOIN n o ON t.a >= o.c "
        "WHERE t.a < ALL (SELECT t.b FROM t WHERE t.a = o.d)",
        "SELECT t.a, t.a NOT IN (SELECT t.b FROM t WHERE t.a = o.d AND "
        "EXISTS (SELECT 1 FROM s WHERE s.c = t.a)) AS r FROM t, n o",
        "SELECT t.a FROM t, n o WHERE t.a IN (SELECT b FROM t WHERE t.a = o.d)",
        "SELECT t.a FROM t JOIN n o ON t.a >= o.c WHERE t.a NOT IN "
        "(SELECT t.b FROM n JOIN t ON t.a = n.c WHERE n.d = o.d)",
    ],
)
def test_an_alias_of_the_subquery_does_not_capture_what_is_compared(both: Both, sql: str) -> None:
    both.agree(sql)


@pytest.mark.parametrize("place", PLACES[:8])
@pytest.mark.parametrize(
    "predicate",
    [
        "b {} (SELECT max(c) FROM s WHERE d = a HAVING count(*) > 100)",
        "b {} (SELECT max(c) FROM s WHERE d = a HAVING count(*) = 0)",
        "b {} (SELECT max(c) + 1 FROM s WHERE d = a HAVING min(c) < 3)",
    ],
)
def test_an_aggregate_with_having_may_have_no_row(both: Both, place: str, predicate: str) -> None:
    for asks in ("IN", "NOT IN", "< ALL", ">= ANY"):
        both.agree(place.format(p=predicate.format(asks)))


@pytest.mark.parametrize(
    "predicate",
    [
        "a IN (SELECT * FROM (SELECT c FROM s) z WHERE z.c = b)",
        "a NOT IN (SELECT * FROM (SELECT c FROM s) z WHERE coalesce(z.c, 1) >= b)",
        "a NOT IN (WITH w AS (SELECT c FROM s) SELECT c FROM w WHERE coalesce(c, 1) >= b)",
        "a IN (WITH w AS (SELECT c FROM s) SELECT c FROM w WHERE w.c >= b)",
        "a NOT IN (SELECT * FROM (SELECT c FROM n) z WHERE z.c >= b)",
        "a NOT IN (WITH w AS (SELECT c FROM n) SELECT c FROM w WHERE w.c >= b)",
        "a IN (SELECT max(c) OVER () FROM s WHERE d = b)",
        "a NOT IN (SELECT max(c) OVER () FROM s WHERE d = b)",
        "a IN (SELECT c FROM n WHERE d = b UNION ALL SELECT c FROM n WHERE d = b LIMIT 0)",
        "a NOT IN (SELECT c FROM n WHERE d = b UNION ALL SELECT c FROM n WHERE d = b LIMIT 0)",
        "a NOT IN (SELECT c FROM n WHERE d = b GROUP BY c)",
    ],
)
def test_a_query_of_many_rows_is_no_single_value(both: Both, predicate: str) -> None:
    both.agree(f"SELECT a, b FROM t WHERE {predicate}")


def test_staff_without_reports_is_found_by_an_alias_used_twice(tmp_path: Path) -> None:
    session = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g.omni"), "node U { k: I32? }"))
    session.execute(
        "CREATE TABLE e AS SELECT * FROM (VALUES (1, NULL, 1), (2, 1, 1), (3, 2, 1)) "
        "AS v(id, boss, dept)"
    )
    session.execute("CREATE TABLE dp AS SELECT 1 AS dept")
    sql = (
        "SELECT e.id FROM e JOIN dp d ON e.dept = d.dept WHERE e.id NOT IN "
        "(SELECT boss FROM e WHERE e.dept = d.dept AND boss IS NOT NULL)"
    )
    assert table(session, sql).column(0).to_pylist() == [3]


def test_an_outer_join_that_asks_about_both_sides_says_what_to_write(both: Both) -> None:
    sql = "SELECT t.a FROM t LEFT JOIN n ON n.c + t.b IN (SELECT c FROM s)"
    with pytest.raises(InvalidInput, match="outer join") as failure:
        both.ours.execute(sql)
    assert failure.value.hint


def test_a_column_that_asks_is_called_as_any_other(both: Both) -> None:
    sql = "SELECT a IN (SELECT c FROM s), EXISTS (SELECT 1 FROM s WHERE c = a), b > ALL (SELECT 1) "
    assert table(both.ours, sql + "FROM t").schema.names == ["?column?", "exists", "?column?"]


def test_group_by_all_groups_by_what_asks(both: Both) -> None:
    both.agree("SELECT a IN (SELECT c FROM s) AS r, count(*) FROM t GROUP BY ALL")
    both.agree("SELECT a, b IN (SELECT c FROM s) AS r, max(b) FROM t GROUP BY ALL")
    both.agree("SELECT a, max(b) IN (SELECT c FROM s) AS r FROM t GROUP BY ALL")
