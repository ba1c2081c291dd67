"""Rows per second between Spark and a graph, beside Parquet: `python -m benchmarks.spark`.

The same rows (a text, two numbers and a time) go out of Spark and come back. OmniGraph makes an id
for each, checks every value and publishes one commit; Parquet is only written. Reads go through a
server (ADBC partitions, in a process of its own) and straight to the storage. To show where the
time goes, the rows are also made and thrown away, and made and only handed to Python as Arrow.
Rounds are interleaved, medians are shown: seconds on the clock, and of CPU in all processes that
take part (the JVM, Python workers, the server), which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import benchmarks  # noqa: F401
import omnigraph
from benchmarks.table import Cell, ratio, show
from spark.sessions import PACKAGES, REPOSITORY, local_session

SCHEMA = "node Reading { sensor: String  n: I64  value: F64  at: DateTime }"
COLUMNS = ("sensor", "n", "value", "at")
PARTITIONS = 8


def readings(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(0, rows, 1, PARTITIONS).selectExpr(
        "concat('sensor-', id % 1000) AS sensor",
        "id AS n",
        "id / 7.0D AS value",
        "timestamp_micros(id * 1000) AS at",
    )


@contextmanager
def served(root: Path) -> Iterator[str]:
    """A server over a graph, in a process of its own; its URI."""
    path = os.pathsep.join(str(REPOSITORY / name) for name in PACKAGES)
    server = subprocess.Popen(
        [sys.executable, "-m", "omnigraph.cli", "serve", str(root), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert server.stdout is not None
        document = "".join(iter(server.stdout.readline, "}\n")) + "}"
        yield json.loads(document)["uri"]
    finally:
        server.terminate()
        server.wait()


@dataclass(frozen=True)
class Spent:
    """What some work took: seconds on the clock, and of CPU."""

    wall: float
    cpu: float


Taken = dict[str, list[Spent]]


def spent(work: Callable[[], object]) -> Spent:
    start, before = time.perf_counter(), cpu_seconds()
    work()
    return Spent(time.perf_counter() - start, cpu_seconds() - before)


def cpu_seconds() -> float:
    """What this process and everything it has started used so far."""
    stats = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = place.read_text().rpartition(")")[2].split()
            stats[int(place.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours, found = {os.getpid()}, -1
    while found != len(ours):
        found = len(ours)
        ours |= {pid for pid, (parent, _) in stats.items() if parent in ours}
    return sum(stats[pid][1] for pid in ours if pid in stats) / os.sysconf("SC_CLK_TCK")


def consumed(frame: DataFrame) -> tuple[int, ...]:
    """Every column of every row, without keeping any."""
    found = frame.selectExpr("count(sensor)", "sum(n)", "count(value)", "count(at)").collect()
    return tuple(found[0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    spark = local_session("local[2]", **{"spark.driver.memory": "2g"})
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        folder = Path(name)
        writes = _writes(spark, folder, options.rows, options.rounds)
        _shown("Write", options.rows, options.rounds, writes)
        reads = _reads(spark, folder, options.rows, options.rounds)
        _shown("Read", options.rows, options.rounds, reads)
    spark.stop()


def only_counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The way to a Python worker and nothing else."""
    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows], pa.int64())], names=["rows"])


def _writes(spark: SparkSession, folder: Path, rows: int, rounds: int) -> Taken:
    frame = readings(spark, rows)
    parquet, graph = folder / "parquet", folder / "graph"
    target = {"uri": str(graph), "node": "Reading"}

    def to_graph() -> None:
        frame.write.format("omnigraph").options(**target).mode("overwrite").save()

    ways: dict[str, Callable[[], object]] = {
        "rows made, thrown away": lambda: frame.write.format("noop").mode("overwrite").save(),
        "rows made, to Python": lambda: frame.mapInArrow(only_counted, "rows long").collect(),
        "Parquet": lambda: frame.write.mode("overwrite").parquet(str(parquet)),
        "OmniGraph, storage": to_graph,
    }
    omnigraph.init(graph, SCHEMA)
    taken = _interleaved(ways, rounds)
    found = omnigraph.open(graph).snapshot().count("Reading")
    if found != rows:
        raise AssertionError(f"the graph has {found} rows, not {rows}")
    return taken


def _reads(spark: SparkSession, folder: Path, rows: int, rounds: int) -> Taken:
    with served(folder / "graph") as uri:

        def graph_at(place: str) -> DataFrame:
            named = {"uri": place, "node": "Reading", "columns": ",".join(COLUMNS)}
            return spark.read.format("omnigraph").options(**named).load()

        frames = {
            "Parquet": spark.read.parquet(str(folder / "parquet")),
            "OmniGraph, ADBC partitions": graph_at(uri),
            "OmniGraph, storage": graph_at(str(folder / "graph")),
        }
        return _interleaved(
            {name: partial(_checked, frame, rows) for name, frame in frames.items()}, rounds
        )


def _interleaved(ways: Mapping[str, Callable[[], object]], rounds: int) -> Taken:
    taken: Taken = {name: [] for name in ways}
    for number in range(rounds + 1):  # the first round warms up
        for name, work in ways.items():
            found = spent(work)
            if number:
                taken[name].append(found)
    return taken


def _checked(frame: DataFrame, rows: int) -> None:
    expected = (rows, rows * (rows - 1) // 2, rows, rows)
    if (found := consumed(frame)) != expected:
        raise AssertionError(f"read {found}, not {expected}")


def _shown(title: str, rows: int, rounds: int, taken: Taken) -> None:
    def middle(system: str) -> Spent:
        times = taken[system]
        return Spent(
            statistics.median(t.wall for t in times), statistics.median(t.cpu for t in times)
        )

    base = middle("Parquet")
    table: list[list[Cell]] = []
    for system in taken:
        found = middle(system)
        table.append(
            [
                system,
                found.wall,
                rows / found.wall,
                ratio(found.wall, base.wall),
                found.cpu,
                ratio(found.cpu, base.cpu),
            ]
        )
    show(
        f"{title} of {rows:,} rows, median of {rounds}",
        ["system", "seconds", "rows/s", "time against Parquet", "CPU s", "CPU against Parquet"],
        table,
    )


if __name__ == "__main__":
    main()
