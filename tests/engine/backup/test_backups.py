"""A backup shows one moment of the whole graph, takes only what is new, and refuses the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    Corruption,
    InvalidInput,
    NotFound,
    OmniGraphError,
    StorageError,
)
from support.fixtures import unique_uri, use_environment
from support.kept_graphs import everything, put
from support.object_stores import ObjectStore
from support.waiting import wait_until


def files(place: Path) -> set[Path]:
    return {path.relative_to(place) for path in place.rglob("*") if path.is_file()}


def test_a_backup_shows_what_the_graph_showed(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    assert list(place.glob("nodes/*/data/*/*")), "blobs that are files of their own are wanted here"
    report = omnigraph.backup(place, tmp_path / "backup")
    copy = omnigraph.open(tmp_path / "backup")
    assert everything(copy) == everything(graph)
    assert copy.verify().ok
    assert (report.branches, report.graph_commit_id) == (4, graph.commits()[0].id)
    assert report.files == report.copied_files


def test_a_quiet_backup_has_no_registration(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    assert graph.collect(dry_run=True).spared_transactions == 0
    assert omnigraph.open(tmp_path / "backup").collect(dry_run=True).spared_transactions == 0


def test_a_second_backup_copies_only_what_is_new(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    first = omnigraph.backup(place, tmp_path / "backup")
    put(graph, "Eve")
    second = omnigraph.backup(place, tmp_path / "backup")
    assert second.copied_files < 15 < first.copied_files
    assert everything(omnigraph.open(tmp_path / "backup")) == everything(graph)


def test_a_backup_of_an_unchanged_graph_copies_and_changes_nothing(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    before = files(place), files(tmp_path / "backup")
    report = omnigraph.backup(place, tmp_path / "backup")
    assert (report.copied_files, report.copied_bytes) == (0, 0)
    assert (files(place), files(tmp_path / "backup")) == before
    assert report.graph_commit_id == graph.commits()[0].id


def test_an_open_backup_moves_on(graph: omnigraph.Graph, place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    copy = omnigraph.open(tmp_path / "backup")
    put(graph, "Eve")
    assert copy.snapshot().get("Boat", "Eve") is None
    omnigraph.backup(place, tmp_path / "backup")
    assert copy.snapshot().get("Boat", "Eve") is not None


def test_a_collection_deletes_what_the_moment_does_not_need(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    graph.optimize()
    graph.tags.delete("v1")
    graph.collect(keep=1)
    report = omnigraph.backup(place, tmp_path / "backup")
    copy = omnigraph.open(tmp_path / "backup")
    copy.collect()
    inside = {path for path in files(tmp_path / "backup") if path.parts[0] != "__backup"}
    # Besides those of the moment: the lock, and versions of the manifest with what they refer to.
    assert len(inside) < report.files + 20
    assert copy.verify(deep=True).ok
    assert everything(copy) == everything(graph)
    assert omnigraph.backup(place, tmp_path / "backup").copied_files < 15


def test_a_backup_may_be_collected(graph: omnigraph.Graph, place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    for _ in range(5):  # each makes a version of its own
        omnigraph.open(tmp_path / "backup").collect()
    put(graph, "Eve")
    omnigraph.backup(place, tmp_path / "backup")
    copy = omnigraph.open(tmp_path / "backup")
    assert everything(copy) == everything(graph)
    copy.collect()
    assert copy.verify().ok
    assert everything(omnigraph.open(tmp_path / "backup")) == everything(graph)


def test_a_file_that_a_backup_lost_is_copied_again(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    lost = next((tmp_path / "backup").glob("nodes/*/data/*.lance"))
    lost.unlink()
    assert not omnigraph.open(tmp_path / "backup").verify().ok
    omnigraph.backup(place, tmp_path / "backup")
    assert lost.exists()
    assert omnigraph.open(tmp_path / "backup").verify().ok


def test_a_damaged_graph_does_not_become_a_backup(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    before = everything(omnigraph.open(tmp_path / "backup"))
    put(omnigraph.open(place), "Eve")
    needed = next((tmp_path / "backup").glob("nodes/*/data/*.lance")).relative_to(
        tmp_path / "backup"
    )
    (place / needed).unlink()
    with pytest.raises(OmniGraphError) as refused:
        omnigraph.backup(place, tmp_path / "backup")
    assert refused.value.code == "corruption"
    assert everything(omnigraph.open(tmp_path / "backup")) == before


def test_a_table_that_was_made_again_has_another_first_version(place: Path, tmp_path: Path) -> None:
    """As after a collection that took the dropped table with its folder."""
    from omnigraph.storage.core.file_digests import digest_of

    omnigraph.backup(place, tmp_path / "backup")
    first = next(place.glob("nodes/*/_versions/1844*.manifest"))
    for mark in first.parents[1].glob(f"_digests/{first.name}.*"):
        mark.unlink()
    first.write_bytes(first.read_bytes() + b"again")
    (first.parents[1] / "_digests" / f"{first.name}.{digest_of([first.read_bytes()])}").touch()
    put(omnigraph.open(place), "Eve")
    omnigraph.backup(place, tmp_path / "backup")
    copy = tmp_path / "backup" / first.relative_to(place)
    assert copy.read_bytes() == first.read_bytes()


# --------------------------------------------------------------------------- damage


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


def test_a_changed_byte_is_not_backed_up(place: Path, tmp_path: Path) -> None:
    """Of files that were never copied, the digests in their names tell."""
    backup = tmp_path / "backup"
    omnigraph.backup(place, backup)
    for kind in ("data/*.lance", "data/*/*", "_indices/*/*", "_versions/d*.manifest"):
        needed = max(backup.glob(f"nodes/*/{kind}"), key=lambda path: path.stat().st_size)
        flip(place / needed.relative_to(backup))
        with pytest.raises(Corruption):
            omnigraph.backup(place, tmp_path / "another")
        with pytest.raises(NotFound):
            omnigraph.open(tmp_path / "another")
        flip(place / needed.relative_to(backup))
    omnigraph.backup(place, tmp_path / "another")


def test_a_damaged_manifest_is_not_built_on(place: Path, tmp_path: Path) -> None:
    """A registration would make a new version of it, with a digest that is right."""
    newest = min((place / "__manifest" / "_versions").glob("*.manifest"))
    contents, before = newest.read_bytes(), files(place)
    for position in range(0, len(contents), len(contents) // 12):
        changed = bytearray(contents)
        changed[position] ^= 4
        newest.write_bytes(changed)
        with pytest.raises(Corruption) as refused:
            omnigraph.backup(place, tmp_path / "backup")
        assert refused.value.details["paths"] == [str(newest.relative_to(place))]
    assert files(place) == before


def test_a_damaged_file_replaces_no_good_copy(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    good = next((tmp_path / "backup").glob("nodes/*/data/*.lance"))
    contents, name = good.read_bytes(), str(good.relative_to(tmp_path / "backup"))
    put(omnigraph.open(place), "Eve")
    (place / name).write_bytes(contents[:-7])
    with pytest.raises(Corruption) as refused:
        omnigraph.backup(place, tmp_path / "backup")
    assert refused.value.details["paths"] == [name]
    assert good.read_bytes() == contents
    assert omnigraph.open(tmp_path / "backup").verify(deep=True).ok
    assert omnigraph.repair(place, tmp_path / "backup").ok
    omnigraph.backup(place, tmp_path / "backup")


# --------------------------------------------------------------------------- refusals


def test_a_place_with_something_else_in_it_is_refused(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(AlreadyExists):
        omnigraph.backup(place, other)
    assert files(other) == {Path("notes.txt")}


def test_a_graph_is_not_overwritten(place: Path, tmp_path: Path) -> None:
    other = omnigraph.init(tmp_path / "other", "node A { x: I32 }")
    with pytest.raises(AlreadyExists):
        omnigraph.backup(place, tmp_path / "other")
    with pytest.raises(InvalidInput):
        omnigraph.backup(place, place)
    assert omnigraph.open(tmp_path / "other").commits() == other.commits()


def test_a_backup_of_another_graph_is_refused(place: Path, tmp_path: Path) -> None:
    omnigraph.init(tmp_path / "other", "node A { x: I32 }")
    omnigraph.backup(tmp_path / "other", tmp_path / "backup")
    before = files(tmp_path / "backup")
    with pytest.raises(Conflict, match="another graph"):
        omnigraph.backup(place, tmp_path / "backup")
    assert files(tmp_path / "backup") == before


def test_a_backup_that_was_written_to_is_refused(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    copy = omnigraph.open(tmp_path / "backup")
    put(copy, "Own")
    with pytest.raises(Conflict, match="commits that the graph"):
        omnigraph.backup(place, tmp_path / "backup")
    assert copy.snapshot().get("Boat", "Own") is not None


def test_places_inside_each_other_are_refused(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    (tmp_path / "link").symlink_to(place)
    for target in (place / "nodes" / "copy", tmp_path, tmp_path / "link" / "copy"):
        with pytest.raises(InvalidInput, match="inside the other"):
            omnigraph.backup(place, target)
    with pytest.raises(InvalidInput, match="inside the other"):
        omnigraph.restore(tmp_path / "backup", tmp_path / "backup" / "nodes" / "copy")


def test_a_graph_that_is_older_than_its_backup_is_refused(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    omnigraph.restore(tmp_path / "backup", tmp_path / "older")
    put(omnigraph.open(place), "Eve")
    omnigraph.backup(place, tmp_path / "backup")
    with pytest.raises(Conflict, match="commits that the graph"):
        omnigraph.backup(tmp_path / "older", tmp_path / "backup")
    assert omnigraph.open(tmp_path / "backup").snapshot().get("Boat", "Eve")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_place_that_cannot_be_written_to_is_a_typed_error(place: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="cannot write"):
        omnigraph.backup(place, tmp_path / "backup")


def test_a_moment_that_is_not_shown_is_not_reported(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection of the backup meanwhile gives out numbers above that of the moment."""
    from omnigraph.storage.backup import copy_moment

    omnigraph.backup(place, tmp_path / "backup")
    put(omnigraph.open(place), "Eve")

    def collect(point: str) -> None:
        if point == "copy.before_version":
            for _ in range(6):
                omnigraph.open(tmp_path / "backup").collect()

    monkeypatch.setattr(copy_moment, "failpoint", collect)
    with pytest.raises(Conflict, match="meanwhile"):
        omnigraph.backup(place, tmp_path / "backup")
    monkeypatch.undo()
    omnigraph.backup(place, tmp_path / "backup")
    assert omnigraph.open(tmp_path / "backup").snapshot().get("Boat", "Eve")


