"""What dbt promises of `catalog`, as its own suite for adapters says it."""

from __future__ import annotations

import pytest
from dbt.artifacts.schemas.catalog import CatalogArtifact
from dbt.tests.adapter.catalog import files, relation_types


class TestCatalogRelationTypes(relation_types.CatalogRelationTypes):
    """With a node type where others have a materialized view: the suite asks for own kinds."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {
            "my_table.sql": files.MY_TABLE,
            "my_view.sql": files.MY_VIEW,
            "my_node.sql": "{{ config(materialized='node', type_name='Catalogued') }}\n"
            "select id, value from {{ ref('my_seed') }}",
        }

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [
            ("seed.test.my_seed", "BASE TABLE"),
            ("model.test.my_table", "BASE TABLE"),
            ("model.test.my_view", "VIEW"),
            ("model.test.my_node", "NODE TABLE"),
        ],
    )
    def test_relation_types_populate_correctly(
        self, docs: CatalogArtifact, node_name: str, relation_type: str
    ) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
