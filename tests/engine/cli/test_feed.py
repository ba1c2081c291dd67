"""`omnigraph feed` shows the changes of a branch as they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from engine.cli.conftest import Cli, Outcome
from engine.cli.test_pipes import OMNIGRAPH, on_a_terminal


def lines(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def add(cli: Cli, name: str) -> str:
    cli.ok("load", stdin=json.dumps({"type": "Person", "data": {"name": name}}))
    return cli.head()


def test_blocks_and_then_the_cursor_to_go_on_from(cli: Cli) -> None:
    block, place = lines(cli.ok("feed", "--start", "beginning"))
    assert block["cause"]["graph_commit_id"] == cli.head()
    assert [c["id"] for c in block["changes"]] == ["ada", "bob", "k1"]
    assert place["caught_up"] is True
    commit = add(cli, "eve")
    block, place = lines(cli.ok("feed", "--cursor", place["cursor"], "--json"))
    assert (block["cause"]["graph_commit_id"], len(block["changes"])) == (commit, 1)
    (place,) = lines(cli.ok("feed", "--cursor", place["cursor"]))
    assert place["caught_up"] is True


def test_every_page_up_to_the_head(cli: Cli) -> None:
    add(cli, "eve")
    found = lines(cli.ok("feed", "--start", "beginning", "--max-changes", "2"))
    assert [c["id"] for line in found for c in line.get("changes", [])] == [
        "ada",
        "bob",
        "k1",
        "eve",
    ]
    assert "next_page_token" in found[1]
    token = found[1]["next_page_token"]
    rest = lines(cli.ok("feed", "--page-token", token, "--max-changes", "2"))
    assert rest == found[2:]


def test_narrowed_down(cli: Cli) -> None:
    block, place = lines(cli.ok("feed", "--start", "beginning", "--kind", "edge"))
    assert [c["id"] for c in block["changes"]] == ["k1"]
    outcome = cli("feed", "--cursor", place["cursor"], "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "cursor_rejected")
    assert cli.ok("feed", "--cursor", place["cursor"], "--kind", "edge").out


def test_a_gap_is_not_found_and_a_baseline_goes_on(cli: Cli) -> None:
    (place,) = lines(cli.ok("feed"))
    for name in ("eve", "fay", "gus"):
        add(cli, name)
    cli.ok("collect", "--keep", "1")
    outcome = cli("feed", "--cursor", place["cursor"], "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "change_feed_gap")
    *entities, last = lines(cli.ok("feed", "--baseline"))
    assert len(entities) == 6
    commit = add(cli, "hal")
    block, _ = lines(cli.ok("feed", "--cursor", last["baseline"]["resume_cursor"]))
    assert block["cause"]["graph_commit_id"] == commit
    assert cli("feed", "--baseline", "--follow").code == 2


def test_for_people(cli: Cli) -> None:
    _, shown = on_a_terminal("feed", "--start", "beginning", stdout=True)
    assert f"commit {cli.head()}" in shown
    assert "cursor " in shown


def test_follows_until_interrupted(cli: Cli) -> None:
    with subprocess.Popen(
        [*OMNIGRAPH, "feed", "--follow", "--interval", "0.05"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["caught_up"] is True
        for name in ("eve", "fay"):
            commit = add(cli, name)
            block = json.loads(process.stdout.readline())
            assert block["cause"]["graph_commit_id"] == commit
            assert [c["id"] for c in block["changes"]] == [name]
            place = json.loads(process.stdout.readline())
            assert place["cursor"]
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert process.returncode == 130


@pytest.mark.parametrize(
    "arguments",
    [
        ("--start", "sometime"),
        ("--start", "now", "--cursor", "x"),
        ("--cursor", "x"),
        ("--max-changes", "0"),
        ("--interval", "0"),
        ("--type", ""),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("feed", *arguments).code in (2, 3)
