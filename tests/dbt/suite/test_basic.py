"""What dbt promises of `basic`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.basic import (
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


class TestCaching(test_adapter_methods.TestBaseCaching):
    pass


class TestSimpleMaterializations(test_base.TestSimpleMaterializations):
    pass


class TestDocsGenerate(test_docs_generate.TestDocsGenerate):
    pass


class TestDocsGenReferences(test_docs_generate.TestDocsGenReferences):
    pass


class TestEmpty(test_empty.TestEmpty):
    pass


class TestEphemeral(test_ephemeral.TestEphemeral):
    pass


class TestGenericTests(test_generic_tests.TestGenericTests):
    pass


class TestGetCatalogForSingleRelation(
    test_get_catalog_for_single_relation.BaseGetCatalogForSingleRelation
):
    pass


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
