"""`omnigraph explain` shows how a read is run."""

from __future__ import annotations

import re

import pytest

from engine.cli.conftest import Cli

FRIENDS = ("explain", "friends", "--file", "people.gq")


def test_shows_the_steps_without_parameters(cli: Cli) -> None:
    shown = cli.ok(*FRIENDS).out
    assert shown.startswith("read friends: ")
    assert "look up by key $p: Person" in shown
    assert "expand $p -[Knows]-> $f" in shown
    assert "order by $f.name" in shown
    assert cli.ok(*FRIENDS, "--json").json == {"plan": shown.removesuffix("\n")}


def test_analyze_runs_it_and_counts(cli: Cli) -> None:
    shown = cli.ok(*FRIENDS, "--params", '{"name": "ada"}', "--analyze").out
    assert re.search(r"^1 row in [\d.]+ ms", shown.splitlines()[-1])


def test_a_stored_query_at_a_moment(cli: Cli) -> None:
    cli.ok("queries", "register", "people.gq")
    assert "read oldest" in cli.ok("explain", "oldest", "--at", "main").out
    assert cli("explain", "oldest", "--at", "main@v2").code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("grow", "--file", "people.gq"), "is a mutation"),
        (("friends", "--file", "people.gq", "--analyze"), "$name is missing"),
        (("-e", "query q() { match { $p: Persn } return { $p } }"), "T1: <text>:1:25"),
    ],
)
def test_what_cannot_be_explained(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    outcome = cli("explain", *arguments)
    assert outcome.code == 2
    assert words in outcome.err
