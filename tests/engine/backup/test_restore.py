"""A restored graph is the graph that was backed up, and nothing is there until all of it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph
from omnigraph.bulk import Target
from omnigraph.errors import AlreadyExists, Corruption, InvalidInput, NotFound
from omnigraph.storage.manifest.version_files import files_of_newest
from support.kept_graphs import everything, put


@pytest.fixture
def backup(place: Path, tmp_path: Path) -> Path:
    omnigraph.backup(place, tmp_path / "backup")
    return tmp_path / "backup"


def test_it_shows_the_same_and_takes_writes(
    graph: omnigraph.Graph, backup: Path, tmp_path: Path
) -> None:
    report = omnigraph.restore(backup, tmp_path / "restored")
    assert report.copied_files == report.files
    restored = omnigraph.open(tmp_path / "restored")
    assert everything(restored) == everything(graph)
    put(restored, "Eve")
    restored.optimize()
    restored.collect(keep=1)
    assert restored.merge("wip").outcome == "merged"
    assert restored.verify().ok
    assert not (tmp_path / "restored" / "__restore").exists()


def test_a_restored_graph_goes_on_in_its_backup(backup: Path, tmp_path: Path) -> None:
    omnigraph.restore(backup, tmp_path / "restored")
    restored = omnigraph.open(tmp_path / "restored")
    put(restored, "Eve")
    assert omnigraph.backup(tmp_path / "restored", backup).copied_files < 15
    assert everything(omnigraph.open(backup)) == everything(restored)


def test_registrations_are_not_restored(
    graph: omnigraph.Graph, place: Path, tmp_path: Path
) -> None:
    job = graph.begin_bulk([Target("node:Boat")])
    omnigraph.backup(place, tmp_path / "backup")
    graph.abandon_bulk(job)
    assert omnigraph.open(tmp_path / "backup").collect(dry_run=True).spared_transactions > 0
    omnigraph.restore(tmp_path / "backup", tmp_path / "restored")
    assert omnigraph.open(tmp_path / "restored").collect(dry_run=True).spared_transactions == 0


def test_something_that_is_there_is_left_alone(backup: Path, place: Path, tmp_path: Path) -> None:
    with pytest.raises(AlreadyExists):
        omnigraph.restore(backup, place)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(AlreadyExists):
        omnigraph.restore(backup, tmp_path / "other")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_only_a_backup_can_be_restored(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a backup"):
        omnigraph.restore(place, tmp_path / "restored")
    with pytest.raises(NotFound):
        omnigraph.restore(tmp_path / "nowhere", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_damaged_backup_is_not_restored(backup: Path, tmp_path: Path) -> None:
    damaged = max(backup.glob("nodes/*/data/*.lance"), key=lambda path: path.stat().st_size)
    contents = bytearray(damaged.read_bytes())
    contents[len(contents) // 2] ^= 1
    damaged.write_bytes(contents)
    with pytest.raises(Corruption) as refused:
        omnigraph.restore(backup, tmp_path / "restored")
    assert refused.value.details["paths"] == [str(damaged.relative_to(backup))]
    with pytest.raises(NotFound):
        omnigraph.open(tmp_path / "restored")


def test_a_backup_that_lost_a_file_is_not_restored(backup: Path, tmp_path: Path) -> None:
    """Also one that no version names: of Blobs and indexes they name the folders."""
    for kind in ("data/*/*", "_indices/*/*", "_deletions/*", "data/*.lance", "_versions/1844*"):
        lost = max(backup.glob(f"nodes/*/{kind}"), key=lambda path: path.stat().st_size)
        contents = lost.read_bytes()
        lost.unlink()
        with pytest.raises(Corruption, match="missing"):
            omnigraph.restore(backup, tmp_path / "restored")
        with pytest.raises(NotFound):
            omnigraph.open(tmp_path / "restored")
        lost.write_bytes(contents)
    omnigraph.restore(backup, tmp_path / "restored")


@pytest.mark.parametrize("folder", ["_versions", "data", "_deletions"])
def test_a_damaged_manifest_is_not_restored(backup: Path, tmp_path: Path, folder: str) -> None:
    """Wherever the byte is: some still give a manifest, of something else."""
    newest = min((backup / "__manifest" / "_versions").glob("*.manifest"))
    needed = {str(newest.relative_to(backup)), *files_of_newest(str(backup), {})}
    name = min(path for path in needed if f"/{folder}/" in path)
    contents = (backup / name).read_bytes()
    for position in range(0, len(contents), max(len(contents) // 8, 1)):
        changed = bytearray(contents)
        changed[position] ^= 4
        (backup / name).write_bytes(changed)
        with pytest.raises(Corruption) as refused:
            omnigraph.restore(backup, tmp_path / "restored")
        assert refused.value.details["paths"] == [name]


def test_an_init_meanwhile_wins(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it began after the restore had looked whether something is there."""
    from omnigraph.storage.backup import copy_moment

    def begun(point: str) -> None:
        if point == "copy.before_version":
            omnigraph.init(tmp_path / "restored", "node A { x: I32 }")

    monkeypatch.setattr(copy_moment, "failpoint", begun)
    with pytest.raises(AlreadyExists):
        omnigraph.restore(backup, tmp_path / "restored")
    assert [type_.name for type_ in omnigraph.open(tmp_path / "restored").snapshot().types()] == [
        "A"
    ]
