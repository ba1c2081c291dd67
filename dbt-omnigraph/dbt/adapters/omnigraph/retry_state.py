"""The branch of a run that was not published, stored in the target folder for `dbt retry`.

Written when a run ends, never before: the branch of a killed process is not resumed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "omnigraph_run.json"


@dataclass(frozen=True)
class UnpublishedRun:
    """A branch that was not published, and why."""

    branch: str
    target: str
    passed: bool
    """Whether only its publish failed."""
    never_ran: tuple[str, ...]
    """Selected nodes without a result, which dbt itself does not retry."""


def load(folder: Path, target: str) -> UnpublishedRun | None:
    """The unpublished branch of a target, if there is one."""
    try:
        state = json.loads((folder / FILE).read_text())
        run = UnpublishedRun(
            state["branch"], state["target"], state["passed"], tuple(state["never_ran"])
        )
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return run if run.target == target else None


def save(folder: Path, run: UnpublishedRun) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(asdict(run), indent=2))


def delete(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)
