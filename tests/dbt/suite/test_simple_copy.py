"""What dbt promises of `simple_copy`, as its own suite for adapters says it."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.simple_copy import test_copy_uppercase, test_simple_copy


class TestSimpleCopyUppercase(test_copy_uppercase.TestSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, omnigraph_target: dict[str, Any]) -> dict[str, Any]:
        return omnigraph_target


class TestSimpleCopyBase(test_simple_copy.TestSimpleCopyBase):
    pass


class TestEmptyModelsArentRun(test_simple_copy.TestEmptyModelsArentRun):
    pass
