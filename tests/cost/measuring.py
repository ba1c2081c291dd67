"""What one small write costs, counted: requests on an object store, files and bytes on a disk.

Deep histories are built on the local disk, where a commit takes milliseconds, and copied into the
bucket file by file: a graph knows nothing about where it lies.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import obstore
import pyarrow as pa
from obstore.store import S3Store

import omnigraph
from omnigraph import Graph
from omnigraph.storage.core.layout import MANIFEST, VERSIONS
from omnigraph.storage.tables.digest_names import MARKS
from support.object_stores import ObjectStore
from support.policies import CountRequests
from support.proxy import Proxy

KEYS = 8
"""People whose ages are updated in turn."""
WINDOW = 64
"""Upserts that are counted; every kind of upkeep that they do comes by several times."""
WARM_UP = 16
UPLOAD_THREADS = 4


@dataclass(frozen=True)
class Cost:
    """Requests by operation and kind of file, and the bytes of their bodies."""

    shape: Mapping[tuple[str, str], int]
    up: int
    down: int

    @property
    def requests(self) -> int:
        return sum(self.shape.values())

    def __str__(self) -> str:
        parts = (f"{n} {' '.join(what)}" for what, n in sorted(self.shape.items()))
        return f"{self.requests} requests ({', '.join(parts)}), {self.up} up, {self.down} down"


@dataclass(frozen=True)
class LocalCost:
    """Averages per update on a disk: files left behind, and bytes through system calls.

    Version files of the manifest and the marks of their digests are not counted among the files,
    because old ones get trimmed.
    """

    files: float
    written: float
    read: float
    milliseconds: float
    """The median."""


@dataclass(frozen=True)
class Measured:
    """One graph at one depth, from opening it cold."""

    opening: Cost
    first: Cost
    warming: Sequence[Cost]
    updates: Sequence[Cost]
    inserts: Sequence[Cost]
    edges: Sequence[Cost]
    branches: Sequence[Cost]
    tags: Sequence[Cost]
    protections: Sequence[Cost]

    @property
    def warm(self) -> list[Cost]:
        return [*self.updates, *self.inserts, *self.edges]


def ordinary(costs: Iterable[Cost]) -> dict[tuple[str, str], int]:
    """The shape that most of them have."""
    shapes = Counter(tuple(sorted(cost.shape.items())) for cost in costs)
    return dict(shapes.most_common(1)[0][0])


def mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


# --------------------------------------------------------------------------- graphs


def schema_of(tables: int) -> str:
    """A schema with that many tables: people who know each other, and types that stay empty."""
    text = "node Person {\n  name: String @key\n  age: I64?\n}\nedge Knows: Person -> Person\n"
    return text + "".join(f"node Type{i} {{\n  name: String @key\n}}\n" for i in range(tables - 2))


def update(graph: Graph, number: int) -> None:
    """Replace one of a few people."""
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": f"person-{number % KEYS}", "age": number}])


def insert(graph: Graph, number: int) -> None:
    """Add a person who is not there."""
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": f"newcomer-{number}", "age": number}])


def connect(graph: Graph, number: int) -> None:
    """Add an edge between two people who are there."""
    ends = (f"person-{number % KEYS}", f"person-{(number + 1) % KEYS}")
    with graph.transaction() as txn:
        txn.upsert("Knows", [{"id": f"edge-{number}", "src": ends[0], "dst": ends[1]}])


class Histories:
    """Graphs of given depths on the local disk, each grown from the nearest shallower one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._grown: dict[tuple[int, int], Path] = {}

    def at(self, tables: int, depth: int) -> Path:
        """The folder of the graph with that many tables and commits; copy it before writing."""
        if (tables, depth) in self._grown:
            return self._grown[tables, depth]
        root = self._folder / f"{tables}-tables-{depth}-commits"
        shallower = max((d for t, d in self._grown if t == tables and d < depth), default=None)
        if shallower is None:
            graph, done = omnigraph.init(root, schema_of(tables)), 1
        else:
            shutil.copytree(self._grown[tables, shallower], root)
            graph, done = omnigraph.open(root), shallower
        for number in range(done, depth):
            update(graph, number)
        self._grown[tables, depth] = root
        return root


