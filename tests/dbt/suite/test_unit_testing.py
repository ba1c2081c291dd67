"""What dbt promises of `unit_testing`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.unit_testing import (
    test_case_insensitivity,
    test_invalid_input,
    test_quoted_reserved_word_column_names,
    test_types,
)


class TestUnitTestCaseInsensitivity(test_case_insensitivity.TestPosgresUnitTestCaseInsensitivity):
    pass


class TestUnitTestInvalidInput(test_invalid_input.TestPostgresUnitTestInvalidInput):
    pass


class TestUnitTestQuotedReservedWordColumnNames(
    test_quoted_reserved_word_column_names.BaseUnitTestQuotedReservedWordColumnNames
):
    pass


class TestUnitTestingVarcharFixtureNoTruncation(
    test_types.BaseUnitTestingVarcharFixtureNoTruncation
):
    pass


class TestUnitTestingTypes(test_types.TestPostgresUnitTestingTypes):
    pass
