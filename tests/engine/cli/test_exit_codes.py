"""Every error ends in a code, a message and a next step, and never in a traceback."""

from __future__ import annotations

import click
import pytest

import omnigraph.errors
from engine.cli.conftest import Cli
from omnigraph.api.graph import Graph
from omnigraph.cli.exit_codes import exit_code
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    Corruption,
    InvalidInput,
    NotFound,
    OmniGraphError,
    ParseError,
    Reclaimed,
    StorageError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("x"), 2),
        (ParseError("x", source="x", span=(0, 1)), 2),
        (click.UsageError("x"), 2),
        (NotFound("x"), 3),
        (Reclaimed("x"), 3),
        (Conflict("x"), 4),
        (AlreadyExists("x"), 4),
        (StorageError("x"), 5),
        (Corruption("x"), 5),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ValueError("x"), 1),
        (KeyError("x"), 1),
    ],
)
def test_each_family_has_its_code(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_every_error_belongs_to_a_family() -> None:
    classes = [c for c in vars(omnigraph.errors).values() if isinstance(c, type)]
    errors = [c for c in classes if issubclass(c, OmniGraphError) and c is not OmniGraphError]
    assert {exit_code(c.__new__(c)) for c in errors} == {2, 3, 4, 5}


def test_the_hint_follows_the_message(cli: Cli) -> None:
    outcome = cli("branch", "delete", "nowhere")
    assert outcome.out == ""
    assert outcome.err.splitlines() == [
        "Error: there is no branch 'nowhere'",
        "List branches with `omnigraph branch list`.",
    ]


def test_programs_get_the_error_as_json(cli: Cli) -> None:
    for arguments in (("--json", "branch", "delete", "x"), ("branch", "delete", "x", "--json")):
        outcome = cli(*arguments)
        assert outcome.out == ""
        assert outcome.error["code"] == "not_found"
        assert set(outcome.error) == {"error", "code", "hint"}


@pytest.mark.parametrize(
    "arguments",
    [("nosuch",), ("--nosuch",), ("load", "--nosuch"), ("branch", "nosuch"), ("commit", "show")],
)
def test_usage_errors(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("Error: ")
    assert "--help`." in outcome.err.splitlines()[-1]
    assert cli(*arguments, "--json").error["code"] == "usage"


@pytest.mark.parametrize("arguments", [(), ("branch",), ("schema",)])
def test_no_arguments_show_the_help(cli: Cli, arguments: tuple[str, ...]) -> None:
    outcome = cli(*arguments)
    assert "Commands:" in outcome.out + outcome.err


def test_what_is_damaged_is_a_storage_error(cli: Cli) -> None:
    for file in (cli.store / "nodes").glob("*/data/*"):
        file.unlink()
    outcome = cli("snapshot", "Person")
    assert outcome.code == 5
    assert "Traceback" not in outcome.err


def test_the_unexpected_is_short_unless_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Graph, *, hidden: bool) -> None:
        raise RuntimeError("boom \x1b[31m")

    monkeypatch.setattr(Graph, "branches", fail)
    outcome = cli("branch", "list")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert "RuntimeError: boom \\x1b[31m" in outcome.err
    assert "OMNIGRAPH_DEBUG=1" in outcome.err
    assert cli("branch", "list", "--json").error["code"] == "unexpected"

    def fail_plainly(_: Graph, *, hidden: bool) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(Graph, "branches", fail_plainly)
    monkeypatch.setenv("OMNIGRAPH_DEBUG", "1")
    outcome = cli("branch", "list")
    assert outcome.code == 1
    assert "Traceback" in outcome.err


def test_an_interruption_is_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Graph, *, hidden: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Graph, "branches", interrupt)
    outcome = cli("branch", "list")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


def test_a_file_name_that_is_no_text_can_be_shown(cli: Cli) -> None:
    assert cli("load", "\udcff.ndjson").code == 3
    assert "udcff.ndjson" in cli("load", "\udcff.ndjson", "--json").error["error"]
