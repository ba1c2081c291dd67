"""What dbt promises of `incremental`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.incremental import (
    test_incremental_merge_exclude_columns,
    test_incremental_microbatch,
    test_incremental_on_schema_change,
    test_incremental_predicates,
    test_incremental_unique_id,
)


class TestMergeExcludeColumns(test_incremental_merge_exclude_columns.BaseMergeExcludeColumns):
    pass


class TestMicrobatch(test_incremental_microbatch.BaseMicrobatch):
    pass


class TestIncrementalOnSchemaChange(
    test_incremental_on_schema_change.TestIncrementalOnSchemaChange
):
    pass


class TestIncrementalPredicatesDeleteInsert(
    test_incremental_predicates.TestIncrementalPredicatesDeleteInsert
):
    pass


class TestPredicatesDeleteInsert(test_incremental_predicates.TestPredicatesDeleteInsert):
    pass


class TestIncrementalUniqueKey(test_incremental_unique_id.TestIncrementalUniqueKey):
    pass
