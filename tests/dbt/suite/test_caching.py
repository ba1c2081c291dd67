"""What dbt promises of `caching`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.caching import test_caching


class TestCachingLowerCaseModel(test_caching.TestCachingLowerCaseModel):
    pass


class TestCachingUppercaseModel(test_caching.TestCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(test_caching.TestCachingSelectedSchemaOnly):
    pass


class TestNoPopulateCache(test_caching.TestNoPopulateCache):
    pass
