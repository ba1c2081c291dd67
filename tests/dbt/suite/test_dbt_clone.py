"""What dbt promises of `dbt_clone`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.dbt_clone import test_dbt_clone


class TestClonePossible(test_dbt_clone.BaseClonePossible):
    pass


class TestCloneSameSourceAndTarget(test_dbt_clone.BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(test_dbt_clone.TestCloneSameTargetAndState):
    pass
