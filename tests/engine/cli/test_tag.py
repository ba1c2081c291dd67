"""`omnigraph tag` names commits."""

from __future__ import annotations

from engine.cli.conftest import Cli


def test_creates_lists_and_deletes(cli: Cli) -> None:
    assert cli.ok("tag", "create", "v1").out == f"Tagged {cli.head()} as v1.\n"
    made = cli.ok("tag", "create", "start", "--at", "main@v1", "--json").json
    assert (made["name"], made["graph_branch"]) == ("start", None)
    listed = cli.ok("tag", "list", "--json").json["tags"]
    assert [tag["name"] for tag in listed] == ["start", "v1"]
    header, start, v1 = cli.ok("tag", "list").out.splitlines()
    assert header.split() == ["tag", "commit", "branch", "made"]
    assert start.split()[:3] == ["start", made["graph_commit_id"], "main"]
    assert v1.split()[:3] == ["v1", cli.head(), "main"]
    assert cli.ok("tag", "delete", "start").out == "Deleted tag start.\n"
    assert cli.ok("tag", "delete", "v1", "--json").json == {"deleted": "v1"}
    assert cli.ok("tag", "list", "--json").json == {"tags": []}


def test_a_tag_is_a_moment(cli: Cli) -> None:
    cli.ok("tag", "create", "v1")
    cli.ok("load", stdin='{"type":"Person","data":{"name":"cy"}}')
    assert cli.ok("snapshot", "Person", "--at", "v1", "--json").json["row_count"] == 2
    assert cli.ok("branch", "create", "again", "--from", "v1").out.endswith("(v2).\n")


def test_says_what_is_wrong(cli: Cli) -> None:
    cli.ok("tag", "create", "v1")
    assert cli("tag", "create", "v1").code == 4
    assert cli("tag", "create", "main").code == 4
    assert cli("branch", "create", "v1").code == 4
    assert cli("tag", "create", "a b").code == 2
    assert cli("tag", "create", "v2", "--at", "nowhere").code == 3
    assert cli("tag", "delete", "v2").code == 3
    assert cli("load", "people.ndjson", "--branch", "v1").code == 3