def test_files_that_are_deleted_from_a_backup_meanwhile_are_told(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.storage.backup import copy_moment

    def delete_one(point: str) -> None:
        if point == "copy.before_version":
            next((tmp_path / "backup").glob("nodes/*/data/*.lance")).unlink()

    monkeypatch.setattr(copy_moment, "failpoint", delete_one)
    with pytest.raises(Conflict, match="meanwhile"):
        omnigraph.backup(place, tmp_path / "backup")
    monkeypatch.undo()
    omnigraph.backup(place, tmp_path / "backup")
    assert omnigraph.open(tmp_path / "backup").verify(deep=True).ok


# --------------------------------------------------------------------------- stores and others


@pytest.mark.s3
def test_between_disk_and_object_store(
    graph: omnigraph.Graph,
    place: Path,
    tmp_path: Path,
    moto_store: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_environment(monkeypatch, moto_store)
    far, again = unique_uri(), unique_uri()
    omnigraph.backup(place, far)
    put(graph, "Eve")
    assert omnigraph.backup(place, far).copied_files < 15
    assert omnigraph.open(far).verify().ok
    assert omnigraph.backup(place, far).copied_files == 0
    omnigraph.restore(far, again)
    omnigraph.backup(again, tmp_path / "near")
    omnigraph.restore(tmp_path / "near", tmp_path / "restored")
    shown = everything(graph)
    for root in (far, again, tmp_path / "near", tmp_path / "restored"):
        assert everything(omnigraph.open(root)) == shown
    with pytest.raises(AlreadyExists):
        omnigraph.restore(far, again)


BUSY = """
import sys, omnigraph
from support.kept_graphs import put
graph, number = omnigraph.open(sys.argv[1]), 0
while True:
    number += 1
    put(graph, f"{sys.argv[2]}{number % 7}")
    if sys.argv[2] == "upkeep" and number % 3 == 0:
        graph.optimize()
        graph.collect(keep=2)
"""


def test_writers_optimize_and_collections_go_on(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    """Every backup that was made meanwhile is whole, and nobody failed because of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    busy = [
        subprocess.Popen(
            [sys.executable, "-c", BUSY, str(place), name],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("writer", "upkeep")
    ]
    begun = graph.commits()[0].version
    try:
        wait_until(lambda: graph.commits()[0].version > begun + 8, 60, "they write")
        for _ in range(4):
            omnigraph.backup(place, tmp_path / "backup")
            copy = omnigraph.open(tmp_path / "backup")
            assert copy.verify().findings == ()
            everything(copy)
        assert [process.poll() for process in busy] == [None, None]
    finally:
        for process in busy:
            process.kill()
        said = [process.communicate()[1] for process in busy]
    assert said == ["", ""]
    omnigraph.backup(place, tmp_path / "backup")
    assert everything(omnigraph.open(tmp_path / "backup")) == everything(graph)
