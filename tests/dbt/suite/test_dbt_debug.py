"""What dbt promises of `dbt_debug`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.dbt_debug import test_dbt_debug


class TestDebug(test_dbt_debug.TestDebugPostgres):
    pass


class TestDebugInvalidProject(test_dbt_debug.TestDebugInvalidProjectPostgres):
    pass
