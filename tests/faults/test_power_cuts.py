"""A power cut at any moment of a run on local disk takes nothing that was acknowledged.

The file operations of a run are recorded, the states that a cut may legally leave are built, and
each is opened, read, verified and written to.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import NotFound
from support.crash_states import PowerCut, build_state, notes_before, power_cuts
from support.file_operations import Operation, record, strace
from support.social import SOCIAL, add_person, assert_sound

CUTS = 48
MANY_CUTS = 1500
BAD_WITHIN = 40
"""Without syncing, a bad state is found among so few."""

pytestmark = pytest.mark.skipif(strace() is None, reason="strace is not installed (apt: strace)")


@dataclass(frozen=True)
class Run:
    """What one run did."""

    root: str
    operations: Sequence[Operation]


def _recorded(folder: Path, without: str = "") -> Run:
    root, notes = folder / "graph", folder / "notes"
    command = [sys.executable, "-m", "support.workers.power_cut_workload", str(root), str(notes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.setenv("OMNIGRAPH_WITHOUT", without)
        patch.setenv("OMNIGRAPH_DURABILITY", "os" if without == "all" else "sync")
        operations = record(command, root, notes, folder / "strace")
    shutil.rmtree(root)
    return Run(str(root), operations)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _recorded(tmp_path_factory.mktemp("power-cuts"))


def _problem(run: Run, cut: PowerCut, place: Path) -> str | None:
    """What is wrong with the state that a cut leaves."""
    build_state(run.operations, cut, run.root, place)
    try:
        _check(notes_before(run.operations, cut), place)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a damaged file may even panic inside Lance
        return f"{cut}: {type(error).__name__}: {str(error)[:300]}"
    finally:
        shutil.rmtree(place)
    return None


def _check(acknowledged: Sequence[str], place: Path) -> None:
    try:
        graph = omnigraph.open(place)
    except NotFound:
        assert not acknowledged, "the graph is gone"
        graph = omnigraph.init(place, SOCIAL)
    expected: dict[str, int] = {}
    for line in acknowledged:
        kind, *fact = line.split()
        if kind == "Person":
            expected[fact[0]] = int(fact[1])
    rows = graph.snapshot().scan("Person", ["name", "age"]).read_all().to_pylist()
    found = {row["name"]: row["age"] for row in rows}
    assert len(found) == len(rows)
    missing = {name: age for name, age in expected.items() if found.get(name, -1) < age}
    assert not missing, f"acknowledged and not there: {missing}"
    assert_sound(graph)
    add_person(graph, "later")


def _problems(run: Run, folder: Path, cuts: int, seed: int = 7) -> Iterator[str]:
    for number, cut in enumerate(islice(power_cuts(run.operations, seed), cuts)):
        problem = _problem(run, cut, folder / f"state{number}")
        if problem:
            yield problem


def test_take_nothing_that_was_acknowledged(run: Run, tmp_path: Path) -> None:
    assert list(_problems(run, tmp_path, CUTS)) == []


@pytest.mark.soak
def test_take_nothing_in_many_states(run: Run, tmp_path: Path) -> None:
    assert list(_problems(run, tmp_path, MANY_CUTS, seed=11)) == []


@pytest.mark.parametrize("without", ["all", "files", "version", "name"])
def test_are_seen_where_a_part_of_the_syncing_is_left_out(tmp_path: Path, without: str) -> None:
    """The states are worth something: they find each part that is missing."""
    run = _recorded(tmp_path, without)
    assert next(_problems(run, tmp_path, BAD_WITHIN), None) is not None
