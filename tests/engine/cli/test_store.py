"""The graph is named by `--store`, anywhere, or by OMNIGRAPH_STORE."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.conftest import Cli


@pytest.mark.parametrize(
    "arguments",
    [
        ("--store", "social.omni", "branch", "list"),
        ("branch", "--store", "social.omni", "list"),
        ("branch", "list", "--store", "social.omni"),
        ("--store", "nowhere", "branch", "list", "--store=social.omni"),
    ],
)
def test_the_option_stands_before_or_after(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.delenv("OMNIGRAPH_STORE")
    cli.ok(*arguments)


def test_the_option_goes_before_the_variable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("init", "social.pg", "other.omni")
    monkeypatch.setenv("OMNIGRAPH_STORE", "other.omni")
    assert len(cli.ok("commit", "list", "--json").json["commits"]) == 1
    for arguments in (
        ("commit", "list", "--json", "--store", "social.omni"),
        ("--store", "social.omni", "commit", "list", "--json"),
    ):
        assert len(cli.ok(*arguments).json["commits"]) == 2


def test_a_file_uri(cli: Cli) -> None:
    cli.ok("branch", "list", "--store", cli.store.as_uri())


def test_without_either_the_error_names_both(bare: Cli) -> None:
    outcome = bare("branch", "list")
    assert outcome.code == 2
    assert "--store" in outcome.err
    assert "OMNIGRAPH_STORE" in outcome.err


def test_a_graph_that_is_not_there_is_not_found_and_not_made(bare: Cli) -> None:
    for verb in (("branch", "list"), ("load", "people.ndjson"), ("collect",), ("verify",)):
        assert bare("--store", "nowhere", *verb).code == 3
    assert not Path("nowhere").exists()
    assert bare("--store", "social.pg", "branch", "list").code == 3
