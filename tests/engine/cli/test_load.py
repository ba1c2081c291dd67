"""`omnigraph load` brings entities in, in one commit or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.conftest import PEOPLE, Cli

CY = '{"type":"Person","data":{"name":"cy"}}\n'


def people(cli: Cli, at: str = "main") -> list[str]:
    rows = cli.ok("snapshot", "Person", "--at", at, "--columns", "name", "--json").json["rows"]
    return sorted(row["name"] for row in rows)


def test_loads_a_file(empty: Cli) -> None:
    outcome = empty.ok("load", "people.ndjson")
    first, header, *rows = outcome.out.splitlines()
    assert first.startswith("Loaded 3 entities into main in commit 01")
    assert first.endswith("(v2).")
    assert header.split() == ["type", "kind", "entities"]
    assert [row.split() for row in rows] == [["Person", "node", "2"], ["Knows", "edge", "1"]]


def test_tells_programs_what_the_specification_says(empty: Cli) -> None:
    genesis = empty.head()
    loaded = empty.ok("load", "people.ndjson", "--actor", "ada", "--json").json
    assert loaded == {
        "branch": "main",
        "base_branch": None,
        "branch_created": False,
        "mode": "merge",
        "nodes": [{"name": "Person", "entities": 2}],
        "edges": [{"name": "Knows", "entities": 1}],
        "total_entities": 3,
        "commit": {
            "graph_commit_id": empty.head(),
            "parent_commit_id": genesis,
            "actor_id": "ada",
        },
    }


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_reads_stdin(empty: Cli, arguments: tuple[str, ...]) -> None:
    empty.ok("load", *arguments, stdin=PEOPLE)
    assert people(empty) == ["ada", "bob"]


def test_several_files_are_one_commit(empty: Cli) -> None:
    node, other, edge = PEOPLE.splitlines()
    Path("a.ndjson").write_text(edge)  # no line feed at its end, and its nodes come later
    Path("b.ndjson").write_text(node + "\n\n")
    Path("c.ndjson").write_text("")
    Path("d.ndjson").write_text(other + "\n")
    result = empty.ok("load", "a.ndjson", "b.ndjson", "c.ndjson", "d.ndjson", "--json").json
    assert result["total_entities"] == 3
    assert len(empty.ok("commit", "list", "--json").json["commits"]) == 2


def test_an_error_in_one_of_several_files_names_the_file_and_its_line(cli: Cli) -> None:
    Path("good.ndjson").write_text(CY + "\n" + CY.replace("cy", "dee"))
    Path("bad.ndjson").write_text(CY.replace("cy", "eve") + '{"type":"Person","data":{"age":1}}')
    outcome = cli("load", "good.ndjson", "bad.ndjson", "--json")
    assert outcome.code == 2
    assert outcome.error["error"].startswith("bad.ndjson: line 2: ")
    assert outcome.error["load_error"]["line"] == 2
    assert outcome.error["load_error"]["file"] == "bad.ndjson"
    assert people(cli) == ["ada", "bob"]


def test_append_refuses_what_exists(cli: Cli) -> None:
    before = cli.head()
    outcome = cli("load", "people.ndjson", "--mode", "append", "--json")
    assert outcome.code == 4
    assert outcome.error["key_conflict"]["entity_id"] in ("ada", "k1")
    assert cli.head() == before


def test_overwrite_replaces_a_type(cli: Cli) -> None:
    cli.ok("load", "--mode", "overwrite", stdin=CY + '{"edge":"Knows","from":"cy","to":"cy"}')
    assert people(cli) == ["cy"]


def test_a_missing_branch_is_created_only_when_asked(cli: Cli) -> None:
    assert cli("load", "--branch", "draft", stdin=CY).code == 3
    outcome = cli.ok("load", "--branch", "draft", "--from", "main", "--message", "try", stdin=CY)
    assert "into draft (created from main) in commit" in outcome.out
    assert people(cli, "draft") == ["ada", "bob", "cy"]
    assert people(cli) == ["ada", "bob"]
    assert cli.ok("commit", "show", cli.head("draft"), "--json").json["message"] == "try"


def test_a_typed_file(columnar: Cli) -> None:
    result = columnar.ok("load", "--type", "Person", "people.parquet", "--json").json
    assert result["nodes"] == [{"name": "Person", "entities": 2}]
    assert people(columnar) == ["ada", "bob", "cy", "dee"]


def test_several_typed_files_are_one_commit(columnar: Cli) -> None:
    files = ("--file", "Person=people.parquet", "--file", "Knows=knows.csv")
    result = columnar.ok("load", *files, "--json").json
    assert result["total_entities"] == 3
    assert len(columnar.ok("commit", "list", "--json").json["commits"]) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("--type", "Person"),
        ("--type", "Person", "-"),
        ("--type", "Person", "a.parquet", "b.parquet"),
        ("--file", "people.parquet"),
        ("--file", "=people.parquet"),
        ("--file", "Person="),
        ("--file", "Person=a.parquet", "--file", "Person=b.parquet"),
        ("--file", "Person=a.parquet", "people.ndjson"),
        ("-", "people.ndjson"),
        ("--mode", "replace", "people.ndjson"),
        ("people.parquet", "knows.csv"),
        ("people.parquet",),
        (".", "people.ndjson"),
        (".",),
    ],
)
def test_what_cannot_be_meant_is_refused(cli: Cli, arguments: tuple[str, ...]) -> None:
    before = cli.head()
    outcome = cli("load", *arguments)
    assert outcome.code == 2, outcome
    assert cli.head() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere.ndjson",),
        ("people.ndjson", "nowhere.ndjson"),
        ("--type", "Person", "nowhere.parquet"),
        ("--file", "Person=nowhere.parquet"),
        ("--type", "Nobody", "people.parquet"),
    ],
)
def test_what_is_not_there_is_not_found(columnar: Cli, arguments: tuple[str, ...]) -> None:
    assert columnar("load", *arguments).code == 3


def test_a_constraint_is_a_bad_input(cli: Cli) -> None:
    outcome = cli("load", "--json", stdin='{"edge":"Knows","from":"ada","to":"zoe"}')
    assert outcome.code == 2
    assert outcome.error["violation"]["kind"] == "endpoint"
