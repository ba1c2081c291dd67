"""What dbt promises of `dbt_show`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.dbt_show import test_dbt_show


class TestShowSqlHeader(test_dbt_show.TestPostgresShowSqlHeader):
    pass


class TestShowLimit(test_dbt_show.TestPostgresShowLimit):
    pass


class TestShowDoesNotHandleDoubleLimit(test_dbt_show.TestShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "multiple 'LIMIT' clauses"
