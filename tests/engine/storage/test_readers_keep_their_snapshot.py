"""A reader sees one moment, whatever writers and collectors do meanwhile; the past has names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import NotFound, Reclaimed
from support.social import add_person, assert_sound, people, persons, social_graph


def test_a_snapshot_stays_as_it_was_while_others_write_and_collect(root: str) -> None:
    writer = social_graph(root, people=["Ann"])
    snapshot = open_graph(root).snapshot()
    for i in range(40):
        add_person(writer, f"p{i:02}")
        if i % 10 == 9:
            writer.collect(keep=1_000)
            assert snapshot.scan("Person", ["id"]).read_all().column(0).to_pylist() == ["Ann"]
    with writer.transaction() as txn:
        txn.overwrite("Person", persons(["Zoe"]))
    assert snapshot.count("Person") == 1
    assert snapshot.get("Person", "Ann") == {"id": "Ann", "name": "Ann", "age": 30}
    assert snapshot.get("Person", "Zoe") is None


def test_a_half_read_scan_goes_on_over_its_own_moment(root: str) -> None:
    graph = social_graph(root, people=[f"p{i}" for i in range(50)])
    reader = open_graph(root).snapshot().scan("Person", ["id"])
    add_person(graph, "late")
    graph.collect(keep=100)
    assert "late" not in reader.read_all().column(0).to_pylist()


def test_a_reader_that_was_idle_for_long_still_finds_old_and_new_commits(root: str) -> None:
    writer = social_graph(root)
    idle = open_graph(root)
    first = add_person(writer, "Ann")
    for i in range(60):
        last = add_person(writer, f"p{i}")
    writer.collect()
    assert idle.commit(first.id).message == "Ann"
    assert idle.commit(last.id).message == "p59"


def test_the_past_is_found_by_commit_version_and_time(root: str) -> None:
    graph = social_graph(root)
    commits = [add_person(graph, name) for name in ("Ann", "Bob", "Cid")]
    middle = commits[1]
    for moment in (
        middle.id,
        f"main@{middle.id}",
        f"main@v{middle.version}",
        f"main@{middle.time.isoformat()}",
        f"main@{(commits[2].time - timedelta(microseconds=1)).isoformat()}",
    ):
        assert people(graph, moment) == ["Ann", "Bob"], moment
    assert people(graph) == ["Ann", "Bob", "Cid"]
    with pytest.raises(NotFound):
        graph.snapshot("main@v99")
    with pytest.raises(NotFound):
        graph.snapshot(f"main@{(graph.commits()[-1].time - timedelta(days=1)).isoformat()}")


def test_a_collected_moment_says_that_it_was_reclaimed(root: str) -> None:
    graph = social_graph(root)
    old = add_person(graph, "Ann")
    for name in ("Bob", "Cid"):
        add_person(graph, name)
    report = graph.collect(keep=1)
    assert report.files > 0
    with pytest.raises(Reclaimed):
        people(open_graph(root), old.id)
    assert people(graph) == ["Ann", "Bob", "Cid"]
    assert_sound(graph)
