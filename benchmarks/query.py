"""How fast `.gq` answers beside other engines: `python -m benchmarks.query [--scale 0.1]`.

One graph in every system, each in a process of its own. A line is timed only where the first
answer is that of numpy; systems take turns, and a cell is the median of its turns, warm. Results
are fetched completely: Arrow from OmniGraph, rows from the others. Beside them, in processes of
their own: a cold start, memory while ten million rows stream, and sorts and groups of one large
table beside DataFusion.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import benchmarks
from benchmarks.query_apart import cold_start, streaming
from benchmarks.query_data import kept
from benchmarks.query_lines import LINES, Line
from benchmarks.query_relational import relational
from benchmarks.query_worker import SYSTEMS, Checked, Worker
from benchmarks.table import Cell, show

ANSWERS = 50
"""The most answers of a turn."""
PATIENCE = 3000
"""Milliseconds of an answer from which on the first one is also the last."""
HOME = Path(benchmarks.__file__).resolve().parents[1] / "build" / "bench"


def main(arguments: Sequence[str] | None = None) -> None:
    keys = [line.key for line in LINES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is 100,000 nodes")
    parser.add_argument("--repeat", type=int, default=7, help="turns of each system")
    parser.add_argument(
        "--only", nargs="+", choices=[*keys, "cold", "stream", "relational"], default=[]
    )
    parser.add_argument("--systems", nargs="+", choices=[s.name for s in SYSTEMS], default=[])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of relational work")
    options = parser.parse_args(arguments)
    lines = [line for line in LINES if not options.only or line.key in options.only]
    folder = HOME / f"query-{options.scale:g}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["OMNIGRAPH_CACHE_DIR"] = str(folder / "cache")
    data = kept(HOME, options.scale)
    chosen = [s for s in SYSTEMS if not options.systems or s.name in options.systems]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(system, HOME, options.scale, folder / system.name))
            for system in chosen
        ]
        if lines:
            measured(lines, workers, options.repeat)
    graph = folder / "omnigraph" / "graph"
    if not options.only or "cold" in options.only:
        cold_start(graph, data, folder / "apart", options.repeat)
    if not options.only or "stream" in options.only:
        streaming(graph, data, folder / "apart")
    if not options.only or "relational" in options.only:
        relational(folder, options.rows, options.repeat)


def measured(lines: Sequence[Line], workers: Sequence[Worker], repeat: int) -> None:
    """The table of all lines, and what was wrong. Everything is asked once before anything is
    timed, so that each system has in memory what it will keep there."""
    first = {(line.key, w.name): w.check(line.key) for w in workers for line in lines}
    table = [_line(line, workers, first, repeat) for line in lines]
    table.append(["loading, s", *(worker.load_seconds for worker in workers), None, None])
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    show(
        f"Warm queries, ms, median of {repeat} turns (load average {load})",
        ["line", *(worker.name for worker in workers), "best peer", "best peer / omnigraph"],
        table,
    )
    print("\nHow 1000 seeds are given: " + "; ".join(f"{w.name} {w.seeds}" for w in workers))
    for (key, name), checked in first.items():
        if checked.problem:
            print(f"WRONG: {name} {key}: {checked.problem}")


def _line(
    line: Line,
    workers: Sequence[Worker],
    first: Mapping[tuple[str, str], Checked],
    repeat: int,
) -> list[Cell]:
    asked = [w for w in workers if first[line.key, w.name].timed]
    turns: dict[str, list[float]] = {w.name: [] for w in asked}
    for _ in range(repeat):
        for worker in asked:
            times = turns[worker.name]
            if sum(times) < PATIENCE:
                once = first[line.key, worker.name].milliseconds
                slow = once > PATIENCE
                times.append(once if slow else worker.turn(line.key, ANSWERS))
    medians = {name: statistics.median(times) for name, times in turns.items()}
    peers = {name: value for name, value in medians.items() if name != "omnigraph"}
    best = min(peers, key=lambda name: peers[name], default=None)
    cells: list[Cell] = [medians.get(worker.name) for worker in workers]
    ours = medians.get("omnigraph")
    compared = f"{peers[best] / ours:.2g}x" if best and ours else None
    return [line.title, *cells, best, compared]


if __name__ == "__main__":
    main()
