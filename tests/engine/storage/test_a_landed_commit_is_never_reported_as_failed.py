"""What goes wrong after the swap landed does not turn a commit into a failure."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest

from omnigraph.errors import CommitUnknown, StorageError
from omnigraph.storage.core.compaction_policy import FANOUT
from omnigraph.storage.core.object_store import RawStore
from omnigraph.storage.manifest.manifest import KEPT_VERSIONS, Manifest, ManifestView
from support.social import add_person, assert_sound, people, persons, social_graph
from support.waiting import wait_until


def unavailable(*_: Any) -> Any:  # noqa: ANN401
    raise StorageError("the store is not available")


def test_when_old_versions_cannot_be_trimmed(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = social_graph(root)
    monkeypatch.setattr(RawStore, "delete", unavailable)
    written = [f"p{i:02}" for i in range(KEPT_VERSIONS + 2 * FANOUT)]
    for name in written:
        add_person(graph, name)
    assert people(graph) == written


def test_when_the_store_is_gone_the_outcome_is_unknown(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root)
    with monkeypatch.context() as patched:
        _break_after_the_swap(patched, failures=1_000)
        with pytest.raises(CommitUnknown) as unknown:
            add_person(graph, "Ann")
    assert graph.commit(unknown.value.commit_id).message == "Ann"
    assert people(graph) == ["Ann"]


def test_when_one_look_fails_the_next_one_finds_the_commit(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root)
    with monkeypatch.context() as patched:
        _break_after_the_swap(patched, failures=1)
        add_person(graph, "Ann")
    assert people(graph) == ["Ann"]
    assert_sound(graph)


def test_what_is_settled_is_forgotten(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is settled that nobody knows: nobody will publish that commit again."""
    graph = social_graph(root)
    for failures in (1, 1_000):
        with monkeypatch.context() as patched:
            _break_after_the_swap(patched, failures)
            with nullcontext() if failures == 1 else pytest.raises(CommitUnknown):
                add_person(graph, f"Ann {failures}")
        assert not graph._store.publisher._in_doubt


def test_a_failure_that_nobody_expected_leaves_no_commit_without_an_answer(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread publishes for all that wait; when it breaks, the others must hear of it."""
    graph = social_graph(root)
    publisher = graph._store.publisher
    outcomes: list[BaseException] = []

    def breaks(*_: Any) -> Any:  # noqa: ANN401
        raise RuntimeError("not foreseen")

    def write(type_name: str, rows: list[dict[str, Any]]) -> None:
        try:
            with graph.transaction() as txn:
                txn.insert(type_name, rows)
        except Exception as error:  # noqa: BLE001  the outcome is what the test is about
            outcomes.append(error)

    monkeypatch.setattr(Manifest, "compare_and_swap", breaks)
    threads = [
        threading.Thread(target=write, args=("Person", persons(["Ann"]))),
        threading.Thread(target=write, args=("Club", [{"name": "Chess"}])),
    ]
    with publisher.exclusive():
        for thread in threads:
            thread.start()
        wait_until(lambda: len(publisher._queue) == 2)
    for thread in threads:
        thread.join(20)
    assert {type(error) for error in outcomes} == {RuntimeError, CommitUnknown}


def _break_after_the_swap(patched: pytest.MonkeyPatch, failures: int) -> None:
    """Every look at the manifest fails so many times, from the moment a swap has landed."""
    land = Manifest._land
    refresh = Manifest.refresh
    left = failures

    def fails(manifest: Manifest, view: ManifestView) -> ManifestView:
        nonlocal left
        if left:
            left -= 1
            raise StorageError("the store is not available")
        return refresh(manifest, view)

    def lands(*given: Any) -> Any:  # noqa: ANN401
        landed = land(*given)
        patched.setattr(Manifest, "refresh", fails)
        return landed

    patched.setattr(Manifest, "_land", lands)
