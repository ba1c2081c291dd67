"""`omnigraph commit` shows history."""

from __future__ import annotations

import re

from engine.cli.conftest import Cli


def test_lists_newest_first(cli: Cli) -> None:
    listed = cli.ok("commit", "list", "--json").json
    assert listed["branch"] == "main"
    assert [commit["graph_manifest_version"] for commit in listed["commits"]] == [2, 1]
    assert listed["commits"][0]["parent_commit_id"] == listed["commits"][1]["graph_commit_id"]


def test_lists_for_people(cli: Cli) -> None:
    header, newest, _ = cli.ok("commit", "list").out.splitlines()
    assert header.split() == ["commit", "version", "time", "actor", "message", "changed"]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"\w{{26}}  v2 +{time}  - +- +edge:Knows, node:Person", newest)


def test_lists_a_branch_with_what_it_inherited(cli: Cli) -> None:
    cli.ok("load", "people.ndjson", "--branch", "draft", "--from", "main")
    listed = cli.ok("commit", "list", "--branch", "draft", "--limit", "2", "--json").json
    assert [commit["graph_branch"] for commit in listed["commits"]] == ["draft", None]
    assert cli("commit", "list", "--branch", "nowhere").code == 3
    assert cli("commit", "list", "--limit", "0").code == 2


def test_shows_one(cli: Cli) -> None:
    cli.ok("load", "people.ndjson", "--actor", "ada", "--message", "again")
    shown = cli.ok("commit", "show", cli.head(), "--json").json
    assert (shown["actor_id"], shown["message"]) == ("ada", "again")
    text = cli.ok("commit", "show", cli.head()).out
    assert re.search(r"^message +again$", text, re.M)
    assert re.search(rf"^commit +{cli.head()}$", text, re.M)


def test_the_time_shown_names_the_moment(cli: Cli) -> None:
    line = next(
        line
        for line in cli.ok("commit", "show", cli.head()).out.splitlines()
        if line.startswith("time")
    )
    moment = f"main@{line.split()[1]}"
    assert cli.ok("snapshot", "--at", moment, "--json").json["graph_commit_id"] == cli.head()


def test_an_unknown_one_is_not_found(cli: Cli) -> None:
    outcome = cli("commit", "show", "01JCQ8Z5M3V7T9K2X4B6N8D0FH")
    assert outcome.code == 3
    assert outcome.err.splitlines()[1] == "List commits with `omnigraph commit list`."
    assert cli("commit", "show", "' OR 1=1 --").code == 3
