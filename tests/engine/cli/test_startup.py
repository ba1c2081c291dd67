"""Help is quick: nothing of the engine is imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from omnigraph.cli.app import _COMMANDS

HEAVY = ["lance", "pyarrow", "numpy", "pandas", "obstore", "orjson", "lark", "rich"]
SCRIPT = f"""
import json, sys
from omnigraph.cli import run
code = run(sys.argv[1:])
print(json.dumps([code, [name for name in {HEAVY} if name in sys.modules]]))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["load", "--help"]])
def test_help_imports_no_engine(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]


def test_no_command_imports_the_engine_before_it_runs() -> None:
    script = SCRIPT.replace("code = run", "code = max(run([c, '--help']) for c in {}) or run")
    done = subprocess.run(
        [sys.executable, "-c", script.replace("{}", repr(list(_COMMANDS))), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]
