"""After a collection: what is kept reads as before, what is not says so, nothing else breaks."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

import omnigraph
from omnigraph.errors import InvalidInput, Reclaimed
from omnigraph.storage.core.model import now
from support.graphs import boats, contents, ids, ndjson, node, refused


def history(root: str, loads: int = 5) -> omnigraph.Graph:
    """Boats with more commits on main: version 2 is the base, each load replaces Ada."""
    graph = boats(root)
    for crew in range(loads):
        graph.load(ndjson(node("Boat", name="Ada", crew=crew)))
    return graph


def test_kept_moments_read_as_before_and_earlier_ones_are_reclaimed(root: str) -> None:
    graph = history(root)
    known = {c.version: (c.id, contents(graph, f"main@{c.id}")) for c in graph.commits()}
    graph.collect(keep=3)
    for reader in (graph, omnigraph.open(root)):
        for version, (commit, then) in known.items():
            for moment in (f"main@v{version}", f"main@{commit}", commit):
                if version > 4:
                    assert contents(reader, moment) == then
                    continue
                with pytest.raises(Reclaimed) as caught:
                    contents(reader, moment)
                assert caught.value.code == "reclaimed"
        assert reader.verify(rules=True).ok
    assert [c.version for c in graph.commits()] == [7, 6, 5, 4, 3, 2, 1]


def test_a_count_at_a_reclaimed_moment_is_reclaimed_too(root: str) -> None:
    graph = history(root)
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        graph.snapshot("main@v2").count("Boat")


def test_a_branch_made_after_a_collection_knows_what_was_reclaimed(root: str) -> None:
    graph = history(root)
    graph.collect(keep=2)
    graph.create_branch("wip")
    with pytest.raises(Reclaimed):
        contents(graph, "wip@v2")
    assert graph.verify(rules=True).ok
    graph.collect()
    reopened = omnigraph.open(root)
    reopened.collect()
    assert reopened.verify(rules=True).ok
    assert contents(reopened, "wip") == contents(reopened, "main")
    assert contents(reopened, "wip@v6") == contents(reopened, "main@v6")


def test_no_branch_is_made_at_a_reclaimed_moment(root: str) -> None:
    graph = history(root)
    graph.collect(keep=2)
    refused(graph, Reclaimed, lambda: graph.create_branch("wip", "main@v2"))
    assert graph.create_branch("wip", "main@v6").version == 6
    assert graph.verify(rules=True).ok


def test_a_branch_keeps_what_main_gives_up(root: str) -> None:
    graph = history(root)
    old = graph.create_branch("old", "main@v3")
    then = contents(graph, "old")
    graph.collect(keep=1)
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "old") == then
        assert contents(reader, old.commit) == then
        with pytest.raises(Reclaimed):
            contents(reader, "main@v3")
        assert reader.verify(rules=True).ok


def test_commits_of_a_deleted_branch_are_unreachable(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    lost = graph.load(ndjson(node("Boat", name="Dot")), branch="wip").commit.id
    graph.delete_branch("wip")
    for _ in range(2):
        with pytest.raises(Reclaimed):
            graph.snapshot(lost)
        graph.create_branch("wip")
        with pytest.raises(Reclaimed):
            graph.snapshot(lost)
        graph.delete_branch("wip")
        graph.collect()
    assert graph.verify(rules=True).ok


def test_b28_a_fork_of_a_deleted_branch_reads_as_before_also_after_a_collection(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.load(ndjson(node("Boat", name="Dot")), branch="wip")
    graph.create_branch("exp", "wip")
    then = contents(graph, "exp")
    graph.delete_branch("wip")
    assert contents(graph, "exp") == then
    graph.collect(keep=1)
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "exp") == then
        assert reader.verify(rules=True).ok
    assert refused(graph, InvalidInput, lambda: graph.delete_branch("main")).hint


def test_collecting_does_not_change_what_heads_show(root: str) -> None:
    graph = history(root)
    before = contents(graph)
    preview = graph.collect(keep=1, dry_run=True)
    assert preview.files > 0
    assert graph.snapshot("main@v2").count("Boat") == 3
    report = graph.collect(keep=1)
    assert report.files >= preview.files
    assert contents(graph) == before
    assert graph.collect(keep=1).files == 0


def test_retention_never_grows_back(root: str) -> None:
    graph = history(root)
    graph.collect(keep=2)
    graph.collect(keep=5)
    with pytest.raises(Reclaimed):
        contents(graph, "main@v5")
    assert ids(graph, "Boat", "main@v6") == ["Ada", "Bly", "Cap"]
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("keep", [0, -1])
def test_at_least_one_commit_is_kept(root: str, keep: int) -> None:
    graph = boats(root)
    refused(graph, InvalidInput, lambda: graph.collect(keep=keep))


def test_a_snapshot_held_over_a_collection_says_reclaimed(root: str) -> None:
    graph = history(root)
    held = omnigraph.open(root).snapshot("main@v2")
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        held.scan("Boat").read_all()


def test_every_state_of_the_last_while_is_kept(root: str) -> None:
    """The one that was in force when it began included; a count may keep more, never less."""
    graph = history(root, 3)
    time.sleep(0.4)
    horizon = now() - timedelta(seconds=0.2)
    for crew in range(2):
        graph.load(ndjson(node("Boat", name="Bly", crew=crew)))
    then = contents(graph, "main@v5")
    preview = graph.collect(keep=1, keep_for=now() - horizon, dry_run=True)
    assert [c.version for c in preview.given_up] == [4, 3, 2, 1]
    assert graph.collect(5, keep_for=now() - horizon, dry_run=True).given_up[0].version == 2
    report = graph.collect(keep_for=now() - horizon)
    assert [c.version for c in report.given_up] == [4, 3, 2, 1]
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "main@v5") == then
        assert contents(reader, f"main@{(horizon + timedelta(seconds=0.1)).isoformat()}") == then
        with pytest.raises(Reclaimed):
            contents(reader, "main@v4")
        assert reader.verify(rules=True).ok


def test_a_dry_run_says_what_would_be_freed_and_given_up(root: str) -> None:
    graph = history(root)
    graph.collect()
    preview = graph.collect(keep=2, dry_run=True)
    assert [c.version for c in preview.given_up] == [5, 4, 3, 2, 1]
    assert [c.id for c in preview.given_up] == [c.id for c in graph.commits()[2:]]
    assert set(preview.tables) >= {"node:Boat"}
    assert sum(freed.files for freed in preview.tables.values()) == preview.files
    assert sum(freed.bytes for freed in preview.tables.values()) == preview.bytes
    report = graph.collect(keep=2)
    assert report.given_up == preview.given_up
    assert report.tables["node:Boat"] == preview.tables["node:Boat"]
    assert graph.collect(keep=2).given_up == ()


def test_what_a_branch_keeps_is_not_given_up(root: str) -> None:
    graph = history(root)
    graph.create_branch("old", "main@v3")
    given_up = [c.version for c in graph.collect(keep=1).given_up]
    assert given_up == [6, 5, 4, 2, 1]


def test_progress_is_told_of_reading_and_of_deleting(root: str) -> None:
    graph = history(root)
    told: list[tuple[int, int]] = []
    report = graph.collect(keep=1, on_progress=lambda done, total: told.append((done, total)))
    assert all(done <= total for done, total in told)
    assert (0, report.files) in told
