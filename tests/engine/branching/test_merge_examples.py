"""The merges of docs/design/branching.md#8-worked-examples, by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.errors import AlreadyExists, InvalidInput, PreconditionFailed
from support.boats import boat, conflicts_of, drop, join, merged, part, put
from support.graphs import boats, contents, ids, rows


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = boats(str(tmp_path / "graph"))
    graph.create_branch("wip")
    return graph


@pytest.fixture(autouse=True)
def _stays_whole(graph: Graph) -> object:
    yield
    assert graph.verify(rules=True).findings == ()


def head(graph: Graph, branch: str = "main") -> str:
    return graph.commits(branch)[0].id


def test_b1_nothing_on_either_side(graph: Graph) -> None:
    assert merged(graph).outcome == "already_up_to_date"


def test_b2_nothing_on_the_source(graph: Graph) -> None:
    put(graph, "main", "Dot")
    assert merged(graph).outcome == "already_up_to_date"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]


def test_b3_a_source_that_is_ahead(graph: Graph) -> None:
    before = head(graph)
    put(graph, "wip", "Dot", crew=1)
    result = merged(graph)
    assert result.outcome == "fast_forward"
    assert result.commit is not None
    assert result.commit.parents == (before, head(graph, "wip"))
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]
    assert contents(graph) == contents(graph, "wip")
    assert merged(graph).outcome == "already_up_to_date"


def test_b4_inserts_on_both_sides(graph: Graph) -> None:
    put(graph, "wip", "Dot", crew=1)
    put(graph, "main", "Eel")
    result = merged(graph)
    assert result.outcome == "merged"
    assert result.tables["node:Boat"].to_json() == {
        "way": "merged",
        "inserted": 1,
        "updated": 0,
        "deleted": 0,
    }
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel"]


def test_b5_the_same_insert_on_both_sides(graph: Graph) -> None:
    put(graph, "wip", "Dot", crew=1)
    put(graph, "main", "Dot", crew=1)
    assert merged(graph).outcome == "merged"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]


def test_b6_different_inserts_of_one_boat(graph: Graph) -> None:
    put(graph, "wip", "Dot", crew=1)
    put(graph, "main", "Dot", crew=2)
    assert conflicts_of(graph) == [("divergent_insert", "Boat", "Dot")]
    assert boat(graph, "Dot")["crew"] == 2


def test_b7_the_same_update_on_both_sides(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=5)
    put(graph, "main", "Ada", crew=5)
    assert merged(graph).outcome == "merged"
    assert boat(graph, "Ada")["crew"] == 5


def test_b8_different_updates_of_one_boat(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=5)
    put(graph, "main", "Ada", crew=6)
    assert conflicts_of(graph) == [("divergent_update", "Boat", "Ada")]


def test_b9_updates_of_different_properties(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=5)
    put(graph, "main", "Ada", flag="BE")
    assert conflicts_of(graph) == [("divergent_update", "Boat", "Ada")]
    assert merged(graph, granularity="property").outcome == "merged"
    ada = boat(graph, "Ada")
    assert (ada["crew"], ada["flag"]) == (5, "BE")


def test_b10_a_source_that_went_back_to_the_base(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=5)
    put(graph, "wip", "Ada", crew=2)
    put(graph, "main", "Ada", crew=6)
    assert merged(graph).outcome == "merged"
    assert boat(graph, "Ada")["crew"] == 6


def test_b11_deleted_here_and_updated_there(graph: Graph) -> None:
    drop(graph, "wip", "Ada")
    put(graph, "main", "Ada", crew=6)
    assert conflicts_of(graph) == [("delete_vs_update", "Boat", "Ada")]


def test_b12_deleted_on_both_sides(graph: Graph) -> None:
    before = head(graph)
    drop(graph, "wip", "Ada")
    drop(graph, "main", "Ada")
    assert merged(graph).outcome == "merged"
    assert ids(graph, "Boat") == ["Bly", "Cap"]
    # B25: the past still has it.
    assert ids(graph, "Boat", before) == ["Ada", "Bly", "Cap"]
    text = "query all() { match { $b: Boat } return { $b.name } order { $b.name } }"
    found = graph.query(text, at=f"main@{before}").to_arrow()
    assert found.column(0).to_pylist() == ["Ada", "Bly", "Cap"]


def test_b13_an_edge_to_a_boat_that_the_other_side_deleted(graph: Graph) -> None:
    drop(graph, "wip", "Ada")
    edge = join(graph, "main", "Meets", "Ada", "Cap")
    assert conflicts_of(graph) == [("orphan_edge", "Meets", edge)]


def test_b14_deletion_with_its_edges(graph: Graph) -> None:
    drop(graph, "wip", "Cap")
    assert merged(graph).outcome == "fast_forward"
    assert (ids(graph, "Boat"), ids(graph, "Meets")) == (["Ada", "Bly"], [])


def test_b15_equal_edges_are_two(graph: Graph) -> None:
    join(graph, "wip", "Meets", "Ada", "Cap")
    join(graph, "main", "Meets", "Ada", "Cap")
    assert merged(graph).outcome == "merged"
    assert len(ids(graph, "Meets")) == 3


def test_b16_too_many_edges_together(graph: Graph) -> None:
    join(graph, "wip", "Tows", "Ada", "Bly")
    join(graph, "main", "Tows", "Ada", "Cap")
    assert conflicts_of(graph) == [("cardinality_violation", "Tows", None)]


def test_b17_one_unique_value_on_two_boats(graph: Graph) -> None:
    put(graph, "wip", "Ada", reg="R1")
    put(graph, "main", "Bly", reg="R1")
    ((kind, type_name, entity_id),) = conflicts_of(graph)
    assert (kind, type_name) == ("unique_violation", "Boat")
    assert entity_id in ("Ada", "Bly")


def test_b18_an_empty_text_is_a_value(graph: Graph) -> None:
    put(graph, "wip", "Cap", flag="")
    put(graph, "main", "Ada", crew=9)
    assert merged(graph).outcome == "merged"
    assert (boat(graph, "Cap")["flag"], boat(graph, "Ada")["crew"]) == ("", 9)


def test_b19_null_is_not_an_empty_text(graph: Graph) -> None:
    put(graph, "wip", "Cap", flag=None)
    put(graph, "main", "Cap", flag="")
    assert conflicts_of(graph) == [("divergent_update", "Boat", "Cap")]


def test_b20_edits_that_cancel_out_make_a_commit(graph: Graph) -> None:
    before = contents(graph)
    edge = join(graph, "wip", "Meets", "Ada", "Bly")
    part(graph, "wip", "Meets", edge)
    history = len(graph.commits())
    assert merged(graph).outcome == "fast_forward"
    assert contents(graph) == before
    assert len(graph.commits()) == history + 1


def test_b21_all_conflicts_are_told_together(graph: Graph) -> None:
    put(graph, "wip", "Dot", crew=1)
    put(graph, "main", "Dot", crew=2)
    put(graph, "wip", "Ada", crew=5)
    put(graph, "main", "Ada", crew=6)
    join(graph, "wip", "Meets", "Bly", "Ada", id="m1")
    join(graph, "main", "Meets", "Bly", "Bly", id="m1")
    assert conflicts_of(graph) == [
        ("divergent_insert", "Boat", "Dot"),
        ("divergent_update", "Boat", "Ada"),
        ("divergent_update", "Meets", "m1"),
    ]


def test_b26_a_branch_begins_with_the_token_of_its_fork(graph: Graph) -> None:
    token = graph.snapshot("wip").commit
    assert token == head(graph)
    text = 'query grow() { update Boat set { crew: 7 } where name = "Ada" }'
    graph.mutate(text, branch="wip", if_commit=token)
    with pytest.raises(PreconditionFailed) as caught:
        graph.mutate(text, branch="wip", if_commit=token)
    facts = caught.value.details["precondition_failed"]
    assert facts == {"expected": token, "actual": head(graph, "wip")}


def test_b27_a_name_may_lie_below_another(graph: Graph) -> None:
    graph.create_branch("rel")
    graph.create_branch("rel/9")
    with pytest.raises(AlreadyExists):
        graph.create_branch("rel")


def test_b28_a_fork_outlives_its_branch(graph: Graph) -> None:
    put(graph, "wip", "Dot", crew=1)
    graph.create_branch("exp", "wip")
    before = rows(graph, "Boat", "exp")
    graph.delete_branch("wip")
    assert rows(graph, "Boat", "exp") == before
    graph.collect()
    assert rows(graph, "Boat", "exp") == before
    assert merged(graph, "exp").outcome == "fast_forward"
    with pytest.raises(InvalidInput):
        graph.delete_branch("main")


def test_b29_the_other_direction(graph: Graph) -> None:
    edge = join(graph, "main", "Meets", "Ada", "Bly")
    drop(graph, "wip", "Bly")
    assert conflicts_of(graph, "main", "wip") == [("orphan_edge", "Meets", edge)]
