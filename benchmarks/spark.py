"""Rows per second between Spark and a graph, beside Parquet: `python -m benchmarks.spark`.

The same rows (a text, two numbers and a time) go out of Spark and come back. OmniGraph makes an id
for each, checks every value and publishes one commit; Parquet is only written. Reads go through a
server (ADBC partitions, in a process of its own) and straight to the storage. Rounds are
interleaved, medians are shown.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

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


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


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


def _writes(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, list[float]]:
    frame = readings(spark, rows)
    parquet, graph = folder / "parquet", folder / "graph"

    def to_graph() -> None:
        frame.write.format("omnigraph").options(uri=str(graph), node="Reading").mode(
            "overwrite"
        ).save()

    omnigraph.init(graph, SCHEMA)
    taken: dict[str, list[float]] = {"Parquet": [], "OmniGraph, storage": []}
    for _ in range(rounds):
        taken["OmniGraph, storage"].append(seconds(to_graph))
        taken["Parquet"].append(
            seconds(lambda: frame.write.mode("overwrite").parquet(str(parquet)))
        )
    found = omnigraph.open(graph).snapshot().count("Reading")
    if found != rows:
        raise AssertionError(f"the graph has {found} rows, not {rows}")
    return taken


def _reads(spark: SparkSession, folder: Path, rows: int, rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {
        "Parquet": [],
        "OmniGraph, ADBC partitions": [],
        "OmniGraph, storage": [],
    }
    with served(folder / "graph") as uri:

        def graph_at(place: str) -> DataFrame:
            named = {"uri": place, "node": "Reading", "columns": ",".join(COLUMNS)}
            return spark.read.format("omnigraph").options(**named).load()

        frames = {
            "Parquet": spark.read.parquet(str(folder / "parquet")),
            "OmniGraph, ADBC partitions": graph_at(uri),
            "OmniGraph, storage": graph_at(str(folder / "graph")),
        }
        for number in range(rounds + 1):  # the first round warms up
            for system, frame in frames.items():
                spent = seconds(lambda frame=frame: _checked(frame, rows))  # type: ignore[misc]
                if number:
                    taken[system].append(spent)
    return taken


def _checked(frame: DataFrame, rows: int) -> None:
    expected = (rows, rows * (rows - 1) // 2, rows, rows)
    if (found := consumed(frame)) != expected:
        raise AssertionError(f"read {found}, not {expected}")


def _shown(title: str, rows: int, rounds: int, taken: dict[str, list[float]]) -> None:
    base = statistics.median(taken["Parquet"])
    table: list[list[Cell]] = []
    for system, times in taken.items():
        middle = statistics.median(times)
        table.append([system, middle, rows / middle, ratio(middle, base)])
    show(
        f"{title} of {rows:,} rows, median of {rounds}",
        ["system", "seconds", "rows/s", "time against Parquet"],
        table,
    )


if __name__ == "__main__":
    main()
