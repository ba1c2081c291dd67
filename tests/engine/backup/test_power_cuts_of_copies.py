"""A power cut at any moment of a backup or a restore leaves what was shown before, or all of it."""

from __future__ import annotations

import os
import shutil
import sys
from itertools import islice
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import NotFound
from support.crash_states import PowerCut, build_state, notes_before, power_cuts
from support.file_operations import Operation, record, strace
from support.kept_graphs import everything

CUTS = 6
MANY_CUTS = 100

pytestmark = pytest.mark.skipif(strace() is None, reason="strace is not installed (apt: strace)")

BACKUPS = """
import os, sys
import omnigraph
from support.kept_graphs import put
source, copy, notes = sys.argv[1:]
noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for name in ("Eve", "Flo"):
    put(omnigraph.open(source), name)
    os.write(noted, f"{omnigraph.backup(source, copy).graph_commit_id}\\n".encode())
"""
RESTORE = """
import os, sys
import omnigraph
backup, copy, notes = sys.argv[1:]
noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(noted, f"{omnigraph.restore(backup, copy).graph_commit_id}\\n".encode())
"""


def recorded(program: str, source: Path, folder: Path) -> list[Operation]:
    """What a program did below `folder / "copy"`, where it copied to."""
    copy, notes = folder / "copy", folder / "notes"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("OMNIGRAPH_DURABILITY", "sync")
        command = [sys.executable, "-c", program, str(source), str(copy), str(notes)]
        operations = record(command, copy, notes, folder / "strace")
    shutil.rmtree(copy)
    return operations


def check(operations: list[Operation], cut: PowerCut, folder: Path) -> Path:
    """Build the state that a cut leaves and look at it."""
    place = folder / "state"
    shutil.rmtree(place, ignore_errors=True)
    build_state(operations, cut, str(folder / "copy"), place)
    acknowledged = notes_before(operations, cut)
    try:
        copy = omnigraph.open(place)
    except NotFound:
        assert not acknowledged, f"{cut}: the copy is gone"
    else:
        assert copy.verify(deep=True).findings == (), cut
        shown = [commit.id for commit in copy.commits()]
        assert set(acknowledged) <= set(shown), f"{cut}: the copy shows something older"
    return place


def check_backups(place: Path, folder: Path, cuts: int) -> None:
    operations = recorded(BACKUPS, place, folder)
    wanted = everything(omnigraph.open(place))
    for cut in islice(power_cuts(operations, seed=3), cuts):
        copy = check(operations, cut, folder)
        omnigraph.backup(place, copy)
        assert everything(omnigraph.open(copy)) == wanted, cut


@pytest.mark.slow
def test_of_backups(place: Path, tmp_path: Path) -> None:
    check_backups(place, tmp_path, CUTS)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_of_backups_in_many_states(place: Path, tmp_path: Path) -> None:
    check_backups(place, tmp_path, MANY_CUTS)


@pytest.mark.slow
def test_of_a_restore(place: Path, tmp_path: Path) -> None:
    omnigraph.backup(place, tmp_path / "backup")
    wanted = everything(omnigraph.open(place))
    operations = recorded(RESTORE, tmp_path / "backup", tmp_path)
    for cut in islice(power_cuts(operations, seed=5), CUTS):
        copy = check(operations, cut, tmp_path)
        if (copy / "__restore" / "graph.json").exists() or not any(copy.rglob("*.*")):
            omnigraph.restore(tmp_path / "backup", copy)
        if (copy / "__manifest").exists():
            assert everything(omnigraph.open(copy)) == wanted, cut
