"""What one small upsert costs by depth of history: `python -m benchmarks.cost`.

First what it costs that a commit is durable on a local disk, beside sqlite. Then OmniGraph alone,
counted: requests and bytes on S3, files and bytes on a disk. Then the same upsert of one row into
100,000 beside other table formats: latency on a local disk, measured in turns so that noise of the
machine hits all of them, and requests on S3.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import benchmarks  # noqa: F401
from benchmarks.peers import System, people, person, systems
from benchmarks.syncs import durable_commits
from benchmarks.table import Cell, ratio, show
from cost.measuring import Histories, Meter, local_cost, mean, measure, upload
from support.object_stores import ObjectStore, moto, seaweed
from support.proxy import Proxy, proxied

BUCKET = "bench"
HISTORIES = ((3, 10), (3, 100), (3, 1000), (100, 10), (100, 100))
ROUNDS = 7
STRIDE = 7919
"""A prime, so that upserts replace one row after the other all over the table."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the table beside peers")
    parser.add_argument("--depths", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--s3-depths", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--budget", type=float, default=300, help="seconds for a peer to get deep")
    parser.add_argument("--store", choices=("seaweed", "moto"), default="seaweed")
    parser.add_argument("--only", choices=("syncs", "contract", "latency", "requests"))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-cost-")))
        if options.only in (None, "syncs"):
            durable_commits(folder)
        if options.only == "syncs":
            return
        store = stack.enter_context(seaweed() if options.store == "seaweed" else moto())
        store.create_bucket(BUCKET)
        proxy = stack.enter_context(proxied(store))
        if options.only in (None, "contract"):
            contract(folder / "contract", store, proxy)
        if options.only in (None, "latency"):
            latency(folder / "latency", options.rows, options.depths, options.budget)
        if options.only in (None, "requests"):
            requests(folder / "requests", proxy, options.rows, options.s3_depths)


# --------------------------------------------------------------------------- OmniGraph, counted


def contract(folder: Path, store: ObjectStore, proxy: Proxy) -> None:
    """Counts of warm updates at several depths."""
    histories = Histories(folder)
    on_s3: list[list[Cell]] = []
    on_disk: list[list[Cell]] = []
    for tables, depth in HISTORIES:
        root = histories.at(tables, depth)
        uri = f"s3://{BUCKET}/{tables}-{depth}"
        upload(root, store, uri)
        warm_up = 64 if depth >= 1000 else 16
        seen = measure(proxy, uri, depth, warm_up=warm_up)
        counts = [cost.requests for cost in seen.updates]
        on_s3.append(
            [
                tables,
                depth,
                int(statistics.median(counts)),
                mean(counts),
                max(cost.requests for cost in seen.warm),
                int(statistics.median(cost.requests for cost in seen.inserts)),
                mean(cost.up for cost in seen.updates),
                mean(cost.down for cost in seen.updates),
                seen.opening.requests,
                int(statistics.median(cost.requests for cost in seen.branches)),
            ]
        )
        copy = folder / "copy"
        shutil.copytree(root, copy)
        local = local_cost(copy, depth, warm_up=warm_up)
        shutil.rmtree(copy)
        on_disk.append([tables, depth, local.files, local.written, local.read, local.milliseconds])
    show(
        "One warm upsert on S3 (requests through a counting proxy)",
        ["tables", "depth", "update, median", "mean of 64", "most", "insert, median",
         "bytes up", "bytes down", "cold open", "new branch"],
        on_s3,
    )  # fmt: skip
    show(
        "One warm upsert on a local disk (means of 64)",
        ["tables", "depth", "new files", "bytes written", "bytes read", "ms, median"],
        on_disk,
    )


# --------------------------------------------------------------------------- beside peers


