"""What dbt promises of `hooks`, as its own suite for adapters says it."""

from __future__ import annotations

from collections.abc import Mapping

from dbt.tests.adapter.hooks import test_model_hooks, test_run_hooks
from dbt.tests.fixtures.project import TestProjInfo as Project


def check(context: Mapping[str, object], state: str, schema: str) -> None:
    """What a hook saw of the invocation. Our targets have no host, user or password to show."""
    assert context["test_state"] == state
    assert context["target_name"] == "default"
    assert context["target_schema"] == schema
    assert context["target_threads"] == 4
    assert context["target_type"] == "omnigraph"
    assert context["target_pass"] == ""
    assert context["run_started_at"]
    assert context["invocation_id"]
    assert str(context["thread_id"]).startswith(("Thread-", "MainThread"))


class ModelHooks:
    """The suite's own check expects a Postgres."""

    def check_hooks(self, state: str, project: Project, host: None, count: int = 1) -> None:
        for context in self.get_ctx_vars(state, count=count, project=project):  # type: ignore[attr-defined]
            check(context, state, project.test_schema)


class TestPrePostModelHooks(ModelHooks, test_model_hooks.TestPrePostModelHooks):
    pass


class TestPrePostModelHooksUnderscores(
    ModelHooks, test_model_hooks.TestPrePostModelHooksUnderscores
):
    pass


class TestHookRefs(ModelHooks, test_model_hooks.TestHookRefs):
    pass


class TestPrePostModelHooksOnSeeds(ModelHooks, test_model_hooks.TestPrePostModelHooksOnSeeds):
    pass


class TestHooksRefsOnSeeds(ModelHooks, test_model_hooks.TestHooksRefsOnSeeds):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixed(
    ModelHooks, test_model_hooks.TestPrePostModelHooksOnSeedsPlusPrefixed
):
    pass


class TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace(
    ModelHooks, test_model_hooks.TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace
):
    pass


class TestPrePostModelHooksOnSnapshots(
    ModelHooks, test_model_hooks.TestPrePostModelHooksOnSnapshots
):
    pass


class TestPrePostModelHooksInConfig(ModelHooks, test_model_hooks.TestPrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigWithCount(
    ModelHooks, test_model_hooks.TestPrePostModelHooksInConfigWithCount
):
    pass


class TestPrePostModelHooksInConfigKwargs(
    ModelHooks, test_model_hooks.TestPrePostModelHooksInConfigKwargs
):
    pass


class TestPrePostSnapshotHooksInConfigKwargs(
    ModelHooks, test_model_hooks.TestPrePostSnapshotHooksInConfigKwargs
):
    pass


class TestDuplicateHooksInConfigs(test_model_hooks.TestDuplicateHooksInConfigs):
    pass


class TestPrePostRunHooks(test_run_hooks.TestPrePostRunHooks):
    def check_hooks(self, state: str, project: Project, host: None) -> None:
        check(self.get_ctx_vars(state, project), state, project.test_schema)


class TestAfterRunHooks(test_run_hooks.TestAfterRunHooks):
    pass
