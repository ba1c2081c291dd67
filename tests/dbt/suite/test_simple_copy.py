"""What dbt promises of `simple_copy`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.simple_copy import test_copy_uppercase, test_simple_copy


class TestSimpleCopyUppercase(test_copy_uppercase.TestSimpleCopyUppercase):
    pass


class TestSimpleCopyBase(test_simple_copy.TestSimpleCopyBase):
    pass


class TestEmptyModelsArentRun(test_simple_copy.TestEmptyModelsArentRun):
    pass
