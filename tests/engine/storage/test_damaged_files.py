"""One damaged file of any kind: `verify --deep` finds it, and no reader takes harm from it."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from engine.storage.test_verify_deep import many_kinds_of_files
from support.worker_processes import Worker

SEED = int(os.environ.get("OMNIGRAPH_SEED", "15"))
PER_PROCESS = 200
SECONDS = 900.0

HINTS = ("latest_version_hint.json", "__publish.lock")
"""Files that nobody depends on: with any contents, or none, reads and `verify` are right.

So are files that a collection would delete, and a transaction file that is lost: the version that
it made has a copy.
"""

Damage = dict[str, Any]


def kind(path: str) -> str:
    """The kind of a file, by the folders it is in."""
    parts = path.split("/")
    if parts[-1] in HINTS:
        return parts[-1]
    owner = parts[0] if parts[0] == "__manifest" else "table"
    inner = parts[1:] if owner == "__manifest" else parts[2:]
    ending = "d.manifest" if inner[-1].startswith("d") else inner[-1].rpartition(".")[2]
    return f"{owner}/{inner[0]}/{ending}"


def files_by_kind(root: Path) -> dict[str, list[str]]:
    """The files of a graph that hold anything; marks are empty."""
    kinds: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.stat().st_size:
            name = str(path.relative_to(root))
            kinds.setdefault(kind(name), []).append(name)
    return kinds


def chosen(root: Path, count: int, hows: Iterable[str] = ("flip",)) -> list[Damage]:
    """Damages to files of all kinds, each kind and each damage as often as any other."""
    drawn = random.Random(SEED)
    by_kind, hows = files_by_kind(root), list(hows)
    cells = [(name, how) for name in sorted(by_kind) for how in hows]
    damages: list[Damage] = []
    while len(damages) < count:
        name, how = cells[len(damages) % len(cells)]
        path = drawn.choice(by_kind[name])
        offset = drawn.randrange((root / path).stat().st_size)
        damage = {"how": how, "path": path, "offset": offset, "bit": drawn.randrange(8)}
        if how in ("swap", "replace"):
            damage["other"] = another(root, path, by_kind, drawn)
        damages.append(damage)
    return damages


def another(root: Path, path: str, by_kind: dict[str, list[str]], drawn: random.Random) -> str:
    """A file of other contents, of the same kind if there is one."""
    stored = (root / path).read_bytes()
    same = [p for p in by_kind[kind(path)] if (root / p).read_bytes() != stored]
    every = [p for files in by_kind.values() for p in files if p != path]
    return drawn.choice(same or every)


def outcomes(
    root: Path, damages: list[Damage]
) -> tuple[list[list[str]], list[dict[str, Any] | None]]:
    """What undamaged readers get, and what became of each damage; none if a process ended."""
    expected: list[list[str]] = []
    found: list[dict[str, Any] | None] = []
    while len(found) < len(damages):
        worker = Worker()
        some = damages[len(found) : len(found) + PER_PROCESS]
        try:
            worker.give("damage", {"root": str(root), "damages": some}, {})
            worker.wait_ready()
            stored = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
            worker.go()
            worker.settle(SECONDS)
            (first,) = worker.said("answers")
            expected = first["answers"]
            found += worker.said("outcome")
            if worker.gone:
                found.append(None)
                for path, contents in stored.items():
                    path.write_bytes(contents)
        finally:
            worker.close()
    return expected, found


@dataclass
class Tally:
    """What became of damages, by kind of file."""

    unneeded: set[str]
    faults: list[Any] = field(default_factory=list)
    figures: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, damage: Damage, outcome: dict[str, Any] | None, expected: list[Any]) -> None:
        fate, problem = fate_of(damage, outcome, expected, self.is_harmless(damage))
        self.figures.setdefault(kind(damage["path"]), Counter())[fate] += 1
        if problem is not None:
            self.faults.append((damage, fate, problem))

    def is_harmless(self, damage: Damage) -> bool:
        """Whether nothing depends on what was damaged."""
        swapped = damage["how"] == "swap"
        paths = [damage["path"], damage["other"]] if swapped else [damage["path"]]
        lost = damage["how"] == "lose"
        return all(path in self.unneeded or (lost and path.endswith(".txn")) for path in paths)

    def show(self) -> None:
        print()  # noqa: T201  the figures of a long run
        for name, counts in sorted(self.figures.items()):
            fates = ", ".join(f"{fate} {count}" for fate, count in sorted(counts.items()))
            print(f"  {name:32} {fates}")  # noqa: T201


def fate_of(
    damage: Damage, outcome: dict[str, Any] | None, expected: list[Any], is_harmless: bool
) -> tuple[str, object]:
    """What became of a damage, in a word, and what must not be in that, if anything."""
    if outcome is None:
        return "aborted", "the process ended"
    answers, deep = outcome["answers"], outcome["deep"]
    untyped = [a for a in [*answers, outcome["quick"], deep] if a[0] == "untyped"]
    if untyped:
        return "untyped", untyped
    clean = deep == ["rows", "[]"]
    if is_harmless and answers == expected:
        # A transaction that is there is compared with its copy although nothing depends on it.
        told = damage["path"].endswith(".txn")
        return ("harmless", None) if clean else ("found", None if told else outcome)
    unnamed = [a for a in answers if a[0] == "error" and not names_file(a, damage)]
    if clean:
        return "missed", outcome
    return ("unnamed", unnamed) if unnamed else ("found", None)


def unneeded_files(root: Path, scratch: Path) -> set[str]:
    """The files that a collection of a copy deletes: nothing that can be read needs them."""
    shutil.copytree(root, scratch)
    omnigraph.open(str(scratch)).collect()
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    hints = {path for path in files if Path(path).name in HINTS}
    return hints | {path for path in files if not (scratch / path).exists()}


def names_file(error: list[str], damage: Damage) -> bool:
    """Whether an error says which file it is: itself, or the data file or index it belongs to.

    Where a file parses and holds other values, it is the table whose values cannot be.
    """
    for path in (damage[name] for name in ("path", "other") if name in damage):
        parts = Path(path).parts
        owner = next((p for p in parts if p.startswith("x3")), parts[-1]).removesuffix(".lance")
        segment = parts[parts.index("_indices") + 1] if "_indices" in parts else owner
        other_values = f"{parts[0]}/{parts[1]} has an edge whose node does not exist"
        if any(name in error[2] for name in (owner, segment, other_values)):
            return error[1] == "corruption"
    return False


def tally(root: Path, damages: list[Damage]) -> Tally:
    result = Tally(unneeded_files(root, root.with_name("collected")))
    expected, found = outcomes(root, damages)
    assert [answer[0] for answer in expected] == ["rows"] * len(expected)
    assert expected
    for damage, outcome in zip(damages, found, strict=True):
        result.add(damage, outcome, expected)
    result.show()
    return result


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph = many_kinds_of_files(str(tmp_path / "graph"))
    assert graph.verify(deep=True).ok
    return tmp_path / "graph"


OTHER_DAMAGES = ("zero", "truncate", "replace", "swap", "lose")


@pytest.mark.timeout(300)
def test_a_flipped_bit_is_found_and_named(root: Path) -> None:
    assert tally(root, chosen(root, 60)).faults == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_each_of_a_thousand_flipped_bits_is_found_and_named(root: Path) -> None:
    assert tally(root, chosen(root, 1000)).faults == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_other_damage_is_found_and_named(root: Path) -> None:
    assert tally(root, chosen(root, 500, OTHER_DAMAGES)).faults == []
