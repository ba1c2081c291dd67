"""What dbt promises of `simple_snapshot`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.simple_snapshot import (
    new_record_check_mode,
    new_record_dbt_valid_to_current,
    test_ephemeral_snapshot_hard_deletes,
    test_snapshot,
    test_various_configs,
)


class TestSnapshotNewRecordCheckMode(new_record_check_mode.BaseSnapshotNewRecordCheckMode):
    pass


class TestSnapshotNewRecordDbtValidToCurrent(
    new_record_dbt_valid_to_current.BaseSnapshotNewRecordDbtValidToCurrent
):
    pass


class TestSnapshotEphemeralHardDeletes(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotEphemeralHardDeletes
):
    pass


class TestSnapshotNewColumnTimestampStrategy(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnTimestampStrategy
):
    pass


class TestSnapshotNewColumnSpecificCheckCols(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnSpecificCheckCols
):
    pass


class TestSnapshotNewColumnWithDeletes(
    test_ephemeral_snapshot_hard_deletes.BaseSnapshotNewColumnWithDeletes
):
    pass


class TestSnapshot(test_snapshot.TestSnapshot):
    pass


class TestSnapshotCheck(test_snapshot.TestSnapshotCheck):
    pass


class TestSnapshotColumnNames(test_various_configs.BaseSnapshotColumnNames):
    pass


class TestSnapshotColumnNamesFromDbtProject(
    test_various_configs.BaseSnapshotColumnNamesFromDbtProject
):
    pass


class TestSnapshotInvalidColumnNames(test_various_configs.BaseSnapshotInvalidColumnNames):
    pass


class TestSnapshotDbtValidToCurrent(test_various_configs.BaseSnapshotDbtValidToCurrent):
    pass


class TestSnapshotMultiUniqueKey(test_various_configs.BaseSnapshotMultiUniqueKey):
    pass
