"""What a durable commit costs on a local disk, beside sqlite: a part of `benchmarks.cost`.

One row per commit, by one thread, and by 16 that each have a table of their own: those that wait at
the same time share a publish, and its syncs. The systems take turns, so that noise of the machine
hits all of them.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import omnigraph
from benchmarks.table import Cell, show

THREADS = (1, 16)
SECONDS = 2.0
"""Of one system, in one round."""
ROUNDS = 3

Write = Callable[[int, int], None]
"""Commits one row, the n-th of some thread."""


@dataclass
class Seen:
    """Commits of one system by so many threads, over all rounds."""

    seconds: float = 0.0
    syncs: int = 0
    latencies: list[float] = field(default_factory=list)


def durable_commits(folder: Path) -> None:
    """Print the latency, the syncs and the rate of small commits."""
    systems: dict[str, Write] = {
        "omnigraph, sync": _graph(folder / "sync", "sync"),
        "omnigraph, os": _graph(folder / "os", "os"),
        "sqlite, WAL FULL": _sqlite(folder / "rows.db"),
    }
    seen = {(name, threads): Seen() for name in systems for threads in THREADS}
    first = 0
    for _ in range(ROUNDS):
        for (name, threads), so_far in seen.items():
            first = _measure(systems[name], threads, first, so_far)
    rows: list[list[Cell]] = [
        [
            name,
            threads,
            round(statistics.median(each.latencies) * 1000, 2),
            # sqlite syncs in C, where nobody counts: once for every commit.
            round(each.syncs / len(each.latencies), 1) if name.startswith("omni") else 1,
            round(len(each.latencies) / each.seconds),
        ]
        for (name, threads), each in seen.items()
    ]
    header = ["system", "threads", "p50 ms", "syncs per commit", "commits/s"]
    show("A durable commit of one row, local disk", header, rows)


def _measure(write: Write, threads: int, first: int, seen: Seen) -> int:
    """Let threads commit for some time; the number of the next row."""
    until = time.perf_counter() + SECONDS

    def work(thread: int) -> list[float]:
        latencies: list[float] = []
        while (began := time.perf_counter()) < until:
            write(thread, first + len(latencies))
            latencies.append(time.perf_counter() - began)
        return latencies

    began = time.perf_counter()
    with counted_syncs() as count, ThreadPoolExecutor(threads) as pool:
        of_threads = list(pool.map(work, range(threads)))
    seen.seconds += time.perf_counter() - began
    seen.syncs += count()
    seen.latencies += [latency for each in of_threads for latency in each]
    return first + max(map(len, of_threads))


@contextmanager
def counted_syncs() -> Iterator[Callable[[], int]]:
    """Count the syncs of this process."""
    real, lock, counted = os.fsync, threading.Lock(), 0

    def fsync(descriptor: int) -> None:
        nonlocal counted
        with lock:
            counted += 1
        real(descriptor)

    with mock.patch.object(os, "fsync", fsync):
        yield lambda: counted


def _graph(root: Path, durability: str) -> Write:
    types = "\n".join(f"node P{i} {{ name: String @key  v: I64 }}" for i in range(max(THREADS)))
    graph = omnigraph.init(root, types, durability=durability)

    def write(thread: int, number: int) -> None:
        with graph.transaction() as txn:
            txn.upsert(f"P{thread}", [{"name": f"p{number}", "v": number}])

    return write


def _sqlite(path: Path) -> Write:
    opened = threading.local()

    def connection() -> sqlite3.Connection:
        if not hasattr(opened, "connection"):
            opened.connection = sqlite3.connect(path, timeout=60, isolation_level=None)
            opened.connection.execute("PRAGMA journal_mode=WAL")
            opened.connection.execute("PRAGMA synchronous=FULL")
        kept: sqlite3.Connection = opened.connection
        return kept

    connection().execute("CREATE TABLE p (thread INT, name TEXT, v INT, UNIQUE (thread, name))")

    def write(thread: int, number: int) -> None:
        row = (thread, f"p{number}", number)
        connection().execute("INSERT OR REPLACE INTO p VALUES (?, ?, ?)", row)

    return write
