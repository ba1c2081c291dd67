"""Any number of collections at once delete nothing that an acknowledged commit needs."""

from __future__ import annotations

from datetime import timedelta

import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.storage.manifest.commit_outcome import ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import Manifest, ManifestChange, ManifestView
from support.social import add_person, assert_sound, people, persons, social_graph


def epoch(graph: Graph) -> int:
    return graph._store.head("main").epoch


def test_an_epoch_that_another_collector_raised_is_not_ones_own(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    graph.collect()
    omnigraph.open(root).collect()  # the first graph has not seen it
    with omnigraph.open(root).transaction() as txn:
        txn.upsert("Person", persons(["Bob"]))
        txn._txn.prepare()
        graph.collect()
    graph = omnigraph.open(root)
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)


def test_every_collection_raises_the_epoch_itself(root: str) -> None:
    graph = social_graph(root)
    others = [omnigraph.open(root) for _ in range(2)]
    first = epoch(graph)
    for each in (*others, graph):
        each.collect()
    assert epoch(graph) == first + 3


def test_its_own_retention_is_in_the_change_that_lands(root: str) -> None:
    graph = social_graph(root)
    for name in ("Ann", "Bob", "Cid"):
        add_person(graph, name)
    graph.snapshot()
    omnigraph.open(root).collect()
    report = graph.collect(keep=1)
    assert report.kept_commits == 1
    assert graph._store.head("main").properties["kept_from"] == graph.snapshot().version
    assert people(graph) == ["Ann", "Bob", "Cid"]


@pytest.mark.parametrize("lands", [True, False])
def test_after_an_unknown_outcome_the_epoch_is_raised_once_more(
    root: str, monkeypatch: pytest.MonkeyPatch, lands: bool
) -> None:
    graph = social_graph(root, people=["Ann"])
    add_person(graph, "Bob")
    graph.create_branch("short", ttl=timedelta(microseconds=1))
    swap, tried = Manifest.compare_and_swap, list[ManifestChange]()

    def unanswered(self: Manifest, view: ManifestView, change: ManifestChange) -> ManifestView:
        tried.append(change)
        if len(tried) > 1 or lands:
            landed = swap(self, view, change)
        if len(tried) == 1:
            raise ManifestOutcomeUnknown("the answer was lost")
        return landed

    before = epoch(graph)
    monkeypatch.setattr(Manifest, "compare_and_swap", unanswered)
    report = graph.collect(keep=1)
    assert len(tried) == 2
    assert epoch(graph) == before + (2 if lands else 1)
    assert [commit.message for commit in report.given_up[:-1]] == [None]  # and the first of all
    assert report.expired_branches == ("short",)
    assert_sound(graph)
