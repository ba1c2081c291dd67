"""`omnigraph queries` keeps queries on a branch, to be called by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.conftest import Cli


@pytest.fixture
def stored(cli: Cli) -> Cli:
    """As `cli`, with the queries of people.gq stored on main."""
    cli.ok("queries", "register", "people.gq", "--actor", "ana")
    return cli


def test_register_stores_every_query_in_one_commit(cli: Cli) -> None:
    outcome = cli.ok("queries", "register", "people.gq", "--actor", "ana")
    assert outcome.out == "Registered friends, oldest, grow on main.\n"
    (commit, *_) = cli.ok("commit", "list", "--json").json["commits"]
    assert (commit["actor_id"], commit["graph_manifest_version"]) == ("ana", 3)
    again = cli.ok("queries", "register", "-", "--json", stdin=Path("people.gq").read_text()).json
    assert again == {"branch": "main", "registered": ["friends", "oldest", "grow"]}
    assert cli.head() == commit["graph_commit_id"]


def test_list_says_how_they_are_called(stored: Cli) -> None:
    header, friends, grow, oldest = stored.ok("queries", "list").out.splitlines()
    assert header.split() == ["name", "kind", "parameters", "description"]
    assert friends.split() == [
        "friends",
        "read",
        "$name:",
        "String",
        "Whom",
        "somebody",
        "knows",
    ]
    assert grow.split() == ["grow", "mutation", "$name:", "String,", "$age:", "I32", "-"]
    assert oldest.split() == ["oldest", "read", "-"]
    shown = stored.ok("queries", "list", "--json").json["queries"]
    assert [query["name"] for query in shown] == ["friends", "grow", "oldest"]
    assert shown[1]["params"] == {"name": "String", "age": "I32"}


def test_show_gives_the_text_back_with_its_comments(stored: Cli) -> None:
    shown = stored.ok("queries", "show", "friends").out
    assert shown == Path("people.gq").read_text().split("\n\n")[0] + "\n"
    assert stored.ok("queries", "show", "friends", "--json").json["kind"] == "read"


def test_remove_leaves_the_past_alone(stored: Cli) -> None:
    assert stored.ok("queries", "remove", "friends").out == "Removed friends from main.\n"
    assert stored("query", "friends").code == 3
    stored.ok("queries", "show", "friends", "--at", "main@v3")
    asked = ("query", "friends", "--params", '{"name": "ada"}', "--json")
    assert stored.ok(*asked, "--at", "main@v3").json["row_count"] == 1
    assert stored.ok("queries", "remove", "grow", "--json").json["removed"] == "grow"


def test_each_branch_has_its_own(stored: Cli) -> None:
    stored.ok("branch", "create", "draft")
    stored.ok("queries", "remove", "oldest", "--branch", "draft")
    assert stored("queries", "show", "oldest", "--at", "draft").code == 3
    stored.ok("queries", "show", "oldest")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "freinds"), 3, "did you mean 'friends'"),
        (("remove", "nosuch"), 3, "nosuch"),
        (("register", "nosuch.gq"), 3, "no query file"),
        (("register", "bad.gq"), 2, "T6: bad.gq:1:"),
        (("register", "-"), 2, "holds no query"),
        (("list", "--at", "nowhere"), 3, "nowhere"),
        (("register", "people.gq", "--branch", "nowhere"), 3, "nowhere"),
    ],
)
def test_what_is_refused_changes_nothing(
    stored: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    Path("bad.gq").write_text("query bad() { match { $p: Person } return { $p.agee } }")
    head = stored.head()
    outcome = stored("queries", *arguments)
    assert outcome.code == code
    assert words in outcome.err
    assert stored.head() == head
