"""Opening reads only the files that the newest swap noted; it finds what reading all would."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.storage.manifest import manifest as manifest_module
from omnigraph.storage.manifest.manifest import Manifest, ManifestView

SCHEMA = "node Item { name: String @key }"


def view_of(graph: Graph) -> ManifestView:
    """The newest view, read by a process that has seen nothing yet."""
    return Manifest(graph.uri, {}, lance.Session()).open()


def grow(graph: Graph, commits: int) -> None:
    """Commits on main and on branches, some of which go again."""
    for number in range(commits):
        with graph.transaction() as txn:
            txn.upsert("Item", [{"name": f"item-{number % 5}"}])
        if number % 7 == 0:
            graph.create_branch(f"b{number}")
        if number % 21 == 20:
            graph.delete_branch(f"b{number - 6}")


@pytest.mark.parametrize("commits", [1, 9, 80])
def test_as_many_as_reading_everything_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    grow(graph, commits)
    noted = view_of(graph)
    monkeypatch.setattr(manifest_module, "named_files", lambda dataset: None)
    everything = view_of(graph)
    assert noted.named == everything.named
    assert noted.by_fragment == everything.by_fragment


def test_a_version_that_no_swap_made_is_read_whole(tmp_path: Path) -> None:
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    grow(graph, 20)
    before = view_of(graph)
    lance.dataset(f"{graph.uri}/__manifest").update_config({"some.tool": "was here"})
    after = view_of(graph)
    assert after.version == before.version + 1
    assert after.named == before.named
