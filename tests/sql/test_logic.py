"""Every statement of tests/sql/logic gives its rows; where duckdb has it, duckdb's rows."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import omnigraph_sql
from omnigraph_sql.session.dbapi_cursor import Cursor
from sql.logic_data import logic_duckdb
from sql.logic_files import Case, every_case

CASES = every_case()


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    found = logic_duckdb()
    yield found
    found.close()


def test_there_are_enough_cases_and_none_without_rows() -> None:
    assert len(CASES) >= 450
    assert [case.name for case in CASES if case.expected is None] == []
    assert len([case for case in CASES if not case.ours]) >= 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_statement_gives_its_rows(
    case: Case, shared_connection: omnigraph_sql.Connection
) -> None:
    shared_connection.dialect = case.dialect
    cursor = Cursor(shared_connection).execute(case.sql)
    assert case.shown(cursor.fetchall()) == case.expected


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.ours], ids=lambda case: case.name
)
def test_duckdb_gives_the_same_rows(case: Case, database: duckdb.DuckDBPyConnection) -> None:
    assert case.shown(database.execute(case.sql).fetchall()) == case.expected
