"""Every command explains itself, and its examples run."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest

from engine.cli.conftest import Cli
from engine.cli.reference import commands
from omnigraph.cli.command import Command, Group

NAMES = [name for name, _ in commands()]
EXAMPLES = [
    line.strip()
    for _, context in commands()
    if isinstance(context.command, Command | Group)
    for line in context.command.example.strip().splitlines()
]
_SOME_COMMIT = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")


@pytest.mark.parametrize("name", NAMES)
def test_help_has_a_purpose_and_an_example(bare: Cli, name: str) -> None:
    shown = bare.ok(*name.split()[1:], "--help").out
    assert shown == bare.ok(*name.split()[1:], "-h").out
    assert re.search(r"^Usage: .+\n\n  [A-Z].+", shown), "a one-line purpose"
    assert re.search(rf"^Example:\n(  .+\n)*?  (.+ \| )?{name}\b", shown, re.M)
    assert "--store URI" in shown
    assert "--json" in shown
    assert "..." not in shown.split("Example:")[0].partition("Commands:")[2], "cut short"


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_runs(columnar: Cli, example: str) -> None:
    if "s3://" in example:
        pytest.skip("the example names a bucket on S3, and here is none of that name")
    columnar.ok("queries", "register", "people.gq")
    columnar.ok("branch", "create", "draft")
    command = _SOME_COMMIT.sub(columnar.head(), example)
    before, pipe, rest = command.partition(" | ")
    stdin = ""
    if pipe and before.startswith("cat "):
        file, command = Path(before.removeprefix("cat ")), rest
        stdin = file.read_text().replace("ada", "ann").replace("bob", "ben").replace("k1", "k2")
    words = list(takewhile(lambda word: word not in "|>", shlex.split(command)))
    assert words[0] == "omnigraph"
    prepare(columnar, words)
    columnar.ok(*words[1:], stdin=stdin)


def prepare(cli: Cli, words: list[str]) -> None:
    """Make way for an example that says what only holds once."""
    if "init" in words:
        cli.store.rename("elsewhere")
    if "create" in words and "draft" in words:
        cli.ok("branch", "delete", "draft")
    if words[1] in ("restore", "repair"):
        cli.ok("backup", str(cli.store), "social.backup")
    if words[1:3] == ["tag", "delete"]:
        cli.ok("tag", "create", words[3])
