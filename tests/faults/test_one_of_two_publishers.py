"""Of two that publish the same thing at once, one lands and the other one hears of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.storage.commit.publish_plan import read_head
from omnigraph.storage.core.compaction_policy import FANOUT
from omnigraph.storage.manifest import manifest as manifest_module
from omnigraph.storage.manifest.commit_outcome import ManifestConflict
from omnigraph.storage.manifest.format_version import KEY_ANNOTATION
from omnigraph.storage.manifest.manifest import (
    KEPT_VERSIONS,
    Manifest,
    ManifestChange,
    ManifestView,
)
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, head_row
from support.fixtures import unique_uri, use_environment
from support.object_stores import ObjectStore
from support.policies import Hold
from support.proxy import proxied
from support.social import SOCIAL, add_person, assert_sound, people, social_graph
from support.worker_processes import one_worker, run_together, without_queue, workers


def test_creators_of_one_branch_name(tmp_path: Path) -> None:
    root = str(tmp_path / "graph")
    graph = social_graph(root)
    without_queue(root)
    for name in ("one", "two", "three"):
        asked = [{"root": root, "create_branch": name} for _ in range(4)]
        with workers("act", asked) as creators:
            run_together(creators)
            codes = [creator.said("end")[0]["code"] for creator in creators]
        assert sorted(map(str, codes)) == ["None"] + ["already_exists"] * 3
    assert [branch.name for branch in graph.branches()] == ["main", "one", "three", "two"]
    assert_sound(graph)


def doors(graph: Graph) -> tuple[Manifest, Manifest, ManifestView]:
    """Two publishers that have seen the same version."""
    first, second = (Manifest(graph.uri, {}, lance.Session()) for _ in range(2))
    return first, second, first.open()


def moved(view: ManifestView) -> ManifestChange:
    head = read_head(view, "main")
    assert head is not None
    return ManifestChange(replace=[head_row(head)])


def creating(view: ManifestView, guard: str) -> ManifestChange:
    """A swap that adds a name, and meets others in whatever row it replaces."""
    row = dict(view.named[ALLOCATOR_ID].row) | {"object_id": "head:work"}
    return ManifestChange(replace=[view.named[guard].row], add=[row])


def copies(graph: Graph, object_id: str) -> int:
    manifest = Manifest(graph.uri, {}, lance.Session())
    return len(manifest.history(manifest.open(), f"object_id = '{object_id}'"))


def test_publishers_of_one_branch_from_one_view(tmp_path: Path) -> None:
    graph = init(tmp_path / "graph", SOCIAL)
    first, second, view = doors(graph)
    first.compare_and_swap(view, moved(view))
    with pytest.raises(ManifestConflict):
        second.compare_and_swap(view, moved(view))
    assert copies(graph, "head:main") == 1


def test_creators_of_one_name_that_replace_different_rows(tmp_path: Path) -> None:
    graph = init(tmp_path / "graph", SOCIAL)
    first, second, view = doors(graph)
    view = _apart(first, view)
    first.compare_and_swap(view, creating(view, ALLOCATOR_ID))
    with pytest.raises(ManifestConflict):
        second.compare_and_swap(view, creating(view, "head:main"))
    assert copies(graph, "head:work") == 1


def test_without_a_meeting_point_both_would_land(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the test above."""
    graph = init(tmp_path / "graph", SOCIAL)
    first, second, view = doors(graph)
    view = _apart(first, view)
    first.compare_and_swap(view, creating(view, ALLOCATOR_ID))
    monkeypatch.setattr(manifest_module, "SHARED_CLAIM", manifest_module.SHARED_CLAIM - 1)
    second.compare_and_swap(view, creating(view, "head:main"))
    assert copies(graph, "head:work") == 2


def _apart(manifest: Manifest, view: ManifestView) -> ManifestView:
    """Put the head of main and the allocator in fragments of their own."""
    view = manifest.compare_and_swap(view, moved(view))
    return manifest.compare_and_swap(view, ManifestChange(replace=[view.named[ALLOCATOR_ID].row]))


@pytest.mark.parametrize(("annotated", "landed"), [(True, 1), (False, 2)])
def test_the_key_annotation_is_what_stops_two_merge_inserts(
    tmp_path: Path, annotated: bool, landed: int
) -> None:
    """Not what our swaps rest on, but what protects a manifest from other writers' merges."""
    metadata = {KEY_ANNOTATION: "true"} if annotated else {}
    schema = pa.schema([pa.field("object_id", pa.string(), False, metadata)])
    uri = str(tmp_path / "table")
    lance.write_dataset(pa.table({"object_id": ["a"]}, schema=schema), uri)
    views = [lance.dataset(uri), lance.dataset(uri)]
    succeeded = 0
    for view in views:
        merge = view.merge_insert("object_id").when_not_matched_insert_all().conflict_retries(0)
        try:
            merge.execute(pa.table({"object_id": ["b"]}, schema=schema))
            succeeded += 1
        except OSError:
            continue
    assert succeeded == landed
    assert lance.dataset(uri).to_table().column(0).to_pylist().count("b") == landed


def epoch(graph: Graph) -> int:
    return graph._store.head("main").epoch


def branches(graph: Graph) -> list[str]:
    return [branch.name for branch in graph.branches()]


DEEDS: dict[str, tuple[dict[str, Any], Callable[[Graph], bool]]] = {
    "a write": (
        {"insert": {"Person": ["stalled"]}},
        lambda graph: people(graph) == ["Ann", "stalled"],
    ),
    "a new branch": ({"create_branch": "new"}, lambda graph: "new" in branches(graph)),
    "a branch that goes": ({"delete_branch": "old"}, lambda graph: "old" not in branches(graph)),
    "a collection": ({"collect": True}, lambda graph: epoch(graph) == 2),
}


@pytest.mark.s3
@pytest.mark.slow
@pytest.mark.parametrize("deed", DEEDS)
def test_a_version_file_written_again_after_it_was_trimmed_is_no_success(
    seaweed_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    """A writer stalls with its PUT on the way, until the version it names is trimmed (Q8)."""
    use_environment(monkeypatch, seaweed_store)
    root = unique_uri()
    graph = social_graph(root)
    graph.create_branch("old")
    asked, done = DEEDS[deed]
    stall = Hold()
    with (
        proxied(seaweed_store, stall) as proxy,
        one_worker("act", {"root": root, **asked}, proxy.store.environment()) as writer,
    ):
        writer.go()
        assert stall.held.wait(30)
        add_person(graph, "Ann")
        for _ in range(KEPT_VERSIONS + 4 * FANOUT):
            graph._store.publisher.change_names(
                lambda view: ManifestChange(replace=[view.named[ALLOCATOR_ID].row])
            )
        assert not done(graph)
        stall.release()
        writer.finish()
        end = writer.said("end")[0]
    assert stall.exchange is not None
    assert stall.exchange.store_status == 200, "the version was still there"
    assert end["code"] is None, end
    assert done(graph)
    assert_sound(graph)
