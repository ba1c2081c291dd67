"""The command between other programs: pipes, terminals, signals."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli.conftest import Cli

OMNIGRAPH = [sys.executable, "-m", "omnigraph.cli"]


@pytest.fixture
def many(empty: Cli) -> Cli:
    """A graph whose export does not fit into a pipe."""
    lines = [json.dumps({"type": "Person", "data": {"name": f"p{i:06}"}}) for i in range(20_000)]
    Path("many.ndjson").write_text("\n".join(lines))
    empty.ok("load", "many.ndjson")
    return empty


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (("export",), ""),
        (("export",), "1"),
        (("snapshot", "Person", "--limit", "20000"), ""),
        (("snapshot", "Person", "--limit", "20000", "--json"), ""),
    ],
)
def test_a_reader_that_stops_early_is_no_error(
    many: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with subprocess.Popen(
        [*OMNIGRAPH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_export_feeds_load(cli: Cli) -> None:
    cli.ok("init", "social.pg", "copy.omni")
    with subprocess.Popen([*OMNIGRAPH, "export"], stdout=subprocess.PIPE) as export:
        loaded = subprocess.run(
            [*OMNIGRAPH, "load", "--store", "copy.omni", "--json"],
            stdin=export.stdout,
            capture_output=True,
            check=True,
        )
    assert json.loads(loaded.stdout)["total_entities"] == 3
    assert loaded.stderr == b""


def on_a_terminal(*arguments: str, stdout: bool, code: int = 0) -> tuple[str, str]:
    """Run a command with stderr, and stdout if asked, on a terminal; what it wrote to each."""
    controller, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [*OMNIGRAPH, *arguments],
            stdin=terminal,
            stdout=terminal if stdout else subprocess.PIPE,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"},
        )
        os.close(terminal)
        shown = bytearray()
        while True:
            try:
                data = os.read(controller, 4096)
            except OSError:  # how Linux says that the last writer is gone
                break
            if not data:
                break
            shown += data
        piped, _ = process.communicate(timeout=60)
        assert process.returncode == code, shown
        return (piped or b"").decode(), shown.decode()
    finally:
        os.close(controller)


def test_progress_is_for_terminals_and_never_in_the_output(empty: Cli) -> None:
    piped, shown = on_a_terminal("load", "people.ndjson", "--json", stdout=False)
    assert json.loads(piped)["total_entities"] == 3
    assert "loading" in shown
    piped, shown = on_a_terminal("collect", "--json", stdout=False)
    assert json.loads(piped)["dry_run"] is False
    assert "collecting" in shown


def test_an_export_to_a_terminal_is_not_disturbed(cli: Cli) -> None:
    _, shown = on_a_terminal("export", stdout=True)
    assert [json.loads(line) for line in shown.splitlines()]


def test_ids_stay_whole_on_a_narrow_terminal(cli: Cli) -> None:
    cli.ok("load", "people.ndjson", "--message", "a long story " * 10)
    _, shown = on_a_terminal("commit", "list", stdout=True)
    assert cli.head() in shown
    assert max(map(len, re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines())) <= 80
