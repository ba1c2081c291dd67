"""`omnigraph schema` shows, plans and applies."""

from __future__ import annotations

from pathlib import Path

from engine.cli.conftest import SCHEMA, Cli


def test_shows_the_source(cli: Cli) -> None:
    assert cli.ok("schema", "show").out == SCHEMA
    cli.ok("schema", "apply", "social-v2.pg")
    assert cli.ok("schema", "show", "--at", "main@v1", "--json").json == {
        "at": "main@v1",
        "source": SCHEMA,
    }
    assert "nick" in cli.ok("schema", "show").out


def test_plans_without_changing_anything(cli: Cli) -> None:
    before = cli.head()
    header, step = cli.ok("schema", "plan", "social-v2.pg").out.splitlines()
    assert header.split() == ["step", "of", "details"]
    assert step.split() == ["add", "property", "node", "Person.nick", "property_type:", "String?"]
    assert cli.ok("schema", "plan", "social-v2.pg", "--json").json == {
        "supported": True,
        "steps": [
            {
                "kind": "add_property",
                "type_kind": "node",
                "type_name": "Person",
                "property_name": "nick",
                "property_type": "String?",
            }
        ],
        "diagnostics": [],
    }
    assert cli.head() == before


def test_applies_in_one_commit_to_one_branch(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    options = ("--branch", "draft", "--actor", "ada", "--message", "nicknames")
    applied = cli.ok("schema", "apply", "social-v2.pg", *options, "--json").json
    assert applied["applied"] is True
    assert applied["commit"]["graph_commit_id"] == cli.head("draft")
    assert (applied["commit"]["actor_id"], applied["commit"]["message"]) == ("ada", "nicknames")
    assert cli.ok("schema", "show").out == SCHEMA


def test_applying_the_same_schema_does_nothing(cli: Cli) -> None:
    outcome = cli.ok("schema", "apply", "social.pg")
    assert outcome.out == "The schema is unchanged; there is nothing to do.\n"
    assert cli.ok("schema", "apply", "social.pg", "--json").json["commit"] is None


def test_reads_stdin(cli: Cli) -> None:
    outcome = cli.ok("schema", "apply", "-", stdin=Path("social-v2.pg").read_text())
    assert outcome.out.splitlines()[-1] == f"Applied in commit {cli.head()} (v3)."


def test_a_change_that_cannot_be_made_is_refused_by_both(cli: Cli) -> None:
    Path("bad.pg").write_text(SCHEMA.replace("age: I32?", "age: String?"))
    planned = cli("schema", "plan", "bad.pg", "--json")
    assert (planned.code, planned.json["supported"], planned.err) == (2, False, "")
    assert "unsupported change" in cli("schema", "plan", "bad.pg").out
    applied = cli("schema", "apply", "bad.pg")
    assert applied.code == 2
    assert "age cannot change" in applied.err


def test_dropped_data_is_purged_only_when_allowed(cli: Cli) -> None:
    Path("less.pg").write_text(SCHEMA.replace("  born: Date?\n", ""))
    step = cli.ok("schema", "plan", "less.pg", "--json").json["steps"][0]
    assert (step["kind"], step["mode"]) == ("drop_property", "soft")
    step = cli.ok("schema", "plan", "less.pg", "--allow-data-loss", "--json").json["steps"][0]
    assert step["mode"] == "hard"
    cli.ok("schema", "apply", "less.pg", "--allow-data-loss")
    assert cli("snapshot", "Person", "--at", "main@v2").code == 3, "its past is reclaimed"


def test_missing_files_and_mistakes(cli: Cli) -> None:
    assert cli("schema", "apply", "nowhere.pg").code == 3
    assert cli("schema", "plan", ".").code == 2
    assert cli("schema", "plan", "social.pg", "--branch", "nowhere").code == 3
    Path("broken.pg").write_text("node {")
    assert cli("schema", "apply", "broken.pg", "--json").error["code"] == "parse_error"
