"""Branches with a time to live go with a collection once it is over; hidden ones, too."""

from __future__ import annotations

from datetime import timedelta

import pytest

import omnigraph
from omnigraph.errors import InvalidInput, NotFound, Reclaimed
from omnigraph.storage.core.model import now
from support.graphs import boats, contents, ids, ndjson, node, refused

DOT = ndjson(node("Boat", name="Dot"))
OVER = timedelta(0)


def names(graph: omnigraph.Graph, *, hidden: bool = False) -> list[str]:
    return [branch.name for branch in graph.branches(hidden=hidden)]


def test_it_says_whose_it_is_and_when_it_ends(root: str) -> None:
    graph = boats(root)
    before = now()
    made = graph.create_branch("wip", ttl="24h", owner="ann")
    assert made.owner == "ann"
    assert made.expires is not None
    assert before + timedelta(hours=24) <= made.expires <= now() + timedelta(hours=24)
    assert made in omnigraph.open(root).branches()
    assert graph.create_branch("exp", "wip").expires is None


def test_a_collection_removes_it_once_its_time_is_over(root: str) -> None:
    graph = boats(root)
    graph.create_branch("over", ttl=OVER)
    graph.create_branch("wip", ttl="1h")
    lost = graph.load(DOT, branch="over").commit
    preview = graph.collect(dry_run=True)
    assert preview.expired_branches == ("over",)
    assert [c.id for c in preview.given_up] == [lost.id]
    assert preview.tables["node:Boat"].files > 0
    assert ids(graph, "Boat", "over") == ["Ada", "Bly", "Cap", "Dot"]
    report = graph.collect()
    assert report.expired_branches == ("over",)
    assert report.given_up == preview.given_up
    assert names(graph) == ["main", "wip"]
    with pytest.raises(Reclaimed):
        graph.snapshot(lost.id)
    assert graph.verify(rules=True).ok


def test_a_later_branch_of_the_name_starts_again(root: str) -> None:
    graph = boats(root)
    for _ in range(2):
        graph.create_branch("wip", ttl=OVER)
        graph.load(DOT, branch="wip")
        graph.collect()
        assert graph.verify(rules=True).ok
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    assert graph.verify(rules=True).ok


def test_what_its_forks_and_tags_need_stays(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip", ttl=OVER)
    graph.load(DOT, branch="wip")
    graph.create_branch("exp", "wip")
    graph.tags.create("v1", at="wip")
    then = contents(graph, "wip")
    graph.collect(keep=1)
    assert names(graph) == ["exp", "main"]
    for reader in (graph, omnigraph.open(root)):
        assert contents(reader, "exp") == contents(reader, "v1") == then
        assert reader.verify(rules=True).ok


def test_a_protected_one_stays(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip", ttl=OVER)
    graph.protect_branch("wip")
    assert graph.collect().expired_branches == ()
    graph.unprotect_branch("wip")
    assert graph.collect().expired_branches == ("wip",)


def test_a_write_to_one_that_ends_meanwhile_is_refused(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip", ttl=OVER)
    with pytest.raises(NotFound), graph.transaction("wip") as txn:
        txn.insert("Boat", [{"name": "Dot"}])
        omnigraph.open(root).collect()
    assert names(graph) == ["main"]
    assert graph.verify(rules=True).ok


def test_hidden_branches_are_not_listed_and_otherwise_like_any(root: str) -> None:
    graph = boats(root)
    graph.create_branch("__txn/7", ttl="1h", owner="session-7", hidden=True)
    graph.load(DOT, branch="__txn/7")
    assert names(graph) == ["main"]
    assert names(graph, hidden=True) == ["__txn/7", "main"]
    graph.collect(keep=1)
    assert ids(graph, "Boat", "__txn/7") == ["Ada", "Bly", "Cap", "Dot"]
    graph.delete_branch("__txn/7")
    assert names(graph, hidden=True) == ["main"]
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("ttl", ["", "24", "h", "-1h", "1y", "1.5h", "9" * 12 + "w", "999999999w"])
def test_what_is_no_length_of_time_is_refused(root: str, ttl: str) -> None:
    graph = boats(root)
    refused(graph, InvalidInput, lambda: graph.create_branch("wip", ttl=ttl))
    refused(graph, InvalidInput, lambda: graph.collect(keep_for=ttl))
