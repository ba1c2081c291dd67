"""History under today's names, by identity, never invented.

The rules are docs/design/branching.md#3-reading-the-past.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

import omnigraph
from omnigraph.errors import InvalidInput, NotFound, Reclaimed
from support.graphs import boats, contents, ids, ndjson, node, refused, rows

SHIPS = "node Ship { imo: String @key  tons: I32? }"


def ships(root: str) -> omnigraph.Graph:
    """Version 2 holds ship a of 5 tons."""
    graph = omnigraph.init(root, SHIPS)
    graph.load(ndjson(node("Ship", imo="a", tons=5)))
    return graph


def test_a_moment_is_named_by_version_commit_or_time(root: str) -> None:
    graph = omnigraph.init(root, SHIPS)
    seen: dict[str, list[str]] = {}
    for imo in "abc":
        commit = graph.load(ndjson(node("Ship", imo=imo))).commit
        time.sleep(0.002)
        instant = datetime.now(UTC).isoformat()
        then = ids(graph, "Ship")
        for name in (commit.id, f"main@{commit.id}", f"main@v{commit.version}", f"main@{instant}"):
            seen[name] = then
    for reader in (graph, omnigraph.open(root)):
        assert {name: ids(reader, "Ship", name) for name in seen} == seen
        assert reader.snapshot("main@v3").version == 3
        assert reader.snapshot("@v3").branch == reader.snapshot("").branch == "main"


def test_a_moment_of_a_branch_is_looked_up_on_that_branch(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    own = graph.load(ndjson(node("Boat", name="Dot")), branch="wip").commit
    other = graph.load(ndjson(node("Boat", name="Eel"))).commit
    assert ids(graph, "Boat", "wip@v3") == ["Ada", "Bly", "Cap", "Dot"]
    assert ids(graph, "Boat", "main@v3") == ["Ada", "Bly", "Cap", "Eel"]
    assert contents(graph, "wip@v2") == contents(graph, "main@v2")
    refused(graph, NotFound, lambda: graph.snapshot(f"main@{own.id}"))
    refused(graph, NotFound, lambda: graph.snapshot(f"wip@{other.id}"))
    assert ids(graph, "Boat", own.id) == ["Ada", "Bly", "Cap", "Dot"]


def test_b25_a_past_commit_still_shows_what_was_deleted_since(root: str) -> None:
    graph = boats(root)
    base = graph.commits()[0].id
    with graph.transaction() as t:
        t.delete("Boat", ["Ada"])
    assert ids(graph, "Boat") == ["Bly", "Cap"]
    assert ids(graph, "Boat", base) == ["Ada", "Bly", "Cap"]


def test_a_renamed_type_reads_its_old_data_under_its_new_name(root: str) -> None:
    graph = ships(root)
    graph.apply_schema('node Vessel @rename_from("Ship") { imo: String @key  tons: I32? }')
    assert rows(graph, "Vessel", "main@v2") == [{"id": "a", "imo": "a", "tons": 5}]
    assert [t.name for t in graph.snapshot("main@v2").types()] == ["Vessel"]
    for moment in ("main@v2", "main"):
        refused(graph, NotFound, lambda moment=moment: rows(graph, "Ship", moment))  # type: ignore[misc]


def test_a_renamed_property_reads_its_old_values_under_its_new_name(root: str) -> None:
    graph = ships(root)
    graph.apply_schema('node Ship { imo: String @key  mass: I32? @rename_from("tons") }')
    for moment in ("main", "main@v2"):
        assert rows(graph, "Ship", moment) == [{"id": "a", "imo": "a", "mass": 5}]
        found = graph.snapshot(moment).scan("Ship", ["mass"], "mass = 5 AND imo <> 'mass'")
        assert found.read_all().to_pylist() == [{"mass": 5}]
    refused(graph, NotFound, lambda: rows(graph, "Ship", "main@v2", ["tons"]))


def test_swapped_names_are_told_apart_in_the_past(root: str) -> None:
    graph = omnigraph.init(root, "node P { a: String?  b: String? }")
    graph.load(ndjson(node("P", id="p", a="1", b="2")))
    graph.apply_schema('node P { c: String? @rename_from("a")  b: String? }')
    graph.apply_schema('node P { c: String?  a: String? @rename_from("b") }')
    graph.apply_schema('node P { b: String? @rename_from("c")  a: String? }')
    for moment in ("main", "main@v2"):
        assert rows(graph, "P", moment) == [{"id": "p", "a": "2", "b": "1"}]
        found = graph.snapshot(moment).scan("P", ["id"], "a = '2' AND `b` = '1'").read_all()
        assert found.num_rows == 1


def test_what_did_not_exist_then_is_an_error_and_never_a_null(root: str) -> None:
    graph = ships(root)
    graph.apply_schema(SHIPS.replace("}", "flag: String? }") + " node Port { name: String @key }")
    assert rows(graph, "Ship") == [{"id": "a", "imo": "a", "tons": 5, "flag": None}]
    past = graph.snapshot("main@v2")
    assert rows(graph, "Ship", "main@v2") == [{"id": "a", "imo": "a", "tons": 5}]
    assert past.schema("Ship").names == ["id", "imo", "tons"]
    assert [t.name for t in past.types()] == ["Ship"]
    for action in (
        lambda: past.scan("Ship", ["flag"]),
        lambda: past.scan("Ship", filter="flag IS NULL"),
        lambda: past.scan("Port"),
        lambda: past.count("Port"),
        lambda: past.get("Port", "x"),
    ):
        error = refused(graph, NotFound, action)
        assert "did not exist" in error.message
        assert not isinstance(error, Reclaimed)


def test_a_dropped_and_added_property_does_not_reach_its_earlier_lifetime(root: str) -> None:
    graph = ships(root)
    graph.apply_schema("node Ship { imo: String @key }")
    graph.apply_schema(SHIPS)
    assert rows(graph, "Ship") == [{"id": "a", "imo": "a", "tons": None}]
    past = graph.snapshot("main@v2")
    assert rows(graph, "Ship", "main@v2") == [{"id": "a", "imo": "a"}]
    for action in (
        lambda: past.scan("Ship", ["tons"]),
        lambda: past.scan("Ship", filter="tons = 5"),
        lambda: past.scan("Ship", filter="imo = 'tons' OR `tons` = 5"),
    ):
        assert "did not exist" in refused(graph, NotFound, action).message
    assert past.scan("Ship", filter="imo <> 'tons'").read_all().num_rows == 1


def test_a_dropped_and_added_type_does_not_reach_its_earlier_lifetime(root: str) -> None:
    graph = ships(root)
    port = "node Port { name: String @key }"
    graph.apply_schema(port)
    graph.apply_schema(f"{port} {SHIPS}")
    assert rows(graph, "Ship") == []
    refused(graph, NotFound, lambda: rows(graph, "Ship", "main@v2"))
    graph.load(ndjson(node("Ship", imo="z")))
    assert ids(graph, "Ship") == ["z"]
    assert graph.verify(rules=True).ok


def test_what_was_dropped_softly_can_be_asked_for_in_the_past(root: str) -> None:
    graph = ships(root)
    graph.apply_schema("node Ship { imo: String @key }")
    assert rows(graph, "Ship", "main@v2", ["id", "tons"]) == [{"id": "a", "tons": 5}]
    graph.apply_schema("node Port { name: String @key }")
    assert ids(graph, "Ship", "main@v2") == ["a"]
    refused(graph, NotFound, lambda: graph.snapshot().scan("Ship"))


def test_what_was_dropped_hard_is_reclaimed_in_the_past(root: str) -> None:
    graph = ships(root)
    graph.load(ndjson(node("Ship", imo="b", tons=6)))
    graph.apply_schema("node Ship { imo: String @key }", allow_data_loss=True)
    for reader in (graph, omnigraph.open(root)):
        assert rows(reader, "Ship") == [{"id": "a", "imo": "a"}, {"id": "b", "imo": "b"}]
        for moment in ("main@v2", "main@v3"):
            past = reader.snapshot(moment)
            for action in (
                lambda past=past: past.scan("Ship", ["id"]),
                lambda past=past: past.count("Ship"),
                lambda reader=reader, moment=moment: reader.create_branch("back", moment),
            ):
                refused(reader, Reclaimed, action)
        assert reader.verify(rules=True).ok


def test_a_hard_drop_of_one_type_leaves_the_past_of_the_others(root: str) -> None:
    graph = omnigraph.init(root, SHIPS + " node Port { name: String @key }")
    graph.load(ndjson(node("Ship", imo="a"), node("Port", name="p")))
    graph.create_branch("old")
    graph.apply_schema("node Port { name: String @key }", allow_data_loss=True)
    for reader in (graph, omnigraph.open(root)):
        assert ids(reader, "Port", "main@v2") == ["p"]
        refused(reader, Reclaimed, lambda reader=reader: ids(reader, "Ship", "main@v2"))  # type: ignore[misc]
        assert ids(reader, "Ship", "old") == ["a"]
        assert reader.verify(rules=True).ok


def test_each_branch_reads_the_past_under_its_own_names(root: str) -> None:
    graph = ships(root)
    graph.create_branch("draft")
    graph.apply_schema(
        'node Vessel @rename_from("Ship") { imo: String @key  tons: I32? }', branch="draft"
    )
    assert ids(graph, "Vessel", "draft@v2") == ids(graph, "Ship", "main@v2") == ["a"]
    refused(graph, NotFound, lambda: ids(graph, "Ship", "draft@v2"))
    refused(graph, NotFound, lambda: ids(graph, "Vessel", "main@v2"))


def test_a_choice_of_no_columns_is_refused_in_the_past_too(root: str) -> None:
    graph = ships(root)
    with pytest.raises(InvalidInput):
        graph.snapshot("main@v2").scan("Ship", [])
