"""One run, one branch, one publish.

The first connection of a writing command creates the branch; every model, seed, snapshot and test
runs on it; when the command has passed, it is merged into the target in one atomic publish. After
any failure the target is unchanged, and the branch is retained and named.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adbc_driver_manager
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.omnigraph import retry_state
from dbt.adapters.omnigraph.connection_pool import Pool, server_message
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.invocation import (
    WRITING,
    TaskOutcome,
    command_of,
    is_retry,
    task_outcome,
)
from dbt.adapters.omnigraph.retry_state import UnpublishedRun

logger = AdapterLogger("OmniGraph")


class RunBranch:
    """The branch of one invocation. Callers hold the connection manager's lock."""

    def __init__(self, config: Any, credentials: OmniGraphCredentials, pool: Pool) -> None:  # noqa: ANN401
        self._config = config
        self._credentials = credentials
        self._pool = pool
        self._name: str | None = None
        # Read here, in dbt's main thread: the click context is the thread's.
        self._retrying = is_retry()
        self._resumed: UnpublishedRun | None = None
        self._settled = False
        self._last_line: str | None = None
        if self._retrying and credentials.publish == "on_success":
            self._require_complete_results()

    def _require_complete_results(self) -> None:
        """After an interruption dbt's results lack the nodes that never ran."""
        unpublished = retry_state.load(self._folder, self.target)
        if unpublished is not None and unpublished.never_ran:
            raise DbtRuntimeError(f"{unpublished.branch}: {_incomplete(unpublished.never_ran)}")

    @property
    def target(self) -> str:
        """The branch that a success publishes to."""
        return self._credentials.database

    def branch(self) -> str:
        """The branch that statements run on; the first call of a writing command creates it."""
        if self._name is None:
            self._name = self._chosen()
        return self._name

    def _chosen(self) -> str:
        if not self._writes or self._credentials.publish == "direct":
            return self.target
        if self._credentials.publish == "manual":
            name = self._credentials.run_branch or f"dbt/{self._config.target_name}"
            self._create(name, "IF NOT EXISTS ")
            return name
        self._resumed = retry_state.load(self._folder, self.target) if self._retrying else None
        if self._resumed is not None:
            name = self._resumed.branch
            # What others published meanwhile is merged first; in conflicts this run prevails.
            self._run(f"MERGE BRANCH {_quoted(self.target)} INTO {_quoted(name)} ON CONFLICT ours")
            return name
        name = f"dbt/{get_invocation_id()}"
        self._create(name, "")
        return name

    def _create(self, name: str, existing: str) -> None:
        self._run(
            f"CREATE BRANCH {existing}{_quoted(name)} FROM {_quoted(self.target)} "
            f"WITH (deferred_checks = true, ttl = {_text(self._credentials.branch_ttl)}, "
            f"owner = {_text('dbt ' + get_invocation_id())})"
        )

    @property
    def _writes(self) -> bool:
        return command_of(self._config) in WRITING

    # ------------------------------------------------------------------ the end of a run

    def settle(self) -> None:
        """Publish a run that has passed; retain the branch of one that has not.

        dbt calls this when a task has run, and again at the end of the command: then the last line
        is logged.
        """
        if self._credentials.publish != "on_success" or not self._writes:
            return
        outcome = task_outcome()
        if outcome is not None and self._name is not None and not self._settled:
            self._settled = True
            self._settle_run(self._name, outcome)
        elif outcome is None and self._name is None and self._retrying:
            self._publish_again()
        if outcome is None and self._last_line is not None:
            logger.info(self._last_line)
            self._last_line = None

    def _settle_run(self, name: str, outcome: TaskOutcome) -> None:
        missed = set(self._resumed.never_ran) if self._resumed else set()
        never_ran = tuple(sorted((outcome.selected | missed) - outcome.done))
        if not outcome.passed:
            self._retain(
                UnpublishedRun(name, self.target, False, never_ran), "The run did not succeed"
            )
        elif never_ran:
            self._retain(
                UnpublishedRun(name, self.target, False, never_ran), _incomplete(never_ran)
            )
            outcome.fail(_incomplete(never_ran))
        else:
            try:
                self._publish(name)
            except adbc_driver_manager.Error as error:
                reason = f"publishing {name} to {self.target} failed: {server_message(error)}"
                self._retain(UnpublishedRun(name, self.target, True, ()), reason)
                outcome.fail(reason)

    def _publish_again(self) -> None:
        """A retry with nothing left to run: only the publish failed the last time."""
        unpublished = retry_state.load(self._folder, self.target)
        if unpublished is None or not unpublished.passed or self._settled:
            return
        self._settled = True
        try:
            self._publish(unpublished.branch)
        except adbc_driver_manager.Error as error:
            raise DbtRuntimeError(
                f"publishing {unpublished.branch} to {self.target} failed: {server_message(error)}"
            ) from error

    def _publish(self, name: str) -> None:
        self._run(f"MERGE BRANCH {_quoted(name)} INTO {_quoted(self.target)} DROP SOURCE")
        retry_state.delete(self._folder)
        self._name = self.target  # for statements after the run
        self._last_line = f"Published {name} to {self.target} in one commit."

    def _retain(self, run: UnpublishedRun, reason: str) -> None:
        retry_state.save(self._folder, run)
        operation = "dbt run-operation omnigraph_"
        arguments = f"--args '{{branch: {run.branch}}}'"
        self._last_line = (
            f"{' '.join(reason.split())}; {self.target} is unchanged. "
            f"The branch {run.branch} is retained for {self._credentials.branch_ttl}: "
            f"{'' if run.never_ran else '`dbt retry` resumes it, '}"
            f"`{operation}publish {arguments}` publishes it as it is, "
            f"`{operation}drop_branch {arguments}` drops it; to inspect it, "
            f'query "{run.branch}".<schema>.<table>.'
        )

    @property
    def _folder(self) -> Path:
        return Path(self._config.project_root, self._config.target_path)

    def _run(self, sql: str) -> None:
        handle = self._pool.open(self.target)
        try:
            handle.cursor().execute(sql)
        finally:
            handle.close()


def _incomplete(never_ran: tuple[str, ...]) -> str:
    """Why a branch is not published: dbt itself does not retry nodes that never ran."""
    named = ", ".join(never_ran[:3]) + (", …" if len(never_ran) > 3 else "")
    return (
        f"{len(never_ran)} selected nodes never ran ({named}), and a retry would leave them out: "
        "run the command again"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
