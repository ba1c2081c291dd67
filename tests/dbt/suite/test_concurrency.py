"""What dbt promises of `concurrency`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.concurrency import test_concurrency


class TestConcurenncy(test_concurrency.TestConcurenncy):
    pass
