"""`omnigraph init` creates a graph, once."""

from __future__ import annotations

from pathlib import Path

from engine.cli.conftest import SCHEMA, Cli


def test_creates_a_graph(bare: Cli) -> None:
    outcome = bare.ok("init", "social.pg", "social.omni")
    assert outcome.out == f"Created {bare.store} with 1 node and 1 edge types.\n"
    assert (
        bare.ok("snapshot", "--store", "social.omni", "--json").json["graph_manifest_version"] == 1
    )


def test_says_what_it_made_to_programs(bare: Cli) -> None:
    made = bare.ok("init", "social.pg", "social.omni", "--actor", "ada", "--json").json
    shown = bare.ok("commit", "show", made["graph_commit_id"], "--store", "social.omni", "--json")
    assert made == {
        "uri": str(bare.store),
        "graph_commit_id": shown.json["graph_commit_id"],
        "nodes": ["Person"],
        "edges": ["Knows"],
    }
    assert shown.json["actor_id"] == "ada"


def test_creates_it_where_the_store_is_named(bare: Cli) -> None:
    bare.ok("--store", "elsewhere", "init", "social.pg")
    assert Path("elsewhere/__manifest").is_dir()


def test_reads_a_schema_from_stdin(bare: Cli) -> None:
    bare.ok("init", "-", "social.omni", stdin=SCHEMA)
    assert bare("init", "-", "other.omni", stdin=b"\xff").code == 2


def test_a_second_one_in_the_same_place_is_a_conflict(cli: Cli) -> None:
    outcome = cli("init", "social.pg", "social.omni")
    assert outcome.code == 4
    assert "there is a graph at" in outcome.err
    assert cli.ok("snapshot", "--json").json["graph_manifest_version"] == 2


def test_a_schema_with_a_mistake_points_at_it_and_leaves_nothing(bare: Cli) -> None:
    Path("bad.pg").write_text("node Person {\n  name Sting\n}\n")
    outcome = bare("init", "bad.pg", "social.omni")
    assert outcome.code == 2
    assert "bad.pg:2:" in outcome.err
    assert "^" in outcome.err
    assert not bare.store.exists()


def test_a_missing_schema_file_is_not_found(bare: Cli) -> None:
    assert bare("init", "nowhere.pg", "social.omni").code == 3
    assert bare("init", "node {", "social.omni").code == 3, "a file name, whatever it looks like"


def test_a_place_that_cannot_be_named_is_a_bad_input(bare: Cli) -> None:
    assert bare("init", "social.pg", "ftp://host/graph").code == 2
    assert bare("init", "social.pg").code == 2
