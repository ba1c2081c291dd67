"""The command and task that dbt runs, and the outcome of the task.

dbt passes none of this to an adapter, so it is read from the click context and from the frame that
calls `cleanup_connections`. A test per minor version of dbt pins both.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.omnigraph.relation import EDGES, NODES

WRITING = frozenset({"run", "build", "seed", "snapshot", "test", "clone"})
"""Commands whose statements may change the graph; `retry` repeats one of them."""


def command_of(config: Any) -> str:  # noqa: ANN401 - dbt's RuntimeConfig, of a package we do not import
    """The name of the command that runs; the one repeated, for a retry."""
    return str(getattr(getattr(config, "args", None), "which", "") or "")


def is_retry() -> bool:
    """Whether this is `dbt retry`. Its arguments are those of the command that it repeats."""
    try:
        import click
    except ImportError:  # dbt-core brings it, and without dbt-core nothing is retried
        return False
    context = click.get_current_context(silent=True)
    while context is not None:
        if context.info_name == "retry" or getattr(context.command, "name", None) == "retry":
            return True
        context = context.parent
    return False


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended, by its own interpretation and its list of selected nodes."""

    task: Any
    passed: bool
    selected: frozenset[str]
    done: frozenset[str]
    """The nodes with a result: not all that were selected, after an interruption."""

    def fail(self, message: str) -> None:
        """Turn results into errors, so that dbt's exit code and artifacts report the failure.

        Those of the models that the message names, so that `dbt retry` runs them again; the last
        one, if it names none.
        """
        results = self.task.node_results
        named = [at for at, result in enumerate(results) if _is_named(result, message)]
        for at in named or [len(results) - 1]:
            status = type(results[at].status)("error")
            results[at] = replace(results[at], status=status, message=message)


def task_outcome() -> TaskOutcome | None:
    """The task whose `finally` block calls, if any."""
    interrupted = sys.exc_info()[0] is not None
    frame = inspect.currentframe()
    while frame is not None:
        task = frame.f_locals.get("self")
        if frame.f_code.co_name == "execute_with_hooks" and hasattr(task, "node_results"):
            return _outcome(task, interrupted)
        frame = frame.f_back
    return None


def _outcome(task: Any, interrupted: bool) -> TaskOutcome:  # noqa: ANN401
    results = task.node_results
    return TaskOutcome(
        task,
        passed=not interrupted and bool(task.interpret_results(results)),
        selected=frozenset(
            node.unique_id for node in task._flattened_nodes or () if not node.is_ephemeral_model
        ),
        done=frozenset(
            result.node.unique_id for result in results if getattr(result, "node", None)
        ),
    )


def _is_named(result: Any, message: str) -> bool:  # noqa: ANN401
    node = getattr(result, "node", None)
    schema, alias = getattr(node, "schema", None), getattr(node, "alias", None)
    if not schema or not alias:
        return False
    name = alias if schema in (NODES, EDGES) else f"{schema}.{alias}"
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) is not None