@dataclass
class _Run:
    """A system under measurement: how deep it is, and what it should answer."""

    system: System
    rows: int
    depth: int = 1
    spent: float = 0.0
    stopped: bool = False

    def step(self) -> float:
        """One more upsert; seconds."""
        row = person(self._name(), self._age())
        started = time.perf_counter()
        self.system.upsert(row)
        took = time.perf_counter() - started
        self.depth += 1
        self.spent += took
        return took

    def grow(self, depth: int, budget: float) -> None:
        """Get to a depth, unless that takes too long."""
        self.stopped = self.stopped or depth > self.system.deepest
        while self.depth < depth and not self.stopped:
            self.step()
            self.stopped = self.spent > budget

    def read(self) -> float:
        """Read the row that was written last, and check it; seconds."""
        started = time.perf_counter()
        age = self.system.age_of(self._name(back=1))
        took = time.perf_counter() - started
        expected = self._age(back=1)
        if age != expected:
            raise AssertionError(f"{self.system.name} answers {age} instead of {expected}")
        return took

    def check(self) -> None:
        if (count := self.system.count()) != self.rows:
            raise AssertionError(f"{self.system.name} has {count} rows instead of {self.rows}")

    def _name(self, back: int = 0) -> str:
        number = (self.depth - back) * STRIDE % self.rows
        return f"person-{number:07}"

    def _age(self, back: int = 0) -> int:
        return 1000 + self.depth - back


def latency(folder: Path, rows: int, depths: Sequence[int], budget: float) -> None:
    """Milliseconds on a local disk."""
    runs = [_Run(system, rows) for system in systems(folder / "catalog")]
    for number, run in enumerate(runs):
        run.system.create(str(folder / str(number)), None, people(rows))
    upserts: dict[tuple[str, int], float] = {}
    reads: dict[str, tuple[int, float]] = {}
    for depth in depths:
        for run in runs:
            run.grow(depth - ROUNDS, budget)
        writing: dict[str, list[float]] = {}
        reading: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for run in (r for r in runs if not r.stopped):
                writing.setdefault(run.system.name, []).append(run.step() * 1000)
                reading.setdefault(run.system.name, []).append(run.read() * 1000)
        for run in (r for r in runs if not r.stopped):
            name = run.system.name
            upserts[name, depth] = statistics.median(writing[name])
            reads[name] = (depth, statistics.median(reading[name]))
            run.check()
    ours = runs[0].system.name
    table: list[list[Cell]] = []
    for run in runs:
        name = run.system.name
        series: list[Cell] = [upserts.get((name, depth)) for depth in depths]
        deepest, read = reads.get(name, (0, None))
        compared = ratio(upserts.get((name, deepest)), upserts.get((ours, deepest)))
        table.append([name, *series, read, deepest, compared])
    show(
        f"One-row upsert into {rows:,} rows, local disk, ms",
        ["system", *(f"depth {d}" for d in depths), "point read", "at depth", "upsert ratio"],
        table,
    )


def requests(folder: Path, proxy: Proxy, rows: int, depths: Sequence[int]) -> None:
    """Requests and bytes of one upsert on S3."""
    table: list[list[Cell]] = []
    ours: dict[int, float] = {}
    for number, system in enumerate(systems(folder / "catalog")):
        run = _Run(system, rows)
        system.create(f"s3://{BUCKET}/peer-{number}", proxy.store, people(rows))
        for depth in depths:
            run.grow(depth - 3, float("inf"))
            if run.stopped or (depth > 10 and system.deepest < 1000):
                continue
            meter = Meter(proxy)
            costs = [meter.cost_of(run.step) for _ in range(3)]
            count = statistics.median(cost.requests for cost in costs)
            down, up = (statistics.median(c.down for c in costs), mean(c.up for c in costs))
            ours.setdefault(depth, count)
            run.read()
            table.append([system.name, depth, count, up, down, ratio(count, ours[depth])])
        run.check()
    show(
        f"One-row upsert into {rows:,} rows, S3, median of 3",
        ["system", "depth", "requests", "bytes up", "bytes down", "request ratio"],
        table,
    )


if __name__ == "__main__":
    main()
