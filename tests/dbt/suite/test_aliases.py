"""What dbt promises of `aliases`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.aliases import test_aliases


class TestAliases(test_aliases.TestAliases):
    pass


class TestAliasErrors(test_aliases.TestAliasErrors):
    pass


class TestSameAliasDifferentSchemas(test_aliases.TestSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(test_aliases.TestSameAliasDifferentDatabases):
    pass
