"""However long an `init` stands still, it never takes the place of a graph that is there."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import omnigraph
from omnigraph.storage.core.failpoints import BEFORE_CREATE
from omnigraph.storage.core.layout import version_file
from omnigraph.storage.manifest import manifest
from support.fixtures import unique_uri, use_environment
from support.http_wire import Request
from support.object_stores import ObjectStore
from support.policies import Policy, is_graph_commit
from support.proxy import proxied
from support.social import add_person, assert_sound, people, social_graph
from support.worker_processes import Gate, one_worker

OTHER = "node Boat { name: String @key }\n"
FEW = 2
"""Versions that are not trimmed here, so that a few commits trim what hundreds would."""
COMMITS = 60


@pytest.fixture(autouse=True)
def _trims_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "KEPT_VERSIONS", FEW)


class Hold(Policy):
    """Keeps the first PUT of a manifest version from the store until it is let go."""

    def __init__(self) -> None:
        self.held, self.let_go = threading.Event(), threading.Event()

    async def before(self, request: Request) -> None:
        if is_graph_commit(request) and not self.held.is_set():
            self.held.set()
            while not self.let_go.is_set():
                await asyncio.sleep(0.01)


def _write_and_trim(root: str, commits: int) -> list[str]:
    graph = social_graph(root)
    names = [f"p{number:03}" for number in range(commits)]
    for name in names:
        add_person(graph, name)
    return names


def _assert_untouched(root: str, names: list[str]) -> None:
    graph = omnigraph.open(root)
    assert people(graph) == names
    assert_sound(graph)
    add_person(graph, "q")
    assert people(omnigraph.open(root)) == [*names, "q"]


def test_on_disk_gets_already_exists_and_changes_nothing(tmp_path: Path) -> None:
    root, gate = str(tmp_path / "graph"), Gate(tmp_path / "gate")
    asked = {"root": root, "schema": OTHER}
    with one_worker("creator", asked, failpoints=gate.at(BEFORE_CREATE)) as stalled:
        stalled.go()
        gate.wait_held()
        names = _write_and_trim(root, COMMITS)
        gate.open()
        stalled.finish()
        assert stalled.said("end")[0]["kind"] == "AlreadyExists"
    _assert_untouched(root, names)


@pytest.mark.s3
def test_on_an_object_store_the_held_request_is_refused(
    moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held between looking whether there is a graph and creating its first version."""
    use_environment(monkeypatch, moto_store)
    root, hold = unique_uri(), Hold()
    with proxied(moto_store, hold) as proxy:
        environment = proxy.store.environment()
        with one_worker("creator", {"root": root, "schema": OTHER}, environment) as stalled:
            stalled.go()
            assert hold.held.wait(60)
            names = _write_and_trim(root, COMMITS // 2)
            hold.let_go.set()
            stalled.finish()
            assert stalled.said("end")[0]["kind"] == "AlreadyExists"
    _assert_untouched(root, names)


def test_the_first_version_is_neither_trimmed_nor_collected(tmp_path: Path) -> None:
    _write_and_trim(str(tmp_path), COMMITS)
    omnigraph.open(tmp_path).collect(keep=1)
    assert (tmp_path / "__manifest" / version_file(1)).exists()
    assert not (tmp_path / "__manifest" / version_file(2)).exists()
