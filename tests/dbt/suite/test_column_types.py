"""What dbt promises of `column_types`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.column_types import test_column_types


class TestColumnTypes(test_column_types.TestPostgresColumnTypes):
    pass
