"""`omnigraph branch` creates, lists and deletes branches."""

from __future__ import annotations

import pytest

import omnigraph
from engine.cli.conftest import Cli


def names(cli: Cli) -> list[str]:
    return [branch["name"] for branch in cli.ok("branch", "list", "--json").json["branches"]]


def test_creates_at_the_head_of_main(cli: Cli) -> None:
    made = cli.ok("branch", "create", "draft", "--json").json
    assert made == {
        "name": "draft",
        "graph_commit_id": cli.head(),
        "graph_manifest_version": 2,
        "forked_from": cli.head(),
        "protected": False,
        "owner": None,
        "expires_at": None,
    }
    assert names(cli) == ["draft", "main"]


@pytest.mark.parametrize("moment", ["main@v1", "v1-of-main"])
def test_creates_at_a_moment(cli: Cli, moment: str) -> None:
    cli.ok("branch", "create", "v1-of-main", "--from", "main@v1")
    outcome = cli.ok("branch", "create", "old", "--from", moment)
    assert outcome.out.endswith("(v1).\n")


def test_lists_for_people(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    header, draft, main = cli.ok("branch", "list").out.splitlines()
    assert header.split() == ["branch", "commit", "version", "forked", "from"]
    assert draft.split() == ["draft", cli.head(), "v2", cli.head()]
    assert main.split() == ["main", cli.head(), "v2", "-"]


def test_deletes(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    assert cli.ok("branch", "delete", "draft").out == "Deleted branch draft.\n"
    assert names(cli) == ["main"]
    cli.ok("branch", "create", "draft")
    assert cli.ok("branch", "delete", "draft", "--json").json == {"deleted": "draft"}


def test_a_name_that_looks_like_an_option_needs_two_dashes(cli: Cli) -> None:
    assert cli("branch", "create", "--json").code == 2
    cli.ok("branch", "create", "--", "--draft")
    assert names(cli) == ["--draft", "main"]
    cli.ok("branch", "delete", "--", "--draft")


@pytest.mark.parametrize(
    "name",
    ["", " ", "..", "a/../b", "/a", "a/", "a//b", "x.lock", "a b", "a@b", "é", "a\nb", "\x1b[31m"]
    + ["'; DROP TABLE x; --", "head:main", "a" * 256, "\udcff", "%2e%2e", "a\\b", "*"],
)
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_a_hostile_name_is_a_bad_input(cli: Cli, verb: str, name: str) -> None:
    outcome = cli("branch", verb, "--", name)
    assert outcome.code == 2, outcome
    assert "is not a branch name" in outcome.err
    assert cli("branch", verb, "--json", "--", name).error["code"] == "bad_request"
    assert names(cli) == ["main"]


def test_what_exists_is_a_conflict_and_what_does_not_is_not_found(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    assert cli("branch", "create", "draft").code == 4
    assert cli("branch", "create", "main").code == 4
    assert cli("branch", "create", "new", "--from", "nowhere").code == 3
    outcome = cli("branch", "delete", "drafd")
    assert outcome.code == 3
    assert "did you mean 'draft'?" in outcome.err
    assert cli("branch", "delete", "main").code == 2


def test_protects_and_lets_go_again(cli: Cli) -> None:
    assert cli.ok("branch", "protect", "main").out.startswith("Branch main is protected")
    assert cli.ok("branch", "list").out.splitlines()[1].endswith("  protected")
    refused = cli("load", "people.ndjson", "--json")
    assert (refused.code, refused.error["code"]) == (4, "branch_protected")
    assert cli("branch", "protect", "nowhere").code == 3
    assert cli.ok("branch", "unprotect", "main", "--json").json["protected"] is False
    cli.ok("load", "people.ndjson")


def test_a_branch_may_have_an_owner_and_an_end(cli: Cli) -> None:
    made = cli.ok("branch", "create", "wip", "--ttl", "24h", "--owner", "ann", "--json").json
    assert made["owner"] == "ann" and made["expires_at"] > 0
    assert "of ann, until " in cli.ok("branch", "list").out
    assert cli("branch", "create", "never", "--ttl", "soon").code == 2


def test_hidden_branches_are_listed_only_on_demand(cli: Cli) -> None:
    omnigraph.open(cli.store).create_branch("__work", hidden=True)
    assert names(cli) == ["main"]
    listed = cli.ok("branch", "list", "--all", "--json").json["branches"]
    assert [branch["name"] for branch in listed] == ["__work", "main"]
