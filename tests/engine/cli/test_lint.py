"""`omnigraph lint` checks a .gq file as a whole."""

from __future__ import annotations

from pathlib import Path

from engine.cli.conftest import Cli


def test_warnings_alone_are_fine(cli: Cli) -> None:
    assert cli.ok("lint", "people.gq").out.splitlines() == [
        "warning: L201: no update query sets Person.born",
        "3 queries: 0 errors, 1 warning.",
    ]
    shown = cli.ok("lint", "people.gq", "--json").json
    assert (shown["status"], shown["queries_processed"]) == ("ok", 3)


def test_every_error_is_shown_where_it_is(cli: Cli) -> None:
    Path("bad.gq").write_text(
        "query a() { match { $p: Persn } return { $p } }\n"
        "query b() { match { $p: Person } return { $p.agee } }\n"
    )
    outcome = cli("lint", "bad.gq")
    assert (outcome.code, outcome.err) == (2, "")
    assert "error: T1: bad.gq:1:25 " in outcome.out
    assert "error: T6: bad.gq:2:" in outcome.out
    assert "^^^^^" in outcome.out
    assert outcome.out.splitlines()[-1] == "2 queries: 2 errors, 0 warnings."
    outcome = cli("lint", "bad.gq", "--json")
    assert outcome.code == 2
    assert [f["code"] for f in outcome.json["findings"]] == ["T1", "T6"]
    assert outcome.json["findings"][0]["message"].startswith("T1: bad.gq:1:25 ")


def test_a_file_that_does_not_parse_is_one_error(cli: Cli) -> None:
    outcome = cli("lint", "-", stdin="query a( {")
    assert outcome.code == 2
    assert outcome.out.startswith("error: Q000: <stdin>:1:10 ")
    assert outcome.out.splitlines()[-1] == "0 queries: 1 error, 0 warnings."


def test_the_schema_is_that_of_the_moment(cli: Cli) -> None:
    cli.ok("branch", "create", "draft")
    cli.ok("schema", "apply", "social-v2.pg", "--branch", "draft")
    nick = "query n() { match { $p: Person } return { $p.nick } }"
    assert cli("lint", "-", stdin=nick).code == 2
    cli.ok("lint", "-", "--at", "draft", stdin=nick)


def test_a_missing_file_is_not_found(cli: Cli) -> None:
    assert cli("lint", "nosuch.gq").code == 3


def test_the_text_is_given_as_for_every_other_command(cli: Cli) -> None:
    text = "query a() { match { $p: Persn } return { $p } }"
    assert cli("lint", "-e", text).out.startswith("error: T1: <text>:1:25 ")
    by_place, by_option = cli("lint", "people.gq"), cli("lint", "--file", "people.gq")
    assert by_place.out == by_option.out
    assert cli("lint", "people.gq", "-e", text).code == 2
    assert cli("lint", "people.gq", "--file", "people.gq").code == 2
