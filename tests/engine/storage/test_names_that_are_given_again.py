"""Deleting and creating a name whose answer was lost is about that name's own lifetime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.storage.manifest.commit_outcome import ManifestOutcomeUnknown
from omnigraph.storage.manifest.manifest import Manifest

SCHEMA = "node P { name: String @key }"


@contextmanager
def answer_lost(graph: Graph, meanwhile: Callable[[], None]) -> Iterator[None]:
    """The next change of the manifest lands; before its author looks again, others go on."""
    swap, manifest, left = Manifest.compare_and_swap, graph._store.manifest, [True]

    def lost(self: Manifest, *args: Any) -> Any:  # noqa: ANN401
        landed = swap(self, *args)
        if self is manifest and left:
            left.clear()
            meanwhile()
            raise ManifestOutcomeUnknown("the answer was lost")
        return landed

    with mock.patch.object(Manifest, "compare_and_swap", lost):
        yield


def put(graph: Graph, name: str, branch: str) -> None:
    with graph.transaction(branch) as txn:
        txn.insert("P", [{"name": name}])


@pytest.fixture
def graphs(root: str) -> tuple[Graph, Graph]:
    graph = omnigraph.init(root, SCHEMA)
    return graph, omnigraph.open(root)


def test_a_branch_that_others_created_again_is_not_deleted(graphs: tuple[Graph, Graph]) -> None:
    graph, other = graphs
    graph.create_branch("side")

    def recreate() -> None:
        other.create_branch("side")
        put(other, "Ann", "side")

    with answer_lost(graph, recreate):
        graph.delete_branch("side")
    assert graph.snapshot("side").count("P") == 1


def test_a_tag_that_others_created_again_is_not_deleted(graphs: tuple[Graph, Graph]) -> None:
    graph, other = graphs
    graph.tags.create("v1")
    put(graph, "Ann", "main")

    def recreate() -> None:
        other.tags.create("v1")

    with answer_lost(graph, recreate):
        graph.tags.delete("v1")
    assert graph.snapshot("v1").count("P") == 1


def test_a_branch_that_others_wrote_to_at_once_was_created(graphs: tuple[Graph, Graph]) -> None:
    graph, other = graphs
    with answer_lost(graph, lambda: put(other, "Ann", "side")):
        graph.create_branch("side")
    assert graph.snapshot("side").count("P") == 1
