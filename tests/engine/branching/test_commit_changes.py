"""What one commit changed, against its first parent.

The rules are docs/design/branching.md#5-commit-changes-and-feed.
"""

from __future__ import annotations

import json
import tempfile
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import omnigraph
from engine.branching.recorded import History, data_histories
from omnigraph import Graph
from omnigraph.branching.compare import range_partition
from omnigraph.errors import NotFound, ParentlessCommit, Reclaimed, SchemaBoundary
from support.graphs import BOATS, boats


@pytest.fixture
def graph(root: str) -> Graph:
    return boats(root)


def head(graph: Graph, branch: str = "main") -> str:
    return graph.snapshot(branch).commit


def merged(graph: Graph, source: str) -> str:
    """Merge a branch into main; the commit."""
    commit = graph.merge(source).commit
    assert commit is not None
    return commit.id


def test_b23_a_deleted_node_comes_before_the_edge_it_took_along(graph: Graph) -> None:
    parent = head(graph)
    with graph.transaction(actor="eve") as txn:
        txn.delete("Boat", ["Bly"])
    commit = graph.commit(head(graph))
    boat, meets = (graph.schema().catalog.type_for(k) for k in ("node:Boat", "edge:Meets"))
    assert graph.changes(commit.id).to_json() == {
        "cause": {
            "graph_commit_id": commit.id,
            "parent_commit_id": parent,
            "actor_id": "eve",
            "authored_at": commit.to_json()["created_at"],
        },
        "changes": [
            {
                "kind": "node",
                "type": {"id": boat.identity, "name": "Boat"},
                "id": "Bly",
                "op": "delete",
                "before": {"properties": {"name": "Bly", "crew": 3, "flag": None, "reg": None}},
            },
            {
                "kind": "edge",
                "type": {"id": meets.identity, "name": "Meets"},
                "id": "m1",
                "op": "delete",
                "before": {"properties": {}, "endpoints": {"from": "Bly", "to": "Cap"}},
            },
        ],
    }


def test_b24_an_update_to_equal_values_is_an_empty_block(graph: Graph) -> None:
    before = head(graph)
    done = graph.mutate('query q() { update Boat set { crew: 2 } where name = "Ada" }')
    assert head(graph) != before
    assert done.to_json()["affected_nodes"] == 1
    assert list(graph.changes(head(graph))) == []


def test_maintenance_is_an_empty_block(graph: Graph) -> None:
    for crew in range(3):
        with graph.transaction() as txn:
            txn.upsert("Boat", [{"name": "Ada", "crew": crew}])
    before = head(graph)
    graph.optimize()
    assert head(graph) != before
    assert graph.changes(head(graph)).to_json()["changes"] == []


