"""What dbt promises of `empty`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.empty import test_empty


class TestSeedWithoutEmptyFlag(test_empty.BaseTestEmptySeedFlag):
    """The flag came after dbt 1.11; what a seed does without it is asked of all."""

    test_seed_empty_creates_table_with_zero_rows = None
    test_seed_empty_preserves_column_types = None
    test_build_empty_with_seed = None


class TestEmptyInlineSourceRef(test_empty.BaseTestEmptyInlineSourceRef):
    pass


class TestEmpty(test_empty.TestEmpty):
    pass


class TestMetadataWithEmptyFlag(test_empty.MetadataWithEmptyFlag):
    pass
