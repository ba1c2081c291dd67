"""What dbt promises of `hooks`, as its own suite for adapters says it."""

from __future__ import annotations

from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks


class TestPrePostModelHooks(test_model_hooks.TestPrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(test_model_hooks.TestPrePostModelHooksUnderscores):
    pass


class TestHookRefs(test_model_hooks.TestHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(test_model_hooks.TestPrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(test_model_hooks.TestHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(
    test_model_hooks.TestPrePostModelHooksOnSeedsPlusPrefixed
):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    test_model_hooks.TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(test_model_hooks.TestPrePostModelHooksOnSnapshots):
    pass


class TestPrePostModelHooksInConfig(test_model_hooks.TestPrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    test_model_hooks.TestPrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(test_model_hooks.TestPrePostModelHooksInConfigKwargs):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(
    test_model_hooks.TestPrePostSnapshotHooksInConfigKwargs
):
    pass


class TestDuplicateHooksInConfigs(test_model_hooks.TestDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(test_run_hooks.TestPrePostRunHooks):
    pass


class TestAfterRunHooks(test_run_hooks.TestAfterRunHooks):
    pass
