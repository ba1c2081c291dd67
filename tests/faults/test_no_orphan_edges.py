"""Two writers of disjoint tables never leave an edge whose end is gone.

What a plan relies on is in docs/design/architecture.md#validation.

One writer is held between its checks and its publish while the other one commits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph.errors import ConstraintViolation
from omnigraph.storage.commit import machine_lock
from support.social import add_person, assert_sound, edge, pairs, people, persons, social_graph
from support.worker_processes import Gate, one_worker

HOLDS = ("validate.after", "publish.before")
REMOVALS: dict[str, dict[str, Any]] = {
    "overwrite": {"overwrite": {"Person": ["Ann"]}},
    "delete without cascade": {"delete": {"Person": ["Bob"]}, "cascade": False},
    "delete": {"delete": {"Person": ["Bob"]}},
}


@pytest.fixture(autouse=True)
def _short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_lock, "QUEUE_SECONDS", 0.1)


@pytest.mark.parametrize("point", HOLDS)
@pytest.mark.parametrize("removal", REMOVALS)
def test_an_edge_is_written_while_its_end_goes(tmp_path: Path, removal: str, point: str) -> None:
    """The edge's writer saw Bob, then Bob went: its edge must not land."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"])
    asked = {"root": root, "insert": {"Knows": ["Bob>Ann"]}}
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        with graph.transaction() as txn:
            if removal == "overwrite":
                txn.overwrite("Person", persons(["Ann"]))
            else:
                txn.delete("Person", ["Bob"], cascade=removal == "delete")
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["kind"] == "ConstraintViolation"
    assert people(graph) == ["Ann"]
    assert pairs(graph) == []
    assert_sound(graph)


@pytest.mark.parametrize("point", HOLDS)
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_node_goes_while_an_edge_to_it_is_written(
    tmp_path: Path, removal: str, point: str
) -> None:
    """The remover saw no edge at Bob, then there was one: Bob must stay."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"])
    asked = {"root": root, **REMOVALS[removal]}
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        with graph.transaction() as txn:
            txn.insert("Knows", [edge("Bob", "Ann")])
        gate.open()
        stalled.finish()
        end = stalled.said("end")[0]
    assert end["kind"] == "ExpectedVersionMismatch"
    assert "edge:Knows is at version 2, this write was prepared on 1" in end["error"]
    assert people(graph) == ["Ann", "Bob"]
    assert pairs(graph) == ["Bob>Ann"]
    assert_sound(graph)


def test_an_edge_lands_when_the_moved_node_table_still_holds_its_ends(tmp_path: Path) -> None:
    """The check runs again on what is there now; it is not a refusal of all that moved."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"])
    asked = {"root": root, "insert": {"Knows": ["Bob>Ann"]}}
    with one_worker("act", asked, failpoints=gate.at("validate.after")) as stalled:
        stalled.go()
        gate.wait_held()
        add_person(graph, "Cid")
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] is None
    assert pairs(graph) == ["Bob>Ann"]
    assert_sound(graph)


def test_an_overwrite_that_drops_a_referenced_node_is_refused(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    head = graph.snapshot().commit
    with pytest.raises(ConstraintViolation) as refused, graph.transaction() as txn:
        txn.overwrite("Person", persons(["Ann"]))
    assert "Bob" in str(refused.value)
    assert graph.snapshot().commit == head


def test_a_delete_without_cascade_of_a_referenced_node_is_refused(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    for gone in ("Ann", "Bob"):
        with pytest.raises(ConstraintViolation), graph.transaction() as txn:
            txn.delete("Person", [gone], cascade=False)
    assert pairs(graph) == ["Ann>Bob"]


def test_nodes_and_edges_replaced_together_are_judged_together(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    with graph.transaction() as txn:
        txn.overwrite("Person", persons(["Cid", "Dan"]))
        txn.overwrite("Knows", [edge("Cid", "Dan")])
    assert pairs(graph) == ["Cid>Dan"]
    assert_sound(graph)