def test_changes_come_by_type_then_id_whatever_was_done(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Zoe"}, {"name": "Ada", "crew": 3}, {"name": "Bee"}])
        txn.delete("Boat", ["Cap"])
        txn.upsert("Tows", [{"id": "t", "src": "Ada", "dst": "Bly"}])
        txn.upsert("Meets", [{"id": "m", "src": "Ada", "dst": "Bly"}])
    found = [(c.kind, c.type_name, c.id, c.op) for c in graph.changes(head(graph))]
    identities = {t.name: t.identity for t in graph.schema().catalog.types()}
    assert sorted(found, key=lambda c: (c[0] != "node", identities[c[1]], c[2])) == found
    assert [c[2:] for c in found if c[1] == "Boat"] == [
        ("Ada", "update"),
        ("Bee", "insert"),
        ("Cap", "delete"),
        ("Zoe", "insert"),
    ]
    (update,) = [c for c in graph.changes(head(graph)) if c.op == "update"]
    assert update.before is not None and update.before["properties"]["crew"] == 2
    assert update.after is not None and update.after["properties"]["crew"] == 3


def test_a_merge_is_compared_with_its_first_parent(graph: Graph) -> None:
    start = head(graph)
    graph.create_branch("wip")
    for name in ("Dot", "Eel"):
        with graph.transaction("wip") as txn:
            txn.insert("Boat", [{"name": name}])
    tip = head(graph, "wip")
    found = graph.changes(merged(graph, "wip"))
    assert found.cause.parent_commit_id == start
    assert found.cause.to_json()["merged_parent_commit_id"] == tip
    assert [(c.op, c.id) for c in found] == [("insert", "Dot"), ("insert", "Eel")]
    assert "authored_branch" not in found.cause.to_json()
    assert graph.changes(tip).cause.authored_branch == "wip"


def test_a_merge_of_moved_branches_shows_what_came_from_the_source(graph: Graph) -> None:
    graph.create_branch("wip")
    with graph.transaction("wip") as txn:
        txn.upsert("Boat", [{"name": "Ada", "crew": 5}])
        txn.delete("Boat", ["Cap"])
    with graph.transaction() as txn:
        txn.insert("Boat", [{"name": "Eel"}])
    found = graph.changes(merged(graph, "wip"))
    assert [(c.op, c.id) for c in found] == [("update", "Ada"), ("delete", "Cap"), ("delete", "m1")]


def test_a_type_that_a_merge_brings_with_data_is_a_boundary(graph: Graph) -> None:
    graph.create_branch("wip")
    graph.apply_schema(BOATS + "node Crane { name: String @key }", branch="wip")
    with graph.transaction("wip") as txn:
        txn.insert("Crane", [{"name": "big"}])
    commit = merged(graph, "wip")
    with pytest.raises(SchemaBoundary) as caught:
        graph.changes(commit)
    assert caught.value.details["schema_boundary"]["types"] == ["Crane"]


def test_the_commit_that_created_the_graph_has_no_parent(graph: Graph) -> None:
    genesis = graph.commits()[-1].id
    with pytest.raises(ParentlessCommit) as caught:
        graph.changes(genesis)
    assert caught.value.to_json()["parentless_commit"] == {"graph_commit_id": genesis}


def test_an_unknown_commit_is_not_found(graph: Graph) -> None:
    with pytest.raises(NotFound):
        graph.changes("01JCQ8Z5M3V7T9K2X4B6N8D0FH")


def test_a_collected_parent_is_said_to_be(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.insert("Boat", [{"name": "Dot"}])
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        graph.changes(head(graph))


@pytest.mark.parametrize(
    "change",
    [
        ("crew: I32?", "crew: I64?"),
        ("crew: I32?", 'sailors: I32? @rename_from("crew")'),
        ("crew: I32?", "crew: I32?  length: F64?"),
        ("crew: I32?", ""),
        ("edge Meets: Boat -> Boat", ""),
    ],
)
def test_a_new_schema_for_stored_entities_is_a_boundary(
    graph: Graph, change: tuple[str, str]
) -> None:
    parent = head(graph)
    graph.apply_schema(BOATS.replace(*change))
    with pytest.raises(SchemaBoundary) as caught:
        graph.changes(head(graph))
    facts = caught.value.to_json()["schema_boundary"]
    assert facts["graph_commit_id"] == head(graph)
    assert facts["parent_commit_id"] == parent
    assert facts["types"] == (["Meets"] if "Meets" in change[0] else ["Boat"])


@pytest.mark.parametrize(
    "change",
    [
        ("edge Tows: Boat -> Boat @card(0..1)", "edge Tows: Boat -> Boat { rope: F32? }"),
        ("edge Tows", "node Crane { reach: F32 }\nedge Tows"),
        ("edge Meets: Boat -> Boat", 'edge Sees: Boat -> Boat @rename_from("Meets")'),
    ],
)
def test_a_new_schema_where_no_image_changes_is_an_empty_block(
    graph: Graph, change: tuple[str, str]
) -> None:
    graph.apply_schema(BOATS.replace(*change))
    assert list(graph.changes(head(graph))) == []


def test_names_are_those_of_the_commit_and_type_ids_survive(graph: Graph) -> None:
    commit = head(graph)
    before = graph.changes(commit).to_json()
    source = BOATS.replace("Boat", "Ship").replace("node Ship", 'node Ship @rename_from("Boat")')
    graph.apply_schema(source)
    with graph.transaction() as txn:
        txn.insert("Ship", [{"name": "Dot"}])
    assert graph.changes(commit).to_json() == before
    (change,) = graph.changes(head(graph))
    assert change.type_name == "Ship"
    assert change.type_id == before["changes"][0]["type"]["id"]


def test_texts_batches_and_values_say_the_same(root: str) -> None:
    graph = omnigraph.init(
        root, "node Odd { name: String @key  day: Date?  at: DateTime?  raw: Blob?  xs: [F64]? }"
    )
    with graph.transaction() as txn:
        txn.insert(
            "Odd",
            [
                {"name": 'a"\\\n\u2028é', "day": "2024-02-29", "at": "2024-02-29T12:00:00Z"},
                {"name": "b", "raw": b"\x00\xff", "xs": [1.0, -0.0]},
            ],
        )
    found = graph.changes(head(graph))
    texts = [json.loads(text) for text in found.texts()]
    assert texts == [change.to_json() for change in found]
    assert [t["after"]["properties"]["name"] for t in texts] == ['a"\\\n\u2028é', "b"]
    assert texts[0]["after"]["properties"]["day"] == 19782
    assert texts[1]["after"]["properties"]["raw"] == "base64:AP8="
    read = found.reader().read_all()
    assert [json.loads(t) for t in read.column("after").to_pylist()] == [t["after"] for t in texts]


def test_a_big_commit_streams_in_order(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_partition, "RANGE_ROWS", 1_000)
    graph = omnigraph.init(root, BOATS)
    names = [f"boat-{i * 7919 % 10_000:05d}" for i in range(10_000)]
    graph.load(pa.table({"name": names}), type="Boat", mode="overwrite")
    batches = list(graph.changes(head(graph)).batches())
    assert max(batch.num_rows for batch in batches) <= 4_096
    ids = [id_ for batch in batches for id_ in batch.column("id").to_pylist()]
    assert ids == sorted(names)


@settings(max_examples=15)
@given(steps=data_histories)
def test_applying_the_changes_of_every_commit_rebuilds_every_moment(
    steps: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(f"{folder}/graph")
        for step in steps:
            history.apply(step)
        graph = history.graph
        names = {
            t.identity: {p.identity: p.name for p in t.properties}
            for t in graph.schema().catalog.types()
        }
        copies = {copy.commit: copy.tables for copy in history.copies}
        state: dict[int, dict[str, Any]] = {identity: {} for identity in names}
        for commit in reversed(graph.commits()[:-1]):
            for change in graph.changes(commit.id):
                old = state[change.type_id].pop(change.id, None)
                assert change.before == old
                assert (change.op == "insert") == (old is None)
                if change.after is not None:
                    state[change.type_id][change.id] = change.after
                assert (change.op == "delete") == (change.after is None)
            shown = {
                identity: {
                    id_: {named.get(k, k): v for k, v in row.items()} for id_, row in rows.items()
                }
                for (identity, rows), named in (
                    (item, names[item[0]]) for item in copies[commit.id].items()
                )
            }
            rebuilt = {
                identity: {
                    id_: image["properties"]
                    | {
                        {"from": "src", "to": "dst"}[end]: node
                        for end, node in image.get("endpoints", {}).items()
                    }
                    for id_, image in rows.items()
                }
                for identity, rows in state.items()
            }
            assert rebuilt == shown
