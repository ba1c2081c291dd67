"""The pages for users are complete and up to date, and every block on them runs as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from engine.cli.conftest import Cli
from engine.cli.reference import PAGE, commands, with_help

TEXT = PAGE.read_text("utf-8")
QUERIES = PAGE.with_name("queries.md")
UPKEEP = PAGE.with_name("upkeep.md")
CHANGES = PAGE.with_name("changes.md")
BRANCHES = PAGE.with_name("branches.md")
README = PAGE.parents[1] / "README.md"
_BLOCK = re.compile(
    r"<!-- (?P<kind>\w+)(?:: (?P<name>\S+))? -->\n```\w*\n(?P<body>.*?)```"
    r"(?:\n```text\n(?P<shown>.*?)```)?",
    re.S,
)


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


def as_shown(shown: str, actual: str) -> bool:
    """Whether an output is what a page shows; `…` stands for anything."""
    return bool(re.fullmatch(re.escape(shown).replace("…", ".+"), actual))


PAGES = [PAGE, QUERIES, CHANGES, UPKEEP, BRANCHES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs_as_shown(bare: Cli, monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    for block in _BLOCK.finditer(page.read_text("utf-8")):
        body, shown = block["body"], block["shown"] or ""
        match block["kind"]:
            case "file":
                (bare.folder / block["name"]).write_text(body)
            case "run":
                for line, expected in steps(body):
                    actual = run_line(bare, monkeypatch.setenv, line)
                    assert as_shown(expected, actual), (line, actual)
            case "query" | "mutate" as verb:
                actual = bare.ok(verb, "-e", body).out
                assert as_shown(shown, actual), (body, actual)
            case "python":
                done = subprocess.run(
                    [sys.executable, "-c", body], capture_output=True, text=True, check=True
                )
                assert as_shown(shown, done.stdout), done.stdout


def steps(console: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with what it shows."""
    for step in re.split(r"^\$ ", console, flags=re.M)[1:]:
        line, _, shown = step.partition("\n")
        yield line, shown


def run_line(cli: Cli, set_variable: Callable[[str, str], None], line: str) -> str:
    """What one line of a console writes."""
    words = shlex.split(line)
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        set_variable(name, value)
        return ""
    stdin = ""
    if words[0] == "echo":
        stdin, words = words[1], words[3:]
    elif words[0] == "cat":
        stdin, words = (cli.folder / words[1]).read_text(), words[3:]
    assert words[0] == "omnigraph"
    return cli.ok(*words[1:], stdin=stdin).out


@pytest.mark.parametrize("page", [QUERIES, CHANGES], ids=lambda page: page.name)
def test_every_block_of_a_page_is_run(page: Path) -> None:
    left = _BLOCK.sub("", page.read_text("utf-8"))
    assert "```" not in left


def test_the_readme_asks_what_it_says(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    section = README.read_text("utf-8").partition("## Ask it")[2].partition("\n## ")[0]
    assert section
    examples = Path(__file__).parents[3] / "examples"
    (bare.folder / "examples").symlink_to(examples)
    bare.ok("init", "examples/people/people.pg", "people.omni")
    monkeypatch.setenv("OMNIGRAPH_STORE", "people.omni")
    bare.ok("load", "examples/people/people.jsonl")
    console, shown = re.findall(r"```(?:console|text)\n(.*?)```", section, re.S)[:2]
    assert as_shown(shown, run_line(bare, monkeypatch.setenv, console))
    (code,) = re.findall(r"```python\n(.*?)```", section, re.S)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
