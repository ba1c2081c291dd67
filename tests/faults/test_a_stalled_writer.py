"""A writer that stands still stops nobody, and never publishes what was taken away meanwhile."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from omnigraph.storage.commit import machine_lock
from omnigraph.storage.core.compaction_policy import TIERS
from omnigraph.storage.maintenance.collect import collect
from support.social import add_person, assert_sound, people, persons, social_graph
from support.worker_processes import Gate, one_worker

LARGE = TIERS[-1] + 1
BEFORE_THE_END = ("stage.before", "stage.after_table", "validate.after", "publish.before")


@pytest.fixture(autouse=True)
def _short_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait long for the lock file of a process that is held on purpose."""
    monkeypatch.setattr(machine_lock, "QUEUE_SECONDS", 0.1)


@pytest.mark.parametrize("point", BEFORE_THE_END)
def test_does_not_stop_the_others(tmp_path: Path, point: str) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root)
    asked = {"root": root, "insert": {"Person": ["stalled"]}}
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        for name in ("Ann", "Bob"):
            add_person(graph, name)
        assert people(graph) == ["Ann", "Bob"]
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] is None
    assert people(graph) == ["Ann", "Bob", "stalled"]
    assert_sound(graph)


@pytest.mark.parametrize("point", BEFORE_THE_END)
@pytest.mark.parametrize("rows", [1, LARGE])
def test_publishes_nothing_that_a_collection_removed(tmp_path: Path, point: str, rows: int) -> None:
    """Whether its checks could go on from memory or had to read the files that are gone."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    add_person(graph, "Cid")
    late = [f"late{i:04}" for i in range(rows)]
    asked = {"root": root, "insert": {"Person": late, "Knows": [f"{each}>Ann" for each in late]}}
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        report = graph.collect(keep=1)
        gate.open()
        stalled.finish()
        end = stalled.said("end")[0]
    assert end["code"] in (None, "transaction_expired"), end
    if point != "stage.before":
        assert report.files > 0
    assert people(graph) == ["Ann", "Bob", "Cid"] + late * (end["code"] is None)
    assert_sound(graph)
    graph.collect(keep=1)
    assert_sound(graph)


@pytest.mark.parametrize("point", ["stage.after_table", "publish.before"])
def test_an_overwrite_is_told_that_a_collection_ran(tmp_path: Path, point: str) -> None:
    """It was decided on rows it saw, so it is not prepared again behind the caller's back."""
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann"])
    many = [f"p{i:04}" for i in range(LARGE)]
    asked = {
        "root": root,
        "overwrite": {"Person": many, "Knows": [f"{each}>{many[0]}" for each in many]},
    }
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        graph.collect()
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] == "transaction_expired"
    assert people(graph) == ["Ann"]
    assert_sound(graph)


@pytest.mark.parametrize("point", ["stage.before", "validate.after", "publish.before"])
def test_a_registered_bulk_write_survives_a_collection(tmp_path: Path, point: str) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann"])
    bulk = [f"p{i}" for i in range(5)]
    asked = {"root": root, "write_many": bulk}
    with one_worker("act", asked, failpoints=gate.at(point)) as stalled:
        stalled.go()
        gate.wait_held()
        assert graph.collect(keep=1).spared_transactions == 1
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] is None
    assert people(graph) == ["Ann", *bulk]
    assert_sound(graph)
    assert graph.collect(keep=1).spared_transactions == 0
    assert_sound(graph)


def test_a_bulk_write_taken_for_dead_expires(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann"])
    asked = {"root": root, "write_many": ["Bob", "Cid"]}
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as stalled:
        stalled.go()
        gate.wait_held()
        report = collect(graph._store, keep=1, stale_after=timedelta(0))
        assert report.spared_transactions == 0 and report.files > 0
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["code"] == "transaction_expired"
    assert people(graph) == ["Ann"]
    assert_sound(graph)


def test_a_killed_bulk_write_is_collected_once_it_is_taken_for_dead(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    graph = social_graph(root, people=["Ann"])
    asked = {"root": root, "write_many": ["Bob", "Cid"]}
    with one_worker("act", asked, failpoints=gate.at("publish.before")) as stalled:
        stalled.go()
        gate.wait_held()
        stalled.kill()
        stalled.wait_gone()
    with graph.transaction() as txn:
        txn.upsert("Person", persons(["Bob"], age=50))
    assert graph.collect(keep=1).spared_transactions == 1
    report = collect(graph._store, keep=1, stale_after=timedelta(0))
    assert report.spared_transactions == 0 and report.files > 0
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)
