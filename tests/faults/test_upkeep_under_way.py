"""Optimizing loses to writers and collections that come in between, and never breaks anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.storage.commit import machine_lock
from support.social import add_person, assert_sound, people, social_graph
from support.worker_processes import Gate, one_worker


@pytest.fixture(autouse=True)
def _short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long for the lock file of a process that is held on purpose."""
    monkeypatch.setattr(machine_lock, "QUEUE_SECONDS", 0.1)


def test_what_it_staged_before_a_collection_is_not_published_after_it(tmp_path: Path) -> None:
    """Its files are nobody's until then, so the collection has taken them."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    add_person(graph, "Cid")
    asked = {"root": root, "optimize": "main"}
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as stalled:
        stalled.go()
        gate.wait_held()
        assert graph.collect().tables["node:Person"].files > 0
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] is None
    assert people(graph) == ["Ann", "Bob", "Cid"]
    assert_sound(graph)
    graph.collect(keep=1)
    assert_sound(graph)


def test_a_table_that_moved_meanwhile_is_done_again_or_left_alone(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    add_person(graph, "Cid")
    asked = {"root": root, "optimize": "main"}
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as stalled:
        stalled.go()
        gate.wait_held()
        add_person(graph, "Dan")
        gate.open()
        stalled.finish()
        end = stalled.said("end")[0]
    assert (end["code"], end["commit"]) == (None, graph.commits()[0].id)
    assert people(graph) == ["Ann", "Bob", "Cid", "Dan"]
    assert_sound(graph)


def test_a_branch_that_is_protected_meanwhile_is_optimized_all_the_same(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann"])
    add_person(graph, "Bob")
    asked = {"root": root, "optimize": "main"}
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as stalled:
        stalled.go()
        gate.wait_held()
        graph.protect_branch("main")
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] is None
    assert graph.branches()[0].protected
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)
