"""What dbt promises of `relations`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.relations import test_changing_relation_type, test_dropping_schema_named


class TestChangeRelationTypes(test_changing_relation_type.TestChangeRelationTypes):
    pass


class TestDropSchemaNamed(test_dropping_schema_named.TestDropSchemaNamed):
    pass
