"""A transaction over many tables is seen whole or not at all, by readers in other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnigraph.api.graph import init
from support.fixtures import unique_uri, use_environment
from support.object_stores import ObjectStore
from support.social import assert_sound
from support.worker_processes import run_together, workers
from support.workers.counting import schema

TABLES = 12


def watched(root: str, commits: int) -> dict[str, Any]:
    """What a reader saw while a writer committed."""
    graph = init(root, schema(TABLES))
    common = {"root": root, "tables": TABLES, "commits": commits, "seconds": 80}
    asked = [{**common, "role": "writer"}, {**common, "role": "reader"}]
    with workers("counting", asked) as (writer, reader):
        run_together([writer, reader])
        seen: dict[str, Any] = reader.said("end")[0]
    assert len(graph.commits()) == commits + 1
    assert_sound(graph)
    return seen


@pytest.mark.slow
def test_on_disk(tmp_path: Path) -> None:
    seen = watched(str(tmp_path / "graph"), commits=200)
    assert seen["mixed"] == []
    assert seen["seen"] == sorted(seen["seen"]), "time went backwards"
    assert seen["seen"][-1] == 200
    assert len(seen["seen"]) > 20, "the reader hardly looked"
    # Without one snapshot for all tables, the same reader does see mixtures: it looked in time.
    assert seen["careless"] > 0


@pytest.mark.s3
@pytest.mark.slow
def test_on_an_object_store(moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    use_environment(monkeypatch, moto_store)
    seen = watched(unique_uri(), commits=15)
    assert seen["mixed"] == []
    assert seen["seen"][-1] == 15
    assert len(seen["seen"]) > 3
