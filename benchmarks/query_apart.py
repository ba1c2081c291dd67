"""Measured in fresh processes: the first traversal after opening, and memory while streaming."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.query_data import Data
from benchmarks.table import Cell, show

ONE_SEED = (
    "query q($k: I64) "
    "{ match { $a: Person { key: $k }  $a knows $b  $b knows $c } return { count($c) as walks } }"
)
WHOLE_GRAPH = (
    "query q($k: I64) { match { $a knows $b  $b knows $c } return { count($c) as walks } }"
)
STREAMED = "query q() { match { $a knows $b  $b knows $c } return { $a.key  $c.key  $c.age } }"

WARMING = "query q() { match { $a knows $b  $b knows $c } return { $a.city  avg($c.age) } }"
"""Reads adjacency and columns, so that what streaming itself takes can be told apart."""


def cold_start(graph: Path, data: Data, folder: Path, rounds: int) -> None:
    """The first 2-hop traversal of a process, without and with adjacency kept on disk."""
    seed = str(data.seeds[0])
    asked = (
        (ONE_SEED, "one seed", len(data.walk_ends(data.seeds[:1], 2))),
        (WHOLE_GRAPH, "whole graph", data.all_pairs()),
    )
    filled = folder / "filled"
    _apart(filled, "cold", str(graph), WHOLE_GRAPH, seed)
    seen: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number in range(rounds):
        for cache, kept in ((folder / f"empty-{number}", "nothing"), (filled, "adjacency")):
            for query, start, expected in asked:
                found = _apart(cache, "cold", str(graph), query, seed)
                if found["walks"] != expected:
                    raise AssertionError(f"{found['walks']} walks instead of {expected}")
                seen.setdefault((start, kept), []).append(found)
                if kept == "nothing":
                    shutil.rmtree(cache, ignore_errors=True)
    parts = ("open", "first", "second")
    table: list[list[Cell]] = [
        [*kind, *(statistics.median(run[part] for run in runs) for part in parts)]
        for kind, runs in sorted(seen.items(), reverse=True)
    ]
    show(
        f"Cold start: 2-hop walks in a fresh process, ms, median of {rounds}",
        ["walks from", "kept on disk", "import and open", "first traversal", "second"],
        table,
    )


def streaming(graph: Path, data: Data, folder: Path) -> None:
    """Peak memory while all 2-hop walks are read batch by batch."""
    found = _apart(folder / "cache", "stream", str(graph))
    if found["rows"] != data.all_pairs():
        raise AssertionError(f"{found['rows']} rows instead of {data.all_pairs()}")
    row: list[Cell] = [
        int(found["rows"]),
        found["seconds"],
        found["rows"] / found["seconds"],
        found["bytes"] / 1e6,
        found["before"] / 1e6,
        found["peak"] / 1e6,
        (found["peak"] - found["before"]) / 1e6,
    ]
    show(
        "Streaming all 2-hop walks with three columns",
        ["rows", "seconds", "rows/s", "result MB", "MB before", "peak MB", "above MB"],
        [row],
    )


# --------------------------------------------------------------------------- the fresh process


def _apart(cache: Path, *arguments: str) -> dict[str, float]:
    environment = {**os.environ, "OMNIGRAPH_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.query_apart", *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cold(graph: str, query: str, seed: str) -> dict[str, float]:
    at = [time.perf_counter()]
    import omnigraph

    opened = omnigraph.open(graph)
    at.append(time.perf_counter())
    for _ in range(2):
        walks = opened.query(query, params={"k": int(seed)}).to_arrow()
        at.append(time.perf_counter())
    names = ("open", "first", "second")
    spent = {name: (b - a) * 1000 for name, a, b in zip(names, at[:-1], at[1:], strict=True)}
    return {**spent, "walks": walks.column(0)[0].as_py()}


def _stream(graph: str) -> dict[str, float]:
    import omnigraph

    opened = omnigraph.open(graph)
    opened.query(WARMING).to_arrow()
    before, rows, size = _resident(), 0, 0
    started = time.perf_counter()
    for batch in opened.query(STREAMED).reader():
        rows += batch.num_rows
        size += batch.nbytes
    took = time.perf_counter() - started
    return {"rows": rows, "bytes": size, "seconds": took, "before": before, "peak": _peak()}


def _resident() -> float:
    """Bytes in memory now, not at most: else an earlier peak would hide a later one."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return _peak()
    pages = int(statm.read_text(encoding="ascii").split()[1])
    return float(pages * resource.getpagesize())


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def _main() -> None:
    verb, *rest = sys.argv[1:]
    print(json.dumps(_cold(*rest) if verb == "cold" else _stream(*rest)))


if __name__ == "__main__":
    _main()
