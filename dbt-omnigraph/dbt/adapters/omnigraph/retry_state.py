"""The branch of a run that was not published, remembered in the target folder for `dbt retry`.

Written when a run ends, never before: what a killed process leaves is nobody's to go on with.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "omnigraph_run.json"


@dataclass(frozen=True)
class UnpublishedRun:
    """A branch that waits, and what it lacks."""

    branch: str
    target: str
    passed: bool
    """Whether only its publish failed."""
    never_ran: tuple[str, ...]
    """Nodes that were selected and got no result, which dbt itself forgets."""


def recall(folder: Path, target: str) -> UnpublishedRun | None:
    """The branch that waits for being published to the target, if there is one."""
    try:
        said = json.loads((folder / FILE).read_text())
        kept = UnpublishedRun(
            said["branch"], said["target"], said["passed"], tuple(said["never_ran"])
        )
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return kept if kept.target == target else None


def remember(folder: Path, kept: UnpublishedRun) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(asdict(kept), indent=2))


def forget(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)
