"""A slice of dbt's own suite for adapters, in branch mode; `make test-dbt` runs the whole.

In a process of its own: dbt keeps flags, events and adapters in globals, and its suite sets them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "suite"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_dbts_basic_tests_pass_on_branches() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [*command, str(SUITE / "test_basic.py"), "--dbt-publish", "on_success"],
        cwd=SUITE.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert re.search(r"\b18 passed", run.stdout), run.stdout[-500:]
