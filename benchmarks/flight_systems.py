"""The Flight SQL servers that are measured side by side, over the same rows."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph
import omnigraph_sql
from support.processes import LOOPBACK, free_ports, running

POINTS = 1_000_000
SCHEMA = "node Point { key: String @key  n: I64  value: F64 }"
_BATCH = 1_000_000
_SERVE = "from omnigraph_flight.cli import serve; serve()"


@dataclass(frozen=True)
class System:
    """A server that answers Flight SQL, and how it names the tables."""

    name: str
    uri: str
    process: psutil.Process
    points: str
    rows: Callable[[int], str]

    def cpu(self) -> float:
        """Seconds of CPU that the server and its children have used."""
        every = [self.process, *self.process.children(recursive=True)]
        return sum(sum(each.cpu_times()[:2]) for each in every)


def make_data(folder: Path, sizes: list[int]) -> omnigraph.Graph:
    """The same points and rows as a graph and as Parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    graph = omnigraph.init(str(folder / "graph"), SCHEMA)
    numbers = np.arange(POINTS)
    points = pa.table(
        {"key": pa.array([f"p{n}" for n in numbers]), "n": numbers, "value": numbers / 7}
    )
    graph.load(points, type="Point", mode="overwrite")
    pq.write_table(points.add_column(0, "id", points["key"]), folder / "points.parquet")
    connection = omnigraph_sql.connect(graph)
    for size in sizes:
        schema = _rows(0, 1).schema
        parts = (_rows(start, min(_BATCH, size - start)) for start in range(0, size, _BATCH))
        reader = pa.RecordBatchReader.from_batches(schema, parts)
        connection.ingest(f"rows_{size}", reader, "create")
        with pq.ParquetWriter(folder / f"rows_{size}.parquet", schema) as writer:
            for start in range(0, size, _BATCH):
                writer.write_batch(_rows(start, min(_BATCH, size - start)))
    graph.optimize()
    return graph


def _rows(start: int, count: int) -> pa.RecordBatch:
    numbers = np.arange(start, start + count)
    texts = pa.array(np.char.add("row ", (numbers % 100_000).astype(str)))
    return pa.record_batch(
        {"id": numbers, "half": numbers / 2, "third": numbers // 3, "text": texts}
    )


@contextmanager
def ours(folder: Path) -> Iterator[System]:
    port = free_ports(1)[0]
    command = [sys.executable, "-c", _SERVE, str(folder / "graph"), "--port", str(port)]
    with running("omnigraph", command, port, start_seconds=120) as server:
        yield System(
            "omnigraph",
            f"grpc://{LOOPBACK}:{port}",
            psutil.Process(server.process.pid),
            "Point",
            lambda size: f"rows_{size}",
        )


@contextmanager
def roapi(folder: Path) -> Iterator[System]:
    http, postgres, port = free_ports(3)
    tables = [f"{path.stem}={path}" for path in sorted(folder.glob("*.parquet"))]
    command = [
        _found("roapi"),
        *(part for table in tables for part in ("--table", table)),
        *("--addr-http", f"{LOOPBACK}:{http}"),
        *("--addr-postgres", f"{LOOPBACK}:{postgres}"),
        *("--addr-flight-sql", f"{LOOPBACK}:{port}"),
    ]
    with running("roapi", command, port, start_seconds=300) as server:
        yield System(
            "roapi",
            f"grpc://{LOOPBACK}:{port}",
            psutil.Process(server.process.pid),
            "points",
            lambda size: f"rows_{size}",
        )


@contextmanager
def pysail(folder: Path) -> Iterator[System]:
    port = free_ports(1)[0]
    command = [_found("sail"), "flight", "server", "--port", str(port)]
    with running("sail", command, port, start_seconds=120) as server:
        yield System(
            "pysail",
            f"grpc://{LOOPBACK}:{port}",
            psutil.Process(server.process.pid),
            f"parquet.`{folder / 'points.parquet'}`",
            lambda size: f"parquet.`{folder / f'rows_{size}.parquet'}`",
        )


def _found(program: str) -> str:
    beside = Path(sys.executable).with_name(program)
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        raise SystemExit(f"{program} is not installed: pip install -r requirements-bench.txt")
    return found


SERVERS = {"omnigraph": ours, "roapi": roapi, "pysail": pysail}
