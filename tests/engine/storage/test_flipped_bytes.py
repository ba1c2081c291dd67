"""One changed bit anywhere: `verify --deep` finds it, and no reader takes harm from it."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from engine.storage.test_verify_deep import many_kinds_of_files
from support.worker_processes import Worker

FLIPS = 1000 if os.environ.get("OMNIGRAPH_PROFILE") == "soak" else 60
SEED = int(os.environ.get("OMNIGRAPH_SEED", "15"))
PER_PROCESS = 200
SECONDS = 600.0

HINTS = ("latest_version_hint.json", "__publish.lock")
"""Files that nobody depends on: any contents do."""

Flip = tuple[str, int, int]


def kind(path: str) -> str:
    """The kind of a file, by the folders it is in."""
    parts = path.split("/")
    owner = parts[0] if parts[0] == "__manifest" else "table"
    inner = parts[1:] if owner == "__manifest" else parts[2:]
    ending = "d.manifest" if inner[-1].startswith("d") else inner[-1].rpartition(".")[2]
    return f"{owner}/{inner[0]}/{ending}"


def needed_files(root: Path) -> list[str]:
    """Files of a graph after a collection: every one that is left is needed, but for hints."""
    files = (path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(str(path.relative_to(root)) for path in files if path.name not in HINTS)


def chosen_flips(root: Path, count: int) -> list[Flip]:
    """Bits of files of all kinds, each kind as often as any other."""
    drawn = random.Random(SEED)
    by_kind: dict[str, list[str]] = {}
    for path in needed_files(root):
        by_kind.setdefault(kind(path), []).append(path)
    kinds, flips = sorted(by_kind), []
    for number in range(count):
        path = drawn.choice(by_kind[kinds[number % len(kinds)]])
        flips.append((path, drawn.randrange((root / path).stat().st_size), drawn.randrange(8)))
    return flips


def outcomes(root: Path, flips: list[Flip]) -> tuple[list[list[str]], list[dict[str, Any]]]:
    """What undamaged readers get, and what became of each flip, in other processes."""
    expected: list[list[str]] = []
    found: list[dict[str, Any]] = []
    for start in range(0, len(flips), PER_PROCESS):
        worker = Worker()
        try:
            worker.give(
                "flip", {"root": str(root), "flips": flips[start : start + PER_PROCESS]}, {}
            )
            worker.wait_ready()
            worker.go()
            worker.finish(SECONDS)
            (first,) = worker.said("answers")
            expected = first["answers"]
            found += worker.said("outcome")
        finally:
            worker.close()
    return expected, found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph = many_kinds_of_files(str(tmp_path / "graph"))
    graph.collect()
    return tmp_path / "graph"


@pytest.mark.timeout(3600 if FLIPS > 60 else 300)
def test_every_flipped_bit_is_found_and_gives_right_rows_or_a_typed_error(root: Path) -> None:
    assert omnigraph.open(str(root)).verify(deep=True).ok
    flips = chosen_flips(root, FLIPS)
    expected, found = outcomes(root, flips)
    assert len(found) == len(flips), "a process ended"
    assert [answer[0] for answer in expected] == ["rows"] * len(expected)
    assert expected
    faults: list[Any] = []
    figures: Counter[str] = Counter()
    for flip, outcome in zip(flips, found, strict=True):
        deep = outcome["deep"]
        missed = deep == ["rows", "[]"] or deep[0] == "untyped"
        untyped = [a for a in outcome["answers"] if a[0] == "untyped"]
        wrong = [a for a in outcome["answers"] if a[0] == "rows" and a not in expected]
        figures["not found"] += missed
        figures["untyped errors"] += bool(untyped)
        figures["other rows"] += bool(wrong)
        figures["typed errors"] += any(a[0] == "error" for a in outcome["answers"])
        if missed or untyped:
            faults.append((flip, deep[:3], untyped))
    print(dict(figures), "of", len(flips))  # noqa: T201  the figures of a long run
    assert faults == []
