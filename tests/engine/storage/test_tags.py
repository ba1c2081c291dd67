"""A tag names a commit until it is deleted, and what it names stays readable."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    InvalidInput,
    NoSuchTag,
    NotFound,
    OmniGraphError,
    Reclaimed,
)
from omnigraph.storage.core.model import now
from omnigraph.storage.refs.branches import create_branch
from omnigraph.storage.refs.tags import create_tag
from support.graphs import BOATS, boats, contents, ids, ndjson, node, refused


def test_a_tag_names_the_commit_of_a_moment(root: str) -> None:
    graph = boats(root)
    base = graph.commits()[0].id
    made = graph.tags.create("v1")
    graph.load(ndjson(node("Boat", name="Dot")))
    assert (made.name, made.commit, made.branch) == ("v1", base, "main")
    assert now() - made.time < timedelta(minutes=5)
    assert graph.tags.create("old", at="main@v1").commit == graph.commits()[-1].id
    assert graph.tags.create("again", at="v1").commit == base
    for reader in (graph, omnigraph.open(root)):
        assert reader.snapshot("v1").commit == base
        assert ids(reader, "Boat", "v1") == ["Ada", "Bly", "Cap"]
        assert reader.snapshot("old").count("Boat") == 0
        assert reader.query("query q() { match { $b: Boat } return { count($b) } }", at="v1")
        assert reader.verify(rules=True).ok


def test_tags_are_a_mapping(root: str) -> None:
    graph = boats(root)
    assert (list(graph.tags), len(graph.tags), graph.tags.list()) == ([], 0, [])
    made = graph.tags.create("v1")
    graph.tags.create("rel/0.9", at="main@v1")
    assert list(graph.tags) == ["rel/0.9", "v1"]
    assert graph.tags["v1"] == made == omnigraph.open(root).tags["v1"]
    assert "v1" in graph.tags and "v2" not in graph.tags
    assert graph.tags.get("v2") is None
    with pytest.raises(NoSuchTag, match="did you mean 'v1'"):
        graph.tags["v"]
    with pytest.raises(KeyError):
        graph.tags["v2"]


def test_a_deleted_tag_is_gone_and_its_name_is_free(root: str) -> None:
    graph = boats(root)
    first = graph.tags.create("v1", at="main@v1")
    graph.tags.delete("v1")
    refused(graph, NotFound, lambda: graph.snapshot("v1"))
    refused(graph, NoSuchTag, lambda: graph.tags.delete("v1"))
    assert graph.tags.create("v1").commit != first.commit


def test_branches_and_tags_share_their_names(root: str) -> None:
    """A name means one thing, whoever comes first."""
    graph = boats(root)
    graph.create_branch("wip")
    graph.tags.create("v1")
    refused(graph, AlreadyExists, lambda: graph.tags.create("main"))
    refused(graph, AlreadyExists, lambda: graph.tags.create("wip"))
    refused(graph, AlreadyExists, lambda: graph.tags.create("v1"))
    refused(graph, AlreadyExists, lambda: graph.create_branch("v1"))
    refused(graph, AlreadyExists, lambda: graph.load(b"", branch="v1", from_="main"))


@pytest.mark.parametrize("name", ["", " ", "a b", "a@b", "..", "x.lock", "/a", "0" * 26, "é"])
def test_bad_names_are_refused(root: str, name: str) -> None:
    graph = boats(root)
    assert "tag name" in refused(graph, InvalidInput, lambda: graph.tags.create(name)).message


@pytest.mark.parametrize("moment", ["nowhere", "main@v9", "v1@v1", "0" * 26])
def test_a_tag_needs_a_moment_that_is_there(root: str, moment: str) -> None:
    graph = boats(root)
    graph.tags.create("v1")
    refused(graph, NotFound, lambda: graph.tags.create("v2", at=moment))
    assert list(graph.tags) == ["v1"]


def test_nobody_writes_to_a_tag(root: str) -> None:
    graph = boats(root)
    graph.tags.create("v1")
    refused(graph, NotFound, lambda: graph.load(ndjson(node("Boat", name="Dot")), branch="v1"))
    refused(graph, NotFound, lambda: graph.delete_branch("v1"))


def test_a_collection_keeps_what_a_tag_needs(root: str) -> None:
    graph = boats(root)
    graph.tags.create("v2")
    tagged = contents(graph)
    for crew in range(5):
        graph.load(ndjson(node("Boat", name="Ada", crew=crew)))
    commit = graph.tags["v2"].commit
    report = graph.collect(keep=1)
    assert [c.version for c in report.given_up] == [6, 5, 4, 3, 1]
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "v2") == tagged
        assert contents(reader, commit) == tagged
        with pytest.raises(Reclaimed):
            contents(reader, "main@v2")
        assert reader.verify(rules=True).ok
    graph.tags.delete("v2")
    assert [c.id for c in graph.collect(keep=1).given_up] == []
    with pytest.raises(Reclaimed):
        contents(omnigraph.open(root), commit)
    assert graph.verify(rules=True).ok


def test_a_tag_outlives_its_branch(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.load(ndjson(node("Boat", name="Dot")), branch="wip")
    graph.tags.create("v1", at="wip")
    tagged = contents(graph, "wip")
    graph.delete_branch("wip")
    graph.collect(keep=1)
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "v1") == tagged
        assert contents(reader, reader.tags["v1"].commit) == tagged
        assert reader.verify(rules=True).ok


def test_a_branch_can_start_at_a_tag_that_outlived_everything(root: str) -> None:
    graph = boats(root)
    for crew in range(3):
        graph.load(ndjson(node("Boat", name="Ada", crew=crew)))
    graph.tags.create("v3", at="main@v3")
    tagged = contents(graph, "v3")
    graph.load(ndjson(node("Boat", name="Eel")))
    graph.collect(keep=1)
    made = graph.create_branch("again", "v3")
    graph.load(ndjson(node("Boat", name="Dot")), branch="again")
    graph.tags.delete("v3")
    graph.collect()
    for reader in (graph, omnigraph.open(root)):
        assert made.version == 3
        assert contents(reader, "again@v3") == tagged
        assert ids(reader, "Boat", "again") == ["Ada", "Bly", "Cap", "Dot"]
        with pytest.raises(Reclaimed):
            contents(reader, "again@v2")
        assert reader.verify(rules=True).ok


def test_a_branch_at_a_tag_has_the_history_that_is_still_there(root: str) -> None:
    graph = boats(root)
    graph.tags.create("v2")
    graph.load(ndjson(node("Boat", name="Eel")))
    graph.create_branch("wip", "v2")
    assert contents(graph, "wip@v1") == contents(graph, "main@v1")
    graph.collect()
    assert contents(graph, "wip@v1") == contents(graph, "main@v1")
    assert graph.verify(rules=True).ok


def test_a_tag_keeps_the_names_of_its_schema(root: str) -> None:
    """Also what a hard drop takes from every branch: only deleting the tag gives it up."""
    graph = boats(root)
    graph.tags.create("v1")
    tagged = contents(graph)
    dropped = BOATS.replace("crew: I32?  ", "")
    graph.apply_schema(dropped, allow_data_loss=True)
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "v1") == tagged
        assert reader.verify(rules=True).ok
    graph.create_branch("before", "v1")
    graph.load(ndjson(node("Boat", name="Dot", crew=1)), branch="before")
    graph.collect()
    assert contents(graph, "before@v2") == tagged
    assert graph.verify(rules=True).ok


def test_no_tag_is_made_of_what_was_given_up(root: str) -> None:
    graph = boats(root)
    for crew in range(3):
        graph.load(ndjson(node("Boat", name="Ada", crew=crew)))
    lost = graph.commits()[2].id
    graph.collect(keep=1)
    for moment in ("main@v2", f"main@{lost}", lost):
        refused(graph, Reclaimed, partial(graph.tags.create, "old", moment))
    assert graph.verify(rules=True).ok


def test_a_snapshot_of_a_tag_says_reclaimed_once_the_tag_and_its_files_are_gone(root: str) -> None:
    graph = boats(root)
    graph.tags.create("v1")
    held = omnigraph.open(root).snapshot("v1")
    graph.load(ndjson(node("Boat", name="Ada", crew=9)))
    graph.tags.delete("v1")
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        held.scan("Boat").read_all()


def test_one_of_two_that_want_a_name_at_once_gets_it(root: str) -> None:
    """A tag and a branch in two processes' views of the same moment."""
    boats(root)
    stores = [omnigraph.open(root)._store for _ in range(4)]
    barrier = threading.Barrier(len(stores))
    outcomes: list[OmniGraphError | None] = []

    def race(n: int) -> None:
        barrier.wait()
        try:
            if n % 2:
                create_tag(stores[n], "same")
            else:
                create_branch(stores[n], "same")
            outcomes.append(None)
        except Conflict as error:
            outcomes.append(error)

    threads = [threading.Thread(target=race, args=(n,)) for n in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(each).__name__ for each in outcomes) == ["AlreadyExists"] * 3 + ["NoneType"]
    graph = omnigraph.open(root)
    assert len([b for b in graph.branches() if b.name == "same"]) + len(graph.tags) == 1
    assert graph.verify(rules=True).ok
