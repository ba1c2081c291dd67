"""A backup, a restore or a repair that was killed anywhere is gone on with by running it again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import NotFound, StorageError
from support.kept_graphs import everything, put, run_cli

FIRST = (
    "backup.after_hold",
    "copy.after_file@3",
    "copy.after_record",
    "copy.after_record@2",
    "copy.before_version",
    "copy.after_claim",
    "copy.after_version",
)


def killed(*arguments: str, point: str) -> None:
    name, _, nth = point.partition("@")
    ended = run_cli(*arguments, failpoints=f"{name}=kill" + (f"@{nth}" if nth else ""))
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def ran(*arguments: str) -> dict[str, object]:
    ended = run_cli(*arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, object] = json.loads(ended.stdout)
    return answer


@pytest.mark.parametrize("point", FIRST)
def test_a_first_backup(graph: omnigraph.Graph, place: Path, tmp_path: Path, point: str) -> None:
    copy = tmp_path / "backup"
    killed("backup", str(place), str(copy), point=point)
    if point in ("copy.after_claim", "copy.after_version"):
        assert everything(omnigraph.open(copy)) == everything(graph)
    else:
        with pytest.raises(NotFound):
            omnigraph.open(copy)
    omnigraph.backup(place, copy)
    assert everything(omnigraph.open(copy)) == everything(graph)
    assert omnigraph.open(copy).verify().ok


@pytest.mark.parametrize("point", ["copy.after_file", "copy.after_record", "copy.before_version"])
def test_a_later_backup(graph: omnigraph.Graph, place: Path, tmp_path: Path, point: str) -> None:
    copy = tmp_path / "backup"
    omnigraph.backup(place, copy)
    before = everything(omnigraph.open(copy))
    put(graph, "Eve")
    killed("backup", str(place), str(copy), point=point)
    assert everything(omnigraph.open(copy)) == before
    omnigraph.open(copy).collect()
    assert everything(omnigraph.open(copy)) == before
    report = ran("backup", str(place), str(copy))
    assert everything(omnigraph.open(copy)) == everything(graph)
    assert report["copied_files"] < 20  # type: ignore[operator]


@pytest.mark.parametrize("point", FIRST[1:])
def test_a_restore(graph: omnigraph.Graph, place: Path, tmp_path: Path, point: str) -> None:
    copy, restored = tmp_path / "backup", tmp_path / "restored"
    omnigraph.backup(place, copy)
    killed("restore", str(copy), str(restored), point=point)
    if point not in ("copy.after_claim", "copy.after_version"):
        with pytest.raises(NotFound):
            omnigraph.open(restored)
    ran("restore", str(copy), str(restored))
    again = omnigraph.open(restored)
    assert everything(again) == everything(graph)
    put(again, "Eve")
    assert again.verify().ok
    assert not (restored / "__restore").exists()


def test_a_version_that_was_being_written(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no version yet, and must not be taken for one."""
    copy, restored = tmp_path / "backup", tmp_path / "restored"
    for function, source, target in (
        (omnigraph.backup, place, copy),
        (omnigraph.restore, copy, restored),
    ):
        with monkeypatch.context() as patch:
            patch.setenv("OMNIGRAPH_FAILPOINTS", "copy.before_version=error")
            with pytest.raises(StorageError):
                function(source, target)
        versions = target / "__manifest" / "_versions"
        versions.mkdir()
        (versions / f".{'1' * 20}.manifest.01KA.part").write_bytes(b"half")
        function(source, target)
        assert omnigraph.open(target).verify(deep=True).ok


def test_a_backup_that_was_never_completed_is_not_restored(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_FAILPOINTS", "copy.before_version=error")
    with pytest.raises(StorageError):
        omnigraph.backup(place, tmp_path / "backup")
    with pytest.raises(NotFound, match="never completed"):
        omnigraph.restore(tmp_path / "backup", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_what_was_recorded_is_not_copied_again(place: Path, tmp_path: Path) -> None:
    whole = omnigraph.backup(place, tmp_path / "whole")
    killed("backup", str(place), str(tmp_path / "backup"), point="copy.before_version")
    assert omnigraph.backup(place, tmp_path / "backup").copied_files < whole.files // 3


def test_a_repair(graph: omnigraph.Graph, place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "backup"
    omnigraph.backup(place, copy)
    before = everything(graph)
    damaged = sorted(copy.glob("nodes/*/data/*.lance"))[:2]
    for path in damaged:
        (place / path.relative_to(copy)).write_bytes(b"torn")
    killed("repair", str(place), "--from", str(copy), point="repair.after_file")
    assert len(omnigraph.repair(place, copy).repaired) == 1
    assert everything(omnigraph.open(place)) == before


def test_a_restore_whose_first_version_was_being_written(place: Path, tmp_path: Path) -> None:
    copy, restored = tmp_path / "backup", tmp_path / "restored"
    omnigraph.backup(place, copy)
    killed("restore", str(copy), str(restored), point="copy.before_version")
    versions = restored / "__manifest" / "_versions"
    versions.mkdir(exist_ok=True)
    (versions / ".18446744073709551614.manifest.01M7QMVYKC9DH2ACJ77MH2QFKA.part").touch()
    omnigraph.restore(copy, restored)
    assert everything(omnigraph.open(restored)) == everything(omnigraph.open(copy))
