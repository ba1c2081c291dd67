"""A swap built on an old view is refused, however much of the history since then was trimmed.

Lance looks for conflicts in the version files it can list. Trimmed ones are not listed, so a swap
must meet a conflict in the newest version, whatever that version changed
(docs/design/decisions/0003-publish-is-a-compare-and-swap.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import lance
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.storage.commit.publish_plan import read_head
from omnigraph.storage.core.compaction_policy import FANOUT
from omnigraph.storage.manifest.commit_outcome import ManifestConflict
from omnigraph.storage.manifest.manifest import (
    KEPT_VERSIONS,
    Manifest,
    ManifestChange,
    ManifestView,
)
from omnigraph.storage.manifest.row_codec import ALLOCATOR_ID, head_row

SCHEMA = "node Item { name: String @key }"
LONG_STALL = KEPT_VERSIONS + 4 * FANOUT


def manifest_of(graph: Graph) -> Manifest:
    return Manifest(graph.uri, {}, lance.Session())


def moved(view: ManifestView, branch: str, version: int | None = None) -> ManifestChange:
    """A swap that moves one branch, as a publish does."""
    head = read_head(view, branch)
    assert head is not None
    after = replace(head, version=head.version + 1 if version is None else version)
    return ManifestChange(replace=[head_row(after)])


def touched(view: ManifestView) -> ManifestChange:
    """A swap of names that moves no branch, as creating one is."""
    return ManifestChange(replace=[view.named[ALLOCATOR_ID].row])


def rows_by_id(manifest: Manifest) -> Counter[str]:
    view = manifest.open()
    return Counter(row["object_id"] for row, _ in manifest.history(view, "object_id IS NOT NULL"))


@pytest.mark.parametrize("stall", [1, KEPT_VERSIONS, LONG_STALL, 2 * LONG_STALL])
def test_a_publisher_that_stalled_meets_a_conflict(tmp_path: str, stall: int) -> None:
    graph = init(f"{tmp_path}/graph", SCHEMA)
    stalled, busy = manifest_of(graph), manifest_of(graph)
    old = stalled.open()
    view = busy.open()
    for _ in range(stall):
        view = busy.compare_and_swap(view, moved(view, "main"))
    with pytest.raises(ManifestConflict):
        stalled.compare_and_swap(old, moved(old, "main", version=1_000_000))
    assert max(rows_by_id(busy).values()) == 1


def test_even_when_everything_since_then_touched_other_rows(tmp_path: str) -> None:
    graph = init(f"{tmp_path}/graph", SCHEMA)
    stalled, busy = manifest_of(graph), manifest_of(graph)
    old = stalled.open()
    view = busy.compare_and_swap(old, moved(old, "main"))
    for _ in range(LONG_STALL):
        view = busy.compare_and_swap(view, touched(view))
    with pytest.raises(ManifestConflict):
        stalled.compare_and_swap(old, moved(old, "main", version=1_000_000))
    assert max(rows_by_id(busy).values()) == 1
