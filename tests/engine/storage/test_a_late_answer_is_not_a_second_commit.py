"""A swap whose answer was lost can land after the writer has looked for it in vain."""

from __future__ import annotations

import pytest

from omnigraph.api.graph import Graph
from omnigraph.storage.manifest.commit_outcome import ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import ManifestChange, ManifestView
from support.social import add_person, assert_sound, people, persons, social_graph


class LateStore:
    """Gives no answer to the first swap, and applies it only while the writer pauses."""

    def __init__(self, graph: Graph) -> None:
        self._publisher = graph._store.publisher
        self._swap = graph._store.manifest.compare_and_swap
        self._held: tuple[ManifestView, ManifestChange] | None = None
        self.late = 0

    def swap(self, view: ManifestView, change: ManifestChange) -> ManifestView:
        if not self.late and self._held is None:
            self._held = (view, change)
            raise ManifestOutcomeUnknown("the connection was reset")
        return self._swap(view, change)

    def pause(self, seconds: float) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            self._swap(*held)
            self._publisher.refresh()
            self.late += 1


@pytest.mark.parametrize("operation", ["insert", "upsert", "overwrite"])
def test_a_commit_that_lands_late_is_acknowledged_once(
    root: str, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    graph = social_graph(root, ["Ann"])
    store = LateStore(graph)
    monkeypatch.setattr(graph._store.manifest, "compare_and_swap", store.swap)
    monkeypatch.setattr("omnigraph.storage.commit.retry.time.sleep", store.pause)
    with graph.transaction(message="late") as txn:
        getattr(txn, operation)("Person", persons(["Ann", "Bob"][operation != "overwrite" :]))
    monkeypatch.undo()
    assert store.late == 1
    assert txn.commit is not None
    assert graph.commits()[0] == txn.commit
    assert people(graph) == ["Ann", "Bob"]
    assert [commit.message for commit in graph.commits()].count("late") == 1
    add_person(graph, "Cid")
    assert_sound(graph)
