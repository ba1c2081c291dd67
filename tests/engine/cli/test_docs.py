"""docs/cli.md covers every command and option, is up to date, and its console blocks run."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from engine.cli.conftest import Cli
from engine.cli.reference import PAGE, commands, with_help

TEXT = PAGE.read_text("utf-8")
_FILE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", re.S)
_RUN = re.compile(r"<!-- run -->\n```console\n(.*?)```", re.S)


def test_the_generated_parts_are_up_to_date() -> None:
    assert with_help(TEXT) == TEXT, "run `python tests/engine/cli/reference.py`"


@pytest.mark.parametrize(("name", "context"), commands(), ids=[name for name, _ in commands()])
def test_every_command_and_option_is_there(name: str, context: click.Context) -> None:
    found = re.search(rf"<!-- help: {name} -->(.*?)<!-- /help -->", TEXT, re.S)
    assert found, f"{name} has no help page"
    for parameter in context.command.params:
        for option in parameter.opts if isinstance(parameter, click.Option) else ():
            assert option in found[1]


def test_the_table_of_exit_codes_is_the_one_in_force() -> None:
    from omnigraph.cli import exit_codes

    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and name[0] != "_"}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.M)} == codes


def test_the_walk_through_runs_as_shown(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in _FILE.findall(TEXT):
        (bare.folder / name).write_text(content)
    steps = [step for block in _RUN.findall(TEXT) for step in block.split("$ ")[1:]]
    assert steps
    for step in steps:
        line, _, shown = step.partition("\n")
        words = shlex.split(line)
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            continue
        stdin = ""
        if words[0] == "echo":
            stdin, words = words[1], words[3:]
        assert words[0] == "omnigraph"
        pattern = re.escape(shown).replace("…", ".+")
        assert re.fullmatch(pattern, bare.ok(*words[1:], stdin=stdin).out), line
