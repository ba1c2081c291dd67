"""DELETE, UPDATE and MERGE on random tables do what DuckDB does, and count as it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sql.writing.session import Session

Row = tuple[int | None, int | None, str | None]

small = st.one_of(st.none(), st.integers(-3, 3))
texts = st.sampled_from(["a", "b", "ab", None])
rows = st.lists(st.tuples(small, small, texts), max_size=8)
keyed = st.lists(
    st.tuples(st.integers(-3, 3), small, texts), max_size=7, unique_by=lambda row: row[0]
)


# The engine takes NULL IN (…) for false where it is nested, so keys are compared only when known.
SUBQUERIES = [
    "t.k IS NOT NULL AND t.k IN (SELECT u.k FROM u WHERE u.k IS NOT NULL)",
    "t.k IS NOT NULL AND t.k NOT IN (SELECT u.k FROM u WHERE u.k IS NOT NULL)",
    "EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.v > 0)",
    "t.v > (SELECT min(u.v) FROM u)",
]


def predicates(*more: str) -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of(
            st.builds(
                "t.{} {} {}".format,
                st.sampled_from(["k", "v"]),
                st.sampled_from(["=", "<>", "<", ">="]),
                st.integers(-3, 3),
            ),
            st.sampled_from(
                ["t.v IS NULL", "t.s IS NOT NULL", "t.s LIKE 'a%'", *(f"({m})" for m in more)]
            ),
        ),
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=4,
    )


values = st.sampled_from(["t.v + 1", "NULL", "t.k", "7", "coalesce(t.v, 0) * 2"])


@st.composite
def deletions(draw: st.DrawFn) -> str:
    condition = draw(predicates(*SUBQUERIES))
    if draw(st.booleans()):
        return f"DELETE FROM t USING u WHERE t.k = u.k AND {condition}"
    return f"DELETE FROM t WHERE {condition}"


@st.composite
def updates(draw: st.DrawFn) -> str:
    return f"UPDATE t SET v = {draw(values)}, s = 'new' WHERE {draw(predicates(*SUBQUERIES))}"


@st.composite
def merges(draw: st.DrawFn) -> str:
    clauses = []
    for _ in range(draw(st.integers(0, 2))):
        actions = ["DELETE", "UPDATE SET v = u.v, s = t.s || 'm'", "DO NOTHING"]
        action = draw(st.sampled_from(actions))
        clauses.append(f"WHEN MATCHED AND {draw(predicates())} THEN {action}")
    clauses.append(draw(st.sampled_from(["WHEN MATCHED THEN UPDATE SET v = u.v + t.v", ""])))
    clauses.append(
        draw(
            st.sampled_from(
                [
                    "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (u.k, u.v)",
                    "WHEN NOT MATCHED AND u.v > 0 THEN INSERT VALUES (u.k, u.v, u.s)",
                    "",
                ]
            )
        )
    )
    clauses.append(
        draw(
            st.sampled_from(
                [
                    "WHEN NOT MATCHED BY SOURCE AND t.v > 0 THEN DELETE",
                    "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s = 'left'",
                    "",
                ]
            )
        )
    )
    said = " ".join(filter(None, clauses)) or "WHEN MATCHED THEN DELETE"
    return f"MERGE INTO t USING u ON t.k = u.k {said}"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session(str(tmp_path_factory.mktemp("duck") / "graph"))


def literal(value: object) -> str:
    return "NULL" if value is None else repr(value)


def filled(name: str, contents: Sequence[Row]) -> list[str]:
    statements = [f"CREATE OR REPLACE TABLE {name} (k INT, v INT, s VARCHAR)"]
    if contents:
        listed = ", ".join(f"({', '.join(map(literal, row))})" for row in contents)
        statements.append(f"INSERT INTO {name} VALUES {listed}")
    return statements


def check(ours: Session, t: Sequence[Row], u: Sequence[Row], statement: str) -> None:
    theirs = duckdb.connect()
    for sql in (*filled("t", t), *filled("u", u)):
        ours.run(sql)
        theirs.execute(sql)
    (expected,) = theirs.execute(statement).fetchone() or (None,)
    assert ours.run(statement) == expected
    assert ordered(ours.rows("SELECT k, v, s FROM t")) == ordered(
        theirs.execute("SELECT k, v, s FROM t").fetchall()
    )


def ordered(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


@settings(max_examples=40)
@given(t=rows, u=rows, statement=st.one_of(deletions(), updates()))
def test_deletes_and_updates(ours: Session, t: list[Row], u: list[Row], statement: str) -> None:
    check(ours, t, u, statement)


@settings(max_examples=40)
@given(t=rows, u=keyed, statement=merges())
def test_merges(ours: Session, t: list[Row], u: list[Row], statement: str) -> None:
    check(ours, t, u, statement)


def test_the_graph_is_whole_after_all_that(ours: Session) -> None:
    assert ours.graph.verify(rules=True).ok
