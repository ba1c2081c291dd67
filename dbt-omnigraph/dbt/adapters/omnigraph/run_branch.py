"""One run, one branch, one publish.

The first connection of a writing command creates the branch; every model, seed, snapshot and test
runs on it; when the command has passed, it is merged into the target in one atomic publish. After
anything else the target is as it was, and the branch is kept and named.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import adbc_driver_manager
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.invocation import (
    WRITING,
    Ended,
    command_of,
    ended_task,
    is_retry,
)
from dbt.adapters.omnigraph.pool import Pool
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

MEMORY = "omnigraph_run.json"
"""Where the target folder remembers a branch that was not published."""

logger = AdapterLogger("OmniGraph")


class RunBranch:
    """The branch of one invocation. Callers hold the connection manager's lock."""

    def __init__(self, config: Any, credentials: OmniGraphCredentials, pool: Pool) -> None:  # noqa: ANN401
        self._config = config
        self._credentials = credentials
        self._pool = pool
        self._name: str | None = None
        self._settled = False

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
        if self._credentials.publish == "direct" or command_of(self._config) not in WRITING:
            return self.target
        if self._credentials.publish == "manual":
            return self._manual()
        kept = self._remembered() if is_retry() else None
        if kept is not None:
            # What others published meanwhile comes in first; what this run made stays its own.
            self._run(f"MERGE BRANCH {_quoted(self.target)} INTO {_quoted(kept)} ON CONFLICT ours")
            return kept
        name = f"dbt/{get_invocation_id()}"
        self._create(name, "")
        self._remember(name)
        return name

    def _manual(self) -> str:
        name = self._credentials.run_branch or f"dbt/{self._config.target_name}"
        self._create(name, "IF NOT EXISTS ")
        return name

    def _create(self, name: str, existing: str) -> None:
        self._run(
            f"CREATE BRANCH {existing}{_quoted(name)} FROM {_quoted(self.target)} "
            f"WITH (deferred_checks = true, ttl = {_text(self._credentials.branch_ttl)}, "
            f"owner = {_text('dbt ' + get_invocation_id())})"
        )

    # ------------------------------------------------------------------ the end of a run

    def settle(self) -> None:
        """Publish what has passed; keep and name what has not."""
        if self._settled or self._credentials.publish != "on_success":
            return
        if command_of(self._config) not in WRITING:
            return
        ended = ended_task()
        if ended is None:
            self._settle_without_task()
        elif self._name is not None:
            self._settled = True
            self._settle_run(self._name, ended)

    def _settle_run(self, name: str, ended: Ended) -> None:
        if not ended.passed or not ended.complete:
            logger.info(self._kept(name, "The run did not succeed"))
            return
        try:
            self._publish(name)
        except adbc_driver_manager.Error as error:
            message = f"publishing {name} to {self.target} failed: {error}"
            ended.fail(self._kept(name, message), _conflicting_table(str(error)))

    def _settle_without_task(self) -> None:
        """A retry with nothing left to run: what failed the last time was the publish."""
        kept = self._remembered() if self._name is None and is_retry() else None
        if kept is None:
            return
        self._settled = True
        try:
            self._publish(kept)
        except adbc_driver_manager.Error as error:
            raise DbtRuntimeError(
                self._kept(kept, f"publishing {kept} to {self.target} failed: {error}")
            ) from error

    def _publish(self, name: str) -> None:
        self._run(f"MERGE BRANCH {_quoted(name)} INTO {_quoted(self.target)} DROP SOURCE")
        self._memory().unlink(missing_ok=True)
        logger.info(f"Published {name} to {self.target} in one commit.")

    def _kept(self, name: str, what: str) -> str:
        return (
            f"{what}; {self.target} is unchanged. The branch {name} is kept: `dbt retry` goes on "
            f"with it, `dbt run-operation omnigraph_publish --args '{{branch: {name}}}'` publishes "
            f"it as it is, omnigraph_drop_branch drops it."
        )

    # ------------------------------------------------------------------ what outlives the process

    def _memory(self) -> Path:
        config = self._config
        root = Path(getattr(config, "project_root", "."))
        return root / getattr(config, "target_path", "target") / MEMORY

    def _remember(self, name: str) -> None:
        self._memory().parent.mkdir(parents=True, exist_ok=True)
        self._memory().write_text(json.dumps({"branch": name, "target": self.target}))

    def _remembered(self) -> str | None:
        try:
            kept = json.loads(self._memory().read_text())
        except (FileNotFoundError, ValueError):
            return None
        return str(kept["branch"]) if kept.get("target") == self.target else None

    def _run(self, sql: str) -> None:
        handle = self._pool.open(self.target)
        try:
            handle.cursor().execute(sql)
        finally:
            handle.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _conflicting_table(message: str) -> str | None:
    """The table that a conflict names, as schema.name."""
    found = re.search(r"table:([^\s,;:'\"]+\.[^\s,;:'\"]+)", message)
    return found[1] if found else None
