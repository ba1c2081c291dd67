"""`omnigraph mutate` changes a branch in one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.conftest import Cli

ADD = 'query add() { insert Person { name: "eve" }  insert Knows { from: "eve", to: "ada" } }'
GROW = ("mutate", "grow", "--file", "people.gq", "--params")


def test_says_what_it_affected_and_in_which_commit(cli: Cli) -> None:
    outcome = cli.ok("mutate", "-e", ADD)
    assert outcome.out == (f"Affected 1 node and 1 edge of main in commit {cli.head()} (v3).\n")
    shown = cli.ok("mutate", "-e", 'query d() { delete Person where name = "eve" }', "--json").json
    assert (shown["affected_nodes"], shown["affected_edges"]) == (1, 1)
    assert shown["query_name"] == "d"
    assert shown["commit"]["graph_commit_id"] == cli.head()


def test_actor_and_message_are_kept(cli: Cli) -> None:
    cli.ok("mutate", "-e", ADD, "--actor", "ana", "--message", "welcome")
    (commit, *_) = cli.ok("commit", "list", "--json").json["commits"]
    assert (commit["actor_id"], commit["message"]) == ("ana", "welcome")


def test_no_match_is_no_commit(cli: Cli) -> None:
    head = cli.head()
    outcome = cli.ok(*GROW, '{"name": "nobody", "age": 1}')
    assert outcome.out == "Nothing matched; main is unchanged.\n"
    assert cli.ok(*GROW, '{"name": "nobody", "age": 1}', "--json").json["commit"] is None
    assert cli.head() == head


def test_writes_to_the_branch_it_is_told(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    cli.ok(*GROW, '{"name": "ada", "age": 37}', "--branch", "draft")
    oldest = ("query", "oldest", "--file", "people.gq", "--json", "--at")
    assert cli.ok(*oldest, "draft").json["rows"][0]["p.age"] == 37
    assert cli.ok(*oldest, "main").json["rows"][0]["p.age"] == 36


def test_a_stored_mutation_is_called_by_name(cli: Cli) -> None:
    cli.ok("queries", "register", "people.gq")
    asked = ("mutate", "grow", "--params", '{"name": "ada", "age": 37}', "--json")
    assert cli.ok(*asked).json["affected_nodes"] == 1


def test_a_token_of_a_read_guards_the_write(cli: Cli) -> None:
    token = cli.ok("query", "oldest", "--file", "people.gq", "--json").json["graph_commit_id"]
    cli.ok("mutate", "-e", ADD, "--if-commit", token)
    outcome = cli("mutate", "-e", ADD, "--if-commit", token)
    assert outcome.code == 4
    assert cli("mutate", "-e", ADD, "--if-commit", token, "--json").error["code"] == (
        "precondition_failed"
    )


def test_a_text_may_come_through_a_pipe(cli: Cli) -> None:
    assert cli.ok(
        "mutate",
        stdin=ADD,
    ).out.startswith("Affected 1 node")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-e", 'query q() { insert Knows { from: "ada", to: "nobody" } }'), 2, "endpoint("),
        (("-e", "query q() { insert Person { age: 5 } }"), 2, "T12"),
        (("-e", 'query q() { update Person set { name: "x" } where age = 36 }'), 2, "key"),
        (("-e", f"{ADD[:-1]} delete Person where age = 1 }}"), 2, "D2"),
        (("oldest", "--file", "people.gq"), 2, "Run it with query."),
        (("-e", ADD, "--branch", "nowhere"), 3, "nowhere"),
        (("-e", ADD, "--branch", "main@v1"), 2, "snapshot"),
        (("-e", ADD, "--if-commit", "newest"), 2, "commit id"),
        (("nosuch",), 3, "no stored query"),
        (("--file", "nosuch.gq"), 3, "no query file"),
    ],
)
def test_what_is_refused_changes_nothing(
    cli: Cli, arguments: tuple[str, ...], code: int, words: str
) -> None:
    head = cli.head()
    outcome = cli("mutate", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert cli.head() == head


def test_an_error_names_the_file(cli: Cli) -> None:
    Path("bad.gq").write_text("query q() { insert Persn { age: 5 } }")
    assert cli("mutate", "--file", "bad.gq").err.startswith("Error: T10: bad.gq:1:20 ")


def test_speaks_of_branches_and_formats_as_a_read_does(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    asked = (*GROW, '{"name": "ada", "age": 37}', "--at", "draft", "--format", "json")
    assert cli.ok(*asked).json["target"]["branch"] == "draft"
    head = cli.head()
    outcome = cli(*GROW, '{"name": "ada", "age": 37}', "--at", "main@v1")
    assert (outcome.code, cli.head()) == (2, head)
