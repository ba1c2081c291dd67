"""What dbt promises of `empty`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.empty import test_empty


class TestEmptyInlineSourceRef(test_empty.BaseTestEmptyInlineSourceRef):
    pass


class TestEmpty(test_empty.TestEmpty):
    pass


class TestMetadataWithEmptyFlag(test_empty.MetadataWithEmptyFlag):
    pass