class LargeHistories:
    """The same for a table of many rows, loaded at once and then updated all over."""

    STRIDE = 7919
    """A prime, so that one row after the other is replaced."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._grown: dict[int, Path] = {}

    def at(self, depth: int) -> Path:
        """The folder of the graph with that many commits; copy it before writing."""
        if depth in self._grown:
            return self._grown[depth]
        root = self._folder / f"{depth}-commits"
        shallower = max((d for d in self._grown if d < depth), default=None)
        if shallower is None:
            graph, done = omnigraph.init(root, schema_of(2)), 2
            people = pa.table(
                {"name": [self.name(i) for i in range(self._rows)], "age": range(self._rows)}
            )
            graph.load(people, type="Person", mode="append")
        else:
            shutil.copytree(self._grown[shallower], root)
            graph, done = omnigraph.open(root), shallower
        for number in range(done, depth):
            self.update(graph, number)
        self._grown[depth] = root
        return root

    def name(self, number: int) -> str:
        """The key of one of the rows that are there."""
        return f"person-{number % self._rows:07}"

    def update(self, graph: Graph, number: int) -> None:
        """Replace one of the rows, another one each time."""
        with graph.transaction() as txn:
            txn.upsert("Person", [{"name": self.name(number * self.STRIDE), "age": number}])

    def insert(self, graph: Graph, number: int) -> None:
        """Add a row whose key is between those that are there."""
        with graph.transaction() as txn:
            name = f"{self.name(number * self.STRIDE)}-{number}"
            txn.upsert("Person", [{"name": name, "age": number}])


def upload(root: Path, store: ObjectStore, uri: str) -> int:
    """Copy a graph from a folder into a bucket; returns how many files it has."""
    parts = urlsplit(uri)
    config: Any = {
        "endpoint": store.endpoint,
        "access_key_id": store.access_key,
        "secret_access_key": store.secret_key,
        "region": store.region,
    }
    bucket = S3Store(
        parts.netloc,
        prefix=parts.path.strip("/"),
        config=config,
        client_options=cast(Any, {"allow_http": True}),
    )
    files = [path for path in root.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(UPLOAD_THREADS) as pool:
        for done in [
            pool.submit(obstore.put, bucket, path.relative_to(root).as_posix(), path.read_bytes())
            for path in files
        ]:
            done.result()
    return len(files)


# --------------------------------------------------------------------------- counting


class Meter:
    """Counts what passes a proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self._count = CountRequests()
        proxy.use(self._count)

    def cost_of(self, action: Callable[[], object]) -> Cost:
        """Run something and say what it cost."""
        self._count.reset()
        action()
        seen = self._count.requests
        return Cost(
            dict(self._count.by_kind()),
            sum(each.bytes_up for each in seen),
            sum(each.bytes_down for each in seen),
        )


def measure(proxy: Proxy, uri: str, depth: int, *, warm_up: int = WARM_UP) -> Measured:
    """Open a graph through a proxy and write to it."""
    meter = Meter(proxy)
    options = proxy.store.storage_options()
    opened: list[Graph] = []
    opening = meter.cost_of(lambda: opened.append(omnigraph.open(uri, storage_options=options)))
    (graph,) = opened
    numbers = iter(range(depth, depth + 10 * WINDOW))

    def several(write: Callable[[Graph, int], None], times: int) -> list[Cost]:
        return [meter.cost_of(lambda: write(graph, next(numbers))) for _ in range(times)]

    first = several(update, 1)[0]
    warming = several(update, warm_up - 1)
    updates = several(update, WINDOW)
    inserts = several(insert, WARM_UP)
    edges = several(connect, WARM_UP)[1:]
    return Measured(
        opening=opening,
        first=first,
        warming=warming,
        updates=updates,
        inserts=inserts,
        edges=edges,
        branches=[meter.cost_of(lambda i=i: graph.create_branch(f"b{i}")) for i in range(4)],  # type: ignore[misc]
        tags=[meter.cost_of(lambda i=i: graph.tags.create(f"t{i}")) for i in range(4)],  # type: ignore[misc]
        protections=[meter.cost_of(lambda i=i: graph.protect_branch(f"b{i}")) for i in range(4)],  # type: ignore[misc]
    )


def local_cost(root: Path, depth: int, *, warm_up: int = WARM_UP) -> LocalCost:
    """What updates of a local graph leave on the disk, and move through system calls."""
    graph = omnigraph.open(root)
    numbers = iter(range(depth, depth + warm_up + WINDOW))
    for _ in range(warm_up):
        update(graph, next(numbers))
    before, calls = _files(root), _calls()
    took = []
    for number in numbers:
        started = time.perf_counter()
        update(graph, number)
        took.append(time.perf_counter() - started)
    after, calls_after = _files(root), _calls()
    return LocalCost(
        files=len(after - before) / WINDOW,
        written=(calls_after["wchar"] - calls["wchar"]) / WINDOW,
        read=(calls_after["rchar"] - calls["rchar"]) / WINDOW,
        milliseconds=statistics.median(took) * 1000,
    )


def _files(root: Path) -> set[str]:
    return {
        path
        for folder, _, names in os.walk(root)
        if not folder.endswith((f"{MANIFEST}/{VERSIONS}", f"{MANIFEST}/{MARKS}"))
        for path in (f"{folder}/{name}" for name in names)
    }


def _calls() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}
