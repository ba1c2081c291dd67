"""Single files come back from a backup: those that differ from it, and only if it is intact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import Conflict, InvalidInput
from support.kept_graphs import everything, put, run_cli

KINDS = {
    "data": "nodes/*/data/*.lance",
    "blob": "nodes/*/data/*/*",
    "deletion": "nodes/*/_deletions/*",
    "index": "nodes/*/_indices/*/*",
    "table version": "nodes/*/_versions/d*.manifest",
    "anchor": "nodes/*/_versions/1844*.manifest",
    "plain table": "tables/*/data/*.lance",
    "manifest data": "__manifest/data/*.lance",
    "manifest deletion": "__manifest/_deletions/*",
}


@pytest.fixture
def backup(place: Path, tmp_path: Path) -> Path:
    omnigraph.backup(place, tmp_path / "backup")
    return tmp_path / "backup"


def shared(pattern: str, place: Path, backup: Path) -> Path:
    """A file of the graph that its backup has, too."""
    return max(
        (place / path.relative_to(backup) for path in backup.glob(pattern) if path.is_file()),
        key=lambda path: (path.stat().st_size, path.name) if path.exists() else (0, ""),
    )


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 3] ^= 0x10
    path.write_bytes(contents)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [flip, cut, empty, remove])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_file(
    place: Path, backup: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    before = everything(omnigraph.open(place))
    path = shared(KINDS[kind], place, backup)
    damage(path)
    report = omnigraph.repair(place, backup)
    assert report.unrepaired == ()
    assert report.repaired == (str(path.relative_to(place)),)
    assert everything(omnigraph.open(place)) == before
    assert omnigraph.repair(place, backup).repaired == ()


@pytest.mark.parametrize("damage", [flip, cut, empty])
def test_the_newest_version_of_the_manifest(
    place: Path, backup: Path, damage: Callable[[Path], None]
) -> None:
    before = everything(omnigraph.open(place))
    newest = min((place / "__manifest" / "_versions").glob("*.manifest"))
    damage(newest)
    assert omnigraph.repair(place, backup).repaired == (str(newest.relative_to(place)),)
    assert everything(omnigraph.open(place)) == before


def test_all_versions_of_the_manifest_are_gone(place: Path, backup: Path) -> None:
    before = everything(omnigraph.open(place))
    for path in (place / "__manifest" / "_versions").iterdir():
        path.unlink()
    report = omnigraph.repair(place, backup)
    assert report.ok
    assert len(report.repaired) == 1
    assert everything(omnigraph.open(place)) == before


def test_files_that_are_newer_than_the_backup_are_left_alone(place: Path, backup: Path) -> None:
    graph = omnigraph.open(place)
    put(graph, "Eve")
    flip(shared(KINDS["data"], place, backup))
    assert len(omnigraph.repair(place, backup).repaired) == 1
    repaired = omnigraph.open(place)
    assert repaired.snapshot().get("Boat", "Eve") is not None
    assert repaired.verify().ok


def test_a_copy_that_is_damaged_too_replaces_nothing(place: Path, backup: Path) -> None:
    path = shared(KINDS["data"], place, backup)
    path.unlink()
    torn = backup / path.relative_to(place)
    cut(torn)
    report = omnigraph.repair(place, backup)
    assert (report.ok, report.repaired) == (False, ())
    assert str(path.relative_to(place)) in {each.where for each in report.unrepaired}
    assert not path.exists()
    torn.unlink()
    assert not omnigraph.repair(place, backup).ok
    ended = run_cli("repair", str(place), "--from", str(backup))
    assert (ended.returncode, "missing in the backup" in ended.stdout) == (5, True)


def test_a_version_that_a_backup_made_itself_replaces_nothing(place: Path, backup: Path) -> None:
    """Its collections make versions of the same numbers as the graph has, and other contents."""
    for _ in range(4):
        omnigraph.open(backup).collect()
        put(omnigraph.open(place), "Eve")
    before = everything(omnigraph.open(place))
    assert omnigraph.repair(place, backup).repaired == ()
    assert everything(omnigraph.open(place)) == before


def test_another_graph_is_left_alone(place: Path, tmp_path: Path) -> None:
    omnigraph.init(tmp_path / "other", "node A { x: I32 }")
    omnigraph.backup(tmp_path / "other", tmp_path / "of other")
    for versions in ((), (place / "__manifest" / "_versions").glob("*.manifest")):
        for path in versions:
            flip(path)
        with pytest.raises(Conflict, match="not a backup of"):
            omnigraph.repair(place, tmp_path / "of other")
    with pytest.raises(InvalidInput, match="not a backup"):
        omnigraph.repair(place, tmp_path / "other")
