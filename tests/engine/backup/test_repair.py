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
def test_a_file_of_each_kind_at_once(
    place: Path, backup: Path, damage: Callable[[Path], None]
) -> None:
    before = everything(omnigraph.open(place))
    damaged = {shared(pattern, place, backup) for pattern in KINDS.values()}
    for path in damaged:
        damage(path)
    report = omnigraph.repair(place, backup)
    assert report.unrepaired == ()
    assert set(report.repaired) == {str(path.relative_to(place)) for path in damaged}
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


@pytest.mark.parametrize("damage", [flip, cut, remove])
def test_a_copy_that_is_damaged_too_replaces_nothing(
    place: Path, backup: Path, damage: Callable[[Path], None]
) -> None:
    damaged = {shared(pattern, place, backup) for pattern in KINDS.values()}
    for path in damaged:
        remove(path) if damage is remove else cut(path)
        damage(backup / path.relative_to(place))
    contents = {path: path.read_bytes() for path in damaged if path.exists()}
    report = omnigraph.repair(place, backup)
    # The manifest says which tables there are, so it comes first.
    of_manifest = {str(p.relative_to(place)) for p in damaged if "__manifest" in str(p)}
    assert (report.ok, report.repaired) == (False, ())
    assert of_manifest <= {each.where for each in report.unrepaired}
    assert {path: path.read_bytes() for path in damaged if path.exists()} == contents


def test_a_torn_copy_in_the_backup_is_named(place: Path, backup: Path) -> None:
    for kind in (kind for kind in KINDS if "manifest" not in kind):
        path = shared(KINDS[kind], place, backup)
        copy = backup / path.relative_to(place)
        contents = copy.read_bytes()
        remove(path)
        cut(copy)
        report = omnigraph.repair(place, backup)
        assert (report.ok, report.repaired) == (False, ()), kind
        assert str(path.relative_to(place)) in {each.where for each in report.unrepaired}
        assert not path.exists()
        copy.write_bytes(contents)
        path.write_bytes(contents)


def test_the_command_says_what_is_left(place: Path, backup: Path) -> None:
    path = shared(KINDS["data"], place, backup)
    remove(path)
    remove(backup / path.relative_to(place))
    ended = run_cli("repair", str(place), "--from", str(backup))
    assert ended.returncode == 5
    left = next(line for line in ended.stdout.splitlines() if str(path.relative_to(place)) in line)
    assert left.endswith("damaged, and missing in the backup")
    assert "omnigraph restore" in ended.stdout


def test_what_is_newer_than_the_backup_and_damaged_is_named(place: Path, backup: Path) -> None:
    known = set(place.glob("nodes/*/data/*.lance"))
    put(omnigraph.open(place), "Eve")
    (newer,) = set(place.glob("nodes/*/data/*.lance")) - known
    flip(newer)
    report = omnigraph.repair(place, backup)
    assert {each.where for each in report.unrepaired} == {str(newer.relative_to(place))}


def newest_version(root: Path) -> Path:
    return min((root / "__manifest" / "_versions").glob("*.manifest"))


def test_a_graph_that_went_another_way_keeps_its_commits(
    place: Path, backup: Path, tmp_path: Path
) -> None:
    """A restored graph gives out the same numbers of versions as the graph that was backed up."""
    omnigraph.restore(backup, tmp_path / "restored")
    put(omnigraph.open(place), "Eve")
    omnigraph.backup(place, backup)
    restored, number = omnigraph.open(tmp_path / "restored"), 0
    while newest_version(tmp_path / "restored").name != newest_version(backup).name:
        number += 1
        put(restored, f"Own{number}")
    before = everything(restored)
    report = omnigraph.repair(tmp_path / "restored", backup)
    assert "commits of the backup are not in the graph" in report.unrepaired[0].problem
    assert report.repaired == ()
    assert everything(omnigraph.open(tmp_path / "restored")) == before
    flip(newest_version(tmp_path / "restored"))  # which the backup cannot put right
    report = omnigraph.repair(tmp_path / "restored", backup)
    assert (report.ok, report.repaired) == (False, ())


def test_a_lost_newest_version_is_told(place: Path, backup: Path) -> None:
    """The graph opens and shows the moment before: nothing else would say so."""
    put(omnigraph.open(place), "Eve")
    put(omnigraph.open(place), "Flo")
    omnigraph.backup(place, backup)
    while omnigraph.open(place).snapshot().get("Boat", "Flo"):
        newest_version(place).unlink()
    report = omnigraph.repair(place, backup)
    assert ["commits of the backup are not" in each.problem for each in report.unrepaired] == [True]


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
