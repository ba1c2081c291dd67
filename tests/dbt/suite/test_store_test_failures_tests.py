"""What dbt promises of `store_test_failures_tests`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.store_test_failures_tests import basic, test_store_test_failures


class TestStoreTestFailuresAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


class TestStoreTestFailuresAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


class TestStoreTestFailuresAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


class TestStoreTestFailuresAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestStoreTestFailuresAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


class TestStoreTestFailuresAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass


class TestStoreTestFailures(test_store_test_failures.TestStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(test_store_test_failures.TestStoreTestFailuresLimit):
    pass
