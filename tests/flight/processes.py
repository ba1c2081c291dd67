"""`omnigraph serve` as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

COMMAND = """
import sys
from omnigraph.cli import run
from omnigraph.cli.app import App
from omnigraph_flight.command import serve
known = App.get_command
App.get_command = lambda self, ctx, name: serve if name == "serve" else known(self, ctx, name)
sys.exit(run(sys.argv[1:]))
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", COMMAND, "serve", *arguments]


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server and what it says."""
    process = subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            if line.startswith(("BI ", "}")):
                break
        else:
            pytest.fail(f"it did not start: {process.stderr and process.stderr.read()}")
        yield process, "".join(said)
    finally:
        process.kill()
        process.communicate()


def uri_in(said: str) -> str:
    found = re.search(r"grpc\S*://[\d.]+:\d+", said)
    assert found, said
    return found[0]
