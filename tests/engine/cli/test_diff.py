"""`omnigraph branch diff` and `omnigraph changes` show what differs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from engine.cli.conftest import Cli, Outcome
from engine.cli.test_pipes import on_a_terminal


def lines(outcome: Outcome) -> list[Any]:
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.fixture
def edited(cli: Cli) -> Cli:
    """A branch where bob is older, eve is new, and ada is gone with her edge."""
    cli.ok("branch", "create", "draft")
    people = [{"name": "bob", "age": 26}, {"name": "eve", "born": "2000-01-01"}]
    text = "\n".join(json.dumps({"type": "Person", "data": data}) for data in people)
    cli.ok("load", "--branch", "draft", stdin=text)
    cli.ok("mutate", "--branch", "draft", "-e", 'query q() { delete Person where name = "ada" }')
    return cli


def test_one_line_per_entity(edited: Cli) -> None:
    found = lines(edited.ok("branch", "diff", "main", "draft"))
    assert [(e["op"], e["type_name"], e["id"]) for e in found] == [
        ("delete", "Person", "ada"),
        ("update", "Person", "bob"),
        ("insert", "Person", "eve"),
        ("delete", "Knows", "k1"),
    ]
    assert found[1]["before"]["properties"]["age"] == 25
    assert found[1]["after"]["properties"]["age"] == 26
    assert found[3]["endpoints"] == {"src": "ada", "dst": "bob"}
    assert lines(edited.ok("branch", "diff", "main", "draft", "--json")) == found
    assert lines(edited.ok("branch", "diff", "draft", "main"))[0]["op"] == "insert"


def test_narrowed_down(edited: Cli) -> None:
    narrowed = edited.ok(
        "branch", "diff", "main", "draft", "--type", "Person", "--op", "delete", "--kind", "node"
    )
    assert [e["id"] for e in lines(narrowed)] == ["ada"]
    assert edited.ok("branch", "diff", "main", "main").out == ""


def test_counted(edited: Cli) -> None:
    counted = edited.ok("branch", "diff", "main", "draft", "--stats", "--json").json
    assert counted == {
        "from": edited.head(),
        "to": edited.head("draft"),
        "inserts": 1,
        "updates": 1,
        "deletes": 2,
        "types": ["Person", "Knows"],
    }
    header, row = edited.ok("branch", "diff", "main", "draft", "--stats").out.splitlines()
    assert header.split() == ["inserts", "updates", "deletes", "types"]
    assert row.split() == ["1", "1", "2", "Person,", "Knows"]


def test_for_people(edited: Cli) -> None:
    _, shown = on_a_terminal("branch", "diff", "main", "draft", stdout=True)
    text = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert "age 25 → 26" in text
    assert "from ada" in text
    _, nothing = on_a_terminal("branch", "diff", "main", "main", stdout=True)
    assert nothing.strip() == "No changes."


def test_changes_of_a_commit(edited: Cli) -> None:
    cause, *found = lines(edited.ok("changes", edited.head("draft")))
    assert cause["cause"]["graph_commit_id"] == edited.head("draft")
    assert cause["cause"]["authored_branch"] == "draft"
    assert [(c["op"], c["type"]["name"], c["id"]) for c in found] == [
        ("delete", "Person", "ada"),
        ("delete", "Knows", "k1"),
    ]
    counted = edited.ok("changes", edited.head("draft"), "--stats", "--json").json
    assert (counted["deletes"], counted["graph_commit_id"]) == (2, edited.head("draft"))
    _, shown = on_a_terminal("changes", edited.head("draft"), stdout=True)
    assert edited.head("draft") in shown


def test_what_cannot_be_compared_is_said(cli: Cli) -> None:
    assert cli("branch", "diff", "main", "nowhere").code == 3
    assert cli("branch", "diff", "main", "main", "--type", "Persn").code == 3
    assert cli("branch", "diff", "main", "main", "--op", "upsert").code == 2
    assert cli("branch", "diff", "main").code == 2
    genesis = cli.ok("commit", "list", "--json").json["commits"][-1]["graph_commit_id"]
    outcome = cli("changes", genesis, "--json")
    assert (outcome.code, outcome.error["code"]) == (4, "parentless_commit")
    cli.ok("schema", "apply", "social-v2.pg")
    outcome = cli("changes", cli.head(), "--json")
    assert (outcome.code, outcome.error["code"]) == (4, "schema_boundary")
