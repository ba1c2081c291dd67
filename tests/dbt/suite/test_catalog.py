"""What dbt promises of `catalog`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.catalog import relation_types


class TestCatalogRelationTypes(relation_types.CatalogRelationTypes):
    pass
