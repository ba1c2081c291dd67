"""What dbt promises of `ephemeral`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.ephemeral import test_ephemeral


class TestEphemeralMulti(test_ephemeral.TestEphemeralMulti):
    pass


class TestEphemeralNested(test_ephemeral.TestEphemeralNested):
    pass


class TestEphemeralErrorHandling(test_ephemeral.TestEphemeralErrorHandling):
    pass
