"""What dbt promises of `sample_mode`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.sample_mode import test_sample_mode


class TestSampleModeTest(test_sample_mode.BaseSampleModeTest):
    pass
