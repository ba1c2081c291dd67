"""`omnigraph log` shows the history, and draws how branches part and merge."""

from __future__ import annotations

import pytest

from engine.cli.conftest import Cli


def load(cli: Cli, name: str, branch: str) -> None:
    record = f'{{"type":"Person","data":{{"name":"{name}"}}}}'
    cli.ok("load", "--branch", branch, "--message", f"add {name}", stdin=record)


@pytest.fixture
def merged(cli: Cli) -> Cli:
    """A branch that went its own way, and was merged."""
    cli.ok("branch", "create", "draft")
    load(cli, "cy", "draft")
    load(cli, "di", "main")
    cli.ok("branch", "merge", "draft")
    cli.ok("tag", "create", "v1", "--at", "main@v2")
    return cli


def test_shows_a_branch_newest_first_with_names(cli: Cli) -> None:
    cli.ok("tag", "create", "v1")
    load(cli, "cy", "main")
    first, second, third = cli.ok("log").out.splitlines()
    assert first.startswith(f"{cli.head()}  v3  (main)  ") and first.endswith("  add cy")
    assert "  v2  (tag: v1)  " in second
    assert third.endswith("create the graph")
    assert cli.ok("log", str(cli.store), "-n", "1").out.splitlines()[1] == (
        "1 of 3; see more with -n."
    )


def test_draws_all_branches(merged: Cli) -> None:
    lines = merged.ok("log", "--graph").out.splitlines()
    drawn = [(line[:3].rstrip(), line.split("  ")[-1]) for line in lines]
    assert [text for _, text in drawn] == [
        "merge draft",
        drawn[1][1],
        "add di",
        "add cy",
        drawn[4][1],
        drawn[5][1],
        "create the graph",
    ]
    assert [picture for picture, _ in drawn] == ["●", "├─╮", "● │", "│ ●", "├─╯", "●", "●"]
    assert "(main)" in lines[0] and "(draft)" in lines[3] and "(tag: v1)" in lines[5]


def test_draws_in_ascii_where_there_is_nothing_else(
    merged: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.cli.versioning.log._has_unicode", lambda: False)
    out = merged.ok("log", "--graph").out
    assert out.isascii()
    assert out.splitlines()[1] == "|-."


def test_one_branch_shows_what_it_came_from(merged: Cli) -> None:
    listed = merged.ok("log", "--graph", "--branch", "draft", "--json").json["commits"]
    assert [each["message"] for each in listed][0] == "add cy"
    assert len(listed) == 3
    assert len(merged.ok("log", "--graph", "--json").json["commits"]) == 5


def test_json_has_names_parents_and_says_if_there_is_more(merged: Cli) -> None:
    shown = merged.ok("log", "--json", "-n", "2").json
    assert shown["more"] is True
    top = shown["commits"][0]
    assert top["names"] == ["main"]
    assert top["merged_parent_commit_id"] and top["parent_commit_id"]


def test_says_what_is_wrong(cli: Cli) -> None:
    assert cli("log", "--branch", "nowhere").code == 3
    assert cli("log", "-n", "0").code == 2
    assert cli("log", "nowhere.omni").code == 3


def test_a_message_stays_on_its_line(cli: Cli) -> None:
    cli.ok("load", "people.ndjson", "--message", "one\ntwo\x1b[31m")
    assert cli.ok("log").out.splitlines()[0].endswith("  one")
