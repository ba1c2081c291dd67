"""What surely did not land is told as a conflict, whatever the store said; a doubt is a doubt."""

from __future__ import annotations

import pytest
from lance.commit import CommitConflictError

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.errors import CommitUnknown, PublishContention, StorageError
from omnigraph.storage.manifest.commit_outcome import (
    ManifestConflict,
    ManifestOutcomeUnknown,
    committing,
)
from omnigraph.storage.manifest.manifest import Manifest, ManifestChange, ManifestView
from support.social import add_person, assert_sound, people, social_graph

CONFLICTS = [
    CommitConflictError("Incompatible transaction: this one is incompatible with an Overwrite"),
    OSError("LanceError(IO): Too many concurrent writers. Attempted 20 times"),
    RuntimeError("Too many concurrent writes for __manifest, please retry later"),
    OSError("Retryable commit conflict for version 7: preempted"),
    OSError("Generic S3 error: 409 ConditionalRequestConflict"),
]
DOUBTS = [OSError("error sending request"), RuntimeError("timed out"), ValueError("500")]


@pytest.mark.parametrize("error", CONFLICTS, ids=str)
def test_each_way_to_say_conflict_is_understood(error: Exception) -> None:
    with pytest.raises(ManifestConflict), committing():
        raise error


@pytest.mark.parametrize("error", DOUBTS, ids=str)
def test_other_failures_leave_the_outcome_open(error: Exception) -> None:
    with pytest.raises(ManifestOutcomeUnknown), committing():
        raise error


class Unanswered:
    """Gives no answer to the first swaps of one graph, each after another graph has published."""

    def __init__(self, patch: pytest.MonkeyPatch, graph: Graph, other: Graph | None) -> None:
        self.swaps = 0
        self.failures = 1_000
        self._swap, self._manifest, self._other = Manifest.compare_and_swap, graph, other
        patch.setattr(Manifest, "compare_and_swap", lambda *given: self.swap(*given))

    def swap(self, manifest: Manifest, view: ManifestView, change: ManifestChange) -> ManifestView:
        self.swaps += manifest is self._manifest._store.manifest
        if manifest is not self._manifest._store.manifest or self.swaps > self.failures:
            return self._swap(manifest, view, change)
        if self._other is not None:
            with self._other.transaction() as txn:
                txn.insert("Club", [{"name": f"c{self.swaps}"}])
        raise ManifestOutcomeUnknown("the connection was reset")


def test_a_commit_that_others_overtook_was_a_conflict(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root)
    with monkeypatch.context() as patched:
        Unanswered(patched, graph, omnigraph.open(root))
        with pytest.raises(PublishContention):
            add_person(graph, "Ann")
    assert people(graph) == []
    assert_sound(graph)


def test_a_commit_that_nobody_overtook_may_still_land(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root)
    with monkeypatch.context() as patched:
        Unanswered(patched, graph, None)
        with pytest.raises(CommitUnknown):
            add_person(graph, "Ann")
    assert people(graph) == []


def test_more_answers_may_be_lost_to_others_than_to_the_store(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of names as of commits: the budget is for a store that fails, not for busy neighbours."""
    graph = social_graph(root)
    other = omnigraph.open(root)
    with monkeypatch.context() as patched:
        store = Unanswered(patched, graph, other)
        store.failures = graph._store.publisher.retry_budget + 2
        graph.create_branch("work")
    assert "work" in [branch.name for branch in graph.branches()]
    with monkeypatch.context() as patched:
        Unanswered(patched, graph, None)
        with pytest.raises(StorageError, match="the store failed"):
            graph.create_branch("more")
