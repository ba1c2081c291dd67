"""`omnigraph branch merge` brings branches together, plans it, and shows conflicts."""

from __future__ import annotations

import json

import pytest

from engine.cli.conftest import Cli


def load(cli: Cli, branch: str, **data: object) -> None:
    record = json.dumps({"type": "Person", "data": data})
    cli.ok("load", "--branch", branch, "--from", "main", stdin=record)


def people(cli: Cli) -> list[str]:
    lines = cli.ok("export", "--type", "Person").out.splitlines()
    return sorted(json.loads(line)["data"]["name"] for line in lines)


@pytest.fixture
def draft(cli: Cli) -> Cli:
    load(cli, "draft", name="cy", age=41)
    return cli


def test_moves_forward_where_nothing_else_happened(draft: Cli) -> None:
    outcome = draft.ok("branch", "merge", "draft")
    assert outcome.out == f"Fast-forwarded main to draft: {draft.head()} (v3).\n"
    assert people(draft) == ["ada", "bob", "cy"]
    assert draft.ok("branch", "merge", "draft").out == "main is up to date with draft already.\n"


def test_merges_what_both_did(draft: Cli) -> None:
    load(draft, "main", name="dee")
    outcome = draft.ok("branch", "merge", "draft", "--delete-source", "--actor", "me")
    first, second = outcome.out.splitlines()
    assert first == f"Merged draft into main: {draft.head()} (v4)."
    assert second == "Deleted branch draft."
    assert people(draft) == ["ada", "bob", "cy", "dee"]
    commit = draft.ok("commit", "list", "--json").json["commits"][0]
    assert (commit["actor_id"], commit["message"]) == ("me", "merge draft")


def test_says_why_the_source_stays(draft: Cli) -> None:
    result = draft.ok("branch", "merge", "main", "--into", "draft", "--delete-source").out
    assert "main was not deleted: main cannot be deleted." in result


def test_a_plan_changes_nothing(draft: Cli) -> None:
    load(draft, "main", name="cy", age=42)
    load(draft, "draft", name="eve")
    before = draft.head()
    lines = draft.ok("branch", "merge", "draft", "--plan").out.splitlines()
    assert lines[0] == "draft into main: merged"
    assert lines[1].split() == ["table", "how", "inserted", "updated", "deleted"]
    assert lines[2].split() == ["node:Person", "merged", "1", "0", "0"]
    assert lines[4].split()[:4] == ["divergent_insert", "node", "Person", "cy"]
    assert "on_conflict='ours'" in lines[5]
    plan = draft.ok("branch", "merge", "draft", "--plan", "--json").json
    assert plan["conflict_counts"] == {"divergent_insert": 1}
    assert plan["tables"]["node:Person"]["inserted"] == 1
    assert draft.head() == before


def test_conflicts_are_shown_and_change_nothing(draft: Cli) -> None:
    load(draft, "main", name="cy", age=42)
    before = draft.head()
    outcome = draft("branch", "merge", "draft")
    assert outcome.code == 4
    assert outcome.out.splitlines()[1].split()[:4] == ["divergent_insert", "node", "Person", "cy"]
    assert "draft cannot be merged into main: 1 conflict (1 divergent_insert)" in outcome.err
    assert "Change one of the branches" in outcome.err
    error = draft("branch", "merge", "draft", "--json").error
    assert error["code"] == "merge_conflicts"
    assert [c["entity_id"] for c in error["merge_conflicts"]] == ["cy"]
    assert draft.head() == before


@pytest.mark.parametrize(("side", "age"), [("ours", 42), ("theirs", 41)])
def test_conflicts_can_be_decided(draft: Cli, side: str, age: int) -> None:
    load(draft, "main", name="cy", age=42)
    draft.ok("branch", "merge", "draft", "--on-conflict", side)
    lines = draft.ok("export", "--type", "Person").out.splitlines()
    ages = {r["data"]["name"]: r["data"].get("age") for r in map(json.loads, lines)}
    assert ages["cy"] == age


def test_properties_can_go_together(cli: Cli) -> None:
    load(cli, "draft", name="ada", age=37, born="1815-12-10")
    load(cli, "main", name="ada", age=36, born="1970-01-02")
    assert cli("branch", "merge", "draft").code == 4
    cli.ok("branch", "merge", "draft", "--granularity", "property")
    lines = cli.ok("export", "--type", "Person").out.splitlines()
    ada = next(r["data"] for r in map(json.loads, lines) if r["data"]["name"] == "ada")
    assert (ada["age"], ada["born"]) == (37, 1)


def test_bad_names_and_values(draft: Cli) -> None:
    assert draft("branch", "merge", "nowhere").code == 3
    assert draft("branch", "merge", "draft", "--into", "nowhere").code == 3
    assert draft("branch", "merge", "main").code == 2
    assert draft("branch", "merge", "draft", "--on-conflict", "mine").code == 2
    assert draft("branch", "merge", "a b").code == 2
