"""What dbt promises of `basic`, as its own suite for adapters says it."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.basic import (
    expected_catalog,
    test_adapter_methods,
    test_base,
    test_docs_generate,
    test_empty,
    test_ephemeral,
    test_generic_tests,
    test_get_catalog_for_single_relation,
    test_incremental,
    test_singular_tests,
    test_singular_tests_ephemeral,
    test_snapshot_check_cols,
    test_snapshot_timestamp,
    test_table_materialization,
    test_validate_connection,
)
from dbt.tests.fixtures.project import TestProjInfo as Project
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, TableMetadata


class TestCaching(test_adapter_methods.TestBaseCaching):
    pass


class TestSimpleMaterializations(test_base.TestSimpleMaterializations):
    pass


class TestDocsGenerate(test_docs_generate.TestDocsGenerate):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Project) -> dict[str, object]:
        return expected_catalog.base_expected_catalog(
            project,
            role=None,
            id_type="INTEGER",
            text_type="VARCHAR",
            time_type="TIMESTAMP",
            view_type="VIEW",
            table_type="BASE TABLE",
            model_stats=expected_catalog.no_stats(),
        )


class TestDocsGenReferences(test_docs_generate.TestDocsGenReferences):
    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Project) -> dict[str, object]:
        return expected_catalog.expected_references_catalog(
            project,
            role=None,
            id_type="INTEGER",
            text_type="VARCHAR",
            time_type="TIMESTAMP",
            bigint_type="BIGINT",
            view_type="VIEW",
            table_type="BASE TABLE",
            model_stats=expected_catalog.no_stats(),
        )


class TestEmpty(test_empty.TestEmpty):
    pass


class TestEphemeral(test_ephemeral.TestEphemeral):
    pass


class TestGenericTests(test_generic_tests.TestGenericTests):
    pass


class TestGetCatalogForSingleRelation(
    test_get_catalog_for_single_relation.BaseGetCatalogForSingleRelation
):
    @pytest.fixture(scope="class")
    def expected_catalog_my_seed(self, project: Project) -> CatalogTable:
        return _people(project, "my_seed", "BASE TABLE")

    @pytest.fixture(scope="class")
    def expected_catalog_my_view_model(self, project: Project) -> CatalogTable:
        return _people(project, "my_view_model", "VIEW")


def _people(project: Project, name: str, kind: str) -> CatalogTable:
    types = {
        "id": "INTEGER",
        "first_name": "VARCHAR",
        "email": "VARCHAR",
        "ip_address": "VARCHAR",
        "updated_at": "TIMESTAMP",
    }
    return CatalogTable(
        metadata=TableMetadata(
            type=kind, schema=project.test_schema, name=name, database=project.database
        ),
        columns={
            column: ColumnMetadata(type=type_, index=index, name=column)
            for index, (column, type_) in enumerate(types.items(), start=1)
        },
        stats={},
    )


class TestIncrementalBadStrategy(test_incremental.BaseIncrementalBadStrategy):
    pass


class TestIncremental(test_incremental.Testincremental):
    pass


class TestIncrementalNotSchemaChange(test_incremental.TestBaseIncrementalNotSchemaChange):
    pass


class TestSingularTests(test_singular_tests.TestSingularTests):
    pass


class TestSingularTestsEphemeral(test_singular_tests_ephemeral.TestSingularTestsEphemeral):
    pass


class TestSnapshotCheckCols(test_snapshot_check_cols.TestSnapshotCheckCols):
    pass


class TestSnapshotTimestamp(test_snapshot_timestamp.TestSnapshotTimestamp):
    pass


class TestTableMat(test_table_materialization.TestTableMat):
    pass


class TestValidateConnection(test_validate_connection.TestValidateConnection):
    pass
