"""A power cut at any moment of a run on local disk takes nothing that was acknowledged.

The file operations of a run that writes in every way there is are recorded, the states that a cut
may legally leave are built, and each is opened, compared, verified and written to.

| what writes | steps of `support.workers.power_cut_workload` |
|---|---|
| a new graph | init |
| rows; small fragments are compacted, versions are trimmed | insert, replace, mutate |
| deletion files | delete_with_edges, delete_many, overwrite |
| many rows, and indexes | load, index_by_a_small_write, spill |
| rows by other processes | bulk_job, abandoned_job |
| names | create_branch, delete_branch, tag, drop_tag, protect, unprotect |
| branches | diverge, diverge_back, merge, fast_forward |
| schemas | apply_schema, drop_type_and_collect |
| plain tables | create_table, change_table, drop_table |
| definitions | register_queries, remove_query |
| upkeep | optimize, collect, drop_type_and_collect |
| copies | backup, newer_backup, restore, repair |
| formats | upgrade |
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph, Tags, Transaction
from omnigraph.errors import AlreadyExists, NotFound
from support.crash_states import PowerCut, build_state, notes_before, power_cuts, without_syncs
from support.file_operations import Noted, Operation, record, strace
from support.graph_state import state_of
from support.workers.power_cut_workload import PLACES, STEPS

FEW_STEPS = ("init", "insert", "replace", "delete_many", "create_branch", "merge", "collect")
MANY_CUTS = 1500
BAD_WITHIN = 40
"""Without syncing, a bad state is found among so few."""

needs_strace = pytest.mark.skipif(strace() is None, reason="strace is not installed (apt: strace)")


@dataclass(frozen=True)
class Note:
    """A step that was done, and what could be read then, by place."""

    step: str
    shown: Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What one run did, and what it noted."""

    root: str
    operations: Sequence[Operation]

    @cached_property
    def notes(self) -> list[Note]:
        lines = (each.line for each in self.operations if isinstance(each, Noted))
        return [Note(**json.loads(line)) for line in lines]

    @cached_property
    def parts(self) -> list[range]:
        """When the power may be cut: for each step, after how many operations. The last one of a
        step is its note: acknowledged, and cut off at once."""
        ends = [i for i, each in enumerate(self.operations, 1) if isinstance(each, Noted)]
        last = {note.step: end for note, end in zip(self.notes, ends, strict=True)}
        return [range(a + 1, b + 1) for a, b in pairwise([0, *last.values()])]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short one."""
    return _recorded(tmp_path_factory.mktemp("power-cuts"), FEW_STEPS)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return _recorded(tmp_path_factory.mktemp("power-cuts"))


def _recorded(folder: Path, steps: Sequence[str] = ()) -> Run:
    disk, notes = folder / "disk", folder / "notes"
    disk.mkdir()
    command = [sys.executable, "-m", "support.workers.power_cut_workload", str(disk), str(notes)]
    command += steps
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        patch.delenv("OMNIGRAPH_DURABILITY", raising=False)
        operations = record(command, disk, notes, folder / "strace")
    shutil.rmtree(disk)
    return Run(str(disk), operations)


def _problems(run: Run, folder: Path, cuts: int, seed: int = 7) -> Iterator[str]:
    for number, cut in enumerate(islice(power_cuts(run.parts, seed), cuts)):
        problem = _problem(run, cut, folder / f"state{number}")
        if problem:
            yield problem


def _problem(run: Run, cut: PowerCut, place: Path) -> str | None:
    """What is wrong with the state that a cut leaves."""
    build_state(run.operations, cut, run.root, place)
    done = notes_before(run.operations, cut)
    before = run.notes[done - 1] if done else Note("nothing", {})
    begun = run.notes[min(done, len(run.notes) - 1)]
    try:
        if begun.step == "repair":  # a step that begins with damage
            assert omnigraph.repair(place / "restored", place / "backup").ok
        for name in PLACES:
            _check(place / name, before.shown.get(name), begun.shown.get(name))
        _copy_again(place, begun.step)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a damaged file may even panic inside Lance
        return f"{begun.step}, {cut}: {type(error).__name__}: {str(error)[:500]}"
    finally:
        shutil.rmtree(place)
    return None


def _check(place: Path, acknowledged: Any, begun: Any) -> None:  # noqa: ANN401
    """A graph shows what was acknowledged, or all of the step that was under way."""
    is_old = place.name == "old"
    try:
        graph = omnigraph.open(place)
        if is_old:
            with graph.transaction() as txn:  # which upgrades it, if that was not done
                txn.upsert("Boat", [{"name": "Ada"}])
    except NotFound:
        assert acknowledged is None, "the graph is gone"
        return
    shown = state_of(graph)
    assert shown in (acknowledged, begun) or is_old, f"{place.name} shows {shown}"
    report = graph.verify(deep=True)
    assert report.ok, report.to_json()["findings"][:5]
    if place.name != "backup":
        type_ = "Boat" if is_old else "Person"
        with graph.transaction() as txn:
            txn.insert(type_, [{"name": "later"}])
        assert omnigraph.open(place).snapshot().get(type_, "later") is not None


def _copy_again(place: Path, step: str) -> None:
    """A copy that was interrupted is finished by the same command."""
    graph, backup, restored = (place / name for name in ("graph", "backup", "restored"))
    if step in ("backup", "newer_backup"):
        omnigraph.backup(graph, backup)
        assert state_of(omnigraph.open(backup)) == state_of(omnigraph.open(graph))
    if step == "restore":
        try:
            omnigraph.restore(backup, restored)
        except AlreadyExists:
            assert not (restored / "__restore").exists(), "it was not finished"


@needs_strace
def test_take_nothing_that_was_acknowledged(run: Run, tmp_path: Path) -> None:
    assert list(_problems(run, tmp_path, 2 * len(run.parts))) == []


@needs_strace
@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_take_nothing_in_many_states(whole_run: Run, tmp_path: Path) -> None:
    assert list(_problems(whole_run, tmp_path, MANY_CUTS, seed=11)) == []


def _is_data(path: str) -> bool:
    return path.endswith((".lance", ".arrow", ".bin"))


def _is_folder(path: str) -> bool:
    return "." not in Path(path).name and not path.endswith("_versions")


LEFT_OUT: dict[str, Callable[[str], bool]] = {
    "everything": lambda path: True,
    "files": _is_data,
    "staged versions": lambda path: ".manifest-" in path,
    "table versions": lambda path: re.search(r"/d\d+\.manifest$", path) is not None,
    "folders": _is_folder,
    "the folder of versions": lambda path: path.endswith("__manifest/_versions"),
}


@needs_strace
@pytest.mark.parametrize("part", LEFT_OUT)
def test_are_seen_where_a_part_of_the_syncing_is_left_out(
    run: Run, tmp_path: Path, part: str
) -> None:
    """The states are worth something: they find each part that is missing."""
    careless = Run(run.root, without_syncs(run.operations, LEFT_OUT[part]))
    assert next(_problems(careless, tmp_path, BAD_WITHIN), None) is not None


READS = frozenset(
    """
    baseline branches catalog changes commit commits counts diff expect_unmoved explain export feed
    folder history ids_for last_batch lint list queries query reach scan schema snapshot
    stored_query tables tags text_slices uri verify
    """.split()  # noqa: SIM905
)
WRITES = {
    "init": "init",
    "open": "upgrade",
    "backup": "backup",
    "restore": "restore",
    "repair": "repair",
    "create_branch": "create_branch",
    "delete_branch": "delete_branch",
    "protect_branch": "protect",
    "unprotect_branch": "unprotect",
    "merge": "merge",
    "load": "load",
    "transaction": "insert",
    "run_transaction": "insert",
    "transact": "insert",
    "mutate": "mutate",
    "apply_schema": "apply_schema",
    "register_queries": "register_queries",
    "remove_query": "remove_query",
    "begin_bulk": "bulk_job",
    "finish_bulk": "bulk_job",
    "abandon_bulk": "abandoned_job",
    "optimize": "optimize",
    "collect": "collect",
    "create": "tag",
    "delete": "drop_tag",
    "insert": "insert",
    "upsert": "replace",
    "overwrite": "overwrite",
    "clear": "overwrite",
    "create_table": "create_table",
    "append": "create_table",
    "plain": "change_table",
    "drop_table": "drop_table",
}
"""What is public and writes, and the step that does."""


def test_every_way_of_writing_is_cut() -> None:
    """Whoever adds one says here which step of the workload goes that way."""
    public = {
        name
        for owner in (Graph, Transaction, Tags)
        for name in dir(owner)
        if not name.startswith("_") and name not in dir(Mapping)
    } | {"init", "open", "backup", "restore", "repair"}
    assert public - READS == WRITES.keys()
    steps = {step.__name__.strip("_") for step in STEPS}
    assert set(WRITES.values()) <= steps
    table = re.findall(r"^\| [^|]+ \| ([a-z_, ]+) \|$", __doc__ or "", re.M)
    assert {name for row in table for name in row.split(", ")} == steps - {"make_old"}
