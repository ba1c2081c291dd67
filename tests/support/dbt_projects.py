"""dbt projects for tests: written to a folder, and run by dbt here or in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt_common.tests import enable_test_caching

_SECONDS = 240

# Macros that dbt has parsed once in this process stay parsed: most of the time of a small run.
enable_test_caching()


@dataclass(frozen=True)
class Outcome:
    """How a dbt command ended."""

    code: int
    output: str

    @property
    def last_line(self) -> str:
        return self.output.strip().splitlines()[-1]


@dataclass(frozen=True)
class Project:
    """A project folder with its profile in it."""

    root: Path
    python: str = sys.executable
    """Runs the commands that get a process of their own."""

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    @property
    def _place(self) -> tuple[str, ...]:
        return ("--project-dir", str(self.root), "--profiles-dir", str(self.root))

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A dbt command, running in a process of its own."""
        return subprocess.Popen(
            [self.python, "-W", "ignore", "-m", "dbt.cli.main", *command, *self._place],
            cwd=self.root,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def dbt(self, *command: str) -> Outcome:
        """A dbt command, run to its end in this process."""
        said = io.StringIO()
        with redirect_stdout(said):
            result = dbtRunner().invoke([*command, *self._place])
        if isinstance(result.exception, Exception):
            return Outcome(2, f"{said.getvalue()}\n{result.exception}")
        return Outcome(0 if result.success else 1, said.getvalue())

    def results(self) -> dict[str, str]:
        """Status of each node, as dbt's artifact of the last command has it."""
        artifact = json.loads((self.root / "target" / "run_results.json").read_text())
        return {each["unique_id"]: each["status"] for each in artifact["results"]}


def ended(process: subprocess.Popen[str], seconds: float = _SECONDS) -> Outcome:
    """How the process ends, if it does in time."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Outcome(process.returncode, output)


def a_project(root: Path, models: Mapping[str, str], **profile: Any) -> Project:  # noqa: ANN401
    """A project named after its folder; models by name, the profile says where the graph is."""
    project = Project(root)
    target = {"type": "omnigraph", "schema": "analytics", "threads": 4, **profile}
    project.write(
        {
            "dbt_project.yml": json.dumps(
                {
                    "name": "project",
                    "profile": "project",
                    "flags": {"send_anonymous_usage_stats": False, "use_colors": False},
                    "models": {"+materialized": "table"},
                }
            ),
            "profiles.yml": json.dumps({"project": {"target": "dev", "outputs": {"dev": target}}}),
        }
    )
    project.write({f"models/{name}.sql": sql for name, sql in models.items()})
    return project
