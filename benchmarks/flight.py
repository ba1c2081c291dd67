"""How fast the Flight SQL server answers beside others: `python -m benchmarks.flight`.

The same rows in every server; ours as a graph, the others' as Parquet. Bare Flight clients, each a
process of its own, ask for a set time; a cell is what all of them got together. CPU is what the
server's processes used, per answer. In process is the SQL facade without a server.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import benchmarks
import omnigraph
import omnigraph_sql
from benchmarks.flight_systems import POINTS, SERVERS, System, make_data
from benchmarks.table import Cell, show

HOME = Path(benchmarks.__file__).resolve().parents[1] / "build" / "bench" / "flight"


@dataclass(frozen=True)
class Line:
    """A question: one of several texts, and about how many bytes an answer has."""

    name: str
    texts: Sequence[str]


@dataclass(frozen=True)
class Measured:
    """What the clients of one server got for one line."""

    per_second: float
    p50: float
    p99: float
    megabytes: float
    """Per second."""
    cpu: float | None
    """Milliseconds of the server per answer."""


def lines(points: str, rows: Callable[[int], str], sizes: Sequence[int]) -> list[Line]:
    lookups = [
        f"SELECT n, value FROM {points} WHERE id = 'p{number}'"
        for number in range(0, POINTS, POINTS // 50)
    ]
    scans = [Line(f"scan {size:,} rows", [f"SELECT * FROM {rows(size)}"]) for size in sizes]
    return [Line("select 1", ["SELECT 1"]), Line("point lookup", lookups), *scans]


def measured(system: System, line: Line, clients: int, seconds: float) -> Measured:
    """Ask with several clients at once for some seconds."""
    asked = json.dumps({"uri": system.uri, "texts": line.texts, "seconds": seconds})
    with ExitStack() as running:
        every = [running.enter_context(_client()) for _ in range(clients)]
        for each in every:
            _tell(each, asked)
        if any(_answer(each) != "ready" for each in every):
            raise RuntimeError(f"{system.name} does not answer {line.texts[0]!r}")
        before, began = system.cpu(), time.perf_counter()
        for each in every:
            _tell(each, "go")
        told = [json.loads(_answer(each)) for each in every]
        took, cpu = time.perf_counter() - began, system.cpu() - before
    times = [each for answers in told for each in answers["times"]]
    return _summary(times, sum(answers["bytes"] for answers in told), took, cpu)


def _client() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.flight_client"]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _tell(client: subprocess.Popen[str], text: str) -> None:
    assert client.stdin is not None
    client.stdin.write(text + "\n")
    client.stdin.flush()


def _answer(client: subprocess.Popen[str]) -> str:
    assert client.stdout is not None
    return client.stdout.readline().strip()


def in_process(graph: omnigraph.Graph, line: Line, seconds: float) -> Measured:
    connection = omnigraph_sql.connect(graph)

    def answer(number: int) -> int:
        result = connection.execute(line.texts[number % len(line.texts)])
        assert not isinstance(result, int)
        return int(result.read_all().nbytes)

    answer(0)  # to warm up
    times: list[float] = []
    size, until = 0, time.perf_counter() + seconds
    while not times or time.perf_counter() < until:
        began = time.perf_counter()
        size += answer(len(times))
        times.append(time.perf_counter() - began)
    return _summary(times, size, sum(times), None)


def _summary(times: list[float], size: int, took: float, cpu: float | None) -> Measured:
    ordered = sorted(times)
    return Measured(
        len(times) / took,
        statistics.median(times) * 1000,
        ordered[int(len(ordered) * 0.99)] * 1000,
        size / took / 1e6,
        None if cpu is None else cpu / len(times) * 1000,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each cell")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--systems", nargs="+", choices=list(SERVERS), default=list(SERVERS))
    options = parser.parse_args(arguments)
    shutil.rmtree(HOME, ignore_errors=True)
    graph = make_data(HOME, options.rows)
    columns = ["system", "clients", "queries/s", "p50 ms", "p99 ms", "MB/s", "CPU ms/query"]
    with ExitStack() as up:
        systems = [up.enter_context(SERVERS[name](HOME)) for name in options.systems]
        ours = lines("Point", lambda size: f"rows_{size}", options.rows)
        theirs = [lines(system.points, system.rows, options.rows) for system in systems]
        # Line by line, so that whatever else the machine does meets all of them alike.
        for number, line in enumerate(ours):
            rows = [_row("in process", 1, in_process(graph, line, options.seconds))]
            for clients in options.clients:
                for system, asked in zip(systems, theirs, strict=True):
                    rows.append(_measured_row(system, asked[number], clients, options.seconds))
            show(line.name, columns, rows)


def _measured_row(system: System, line: Line, clients: int, seconds: float) -> list[Cell]:
    try:
        return _row(system.name, clients, measured(system, line, clients, seconds))
    except RuntimeError:
        return _row(system.name, clients, "cannot")


def _row(system: str, clients: int, cell: Measured | str) -> list[Cell]:
    if isinstance(cell, str):
        return [f"{system}: {cell}", clients, None, None, None, None, None]
    return [
        system,
        clients,
        cell.per_second,
        cell.p50,
        cell.p99,
        cell.megabytes,
        cell.cpu,
    ]


if __name__ == "__main__":
    main()
