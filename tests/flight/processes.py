"""`omnigraph serve` as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

COMMAND = """
import sys
from omnigraph.cli import run
from omnigraph.cli.app import App
from omnigraph_flight.cli import serve
known = App.get_command
App.get_command = lambda self, ctx, name: serve if name == "serve" else known(self, ctx, name)
sys.exit(run(sys.argv[1:]))
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", COMMAND, "serve", *arguments]


@contextmanager
def serving(
    *arguments: str, log: Path | None = None, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server and what it says; its log goes to a file.

    A pipe that nobody reads would stop the server when it is full.
    """
    with (
        log.open("w+") if log else tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command(*arguments),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **environment},
        ) as process,
    ):
        try:
            yield process, _said_at_start(process, errors)
        finally:
            process.kill()


def _said_at_start(process: subprocess.Popen[str], errors: IO[str]) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith(("BI ", "}")):
            return said
    errors.seek(0)
    pytest.fail(f"it did not start: {errors.read()}")


def uri_in(said: str) -> str:
    found = re.search(r"grpc\S*://[\d.]+:\d+", said)
    assert found, said
    return found[0]
