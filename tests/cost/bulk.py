"""Made-up bulk data, and loads of it in a process of their own whose memory is measured.

    python -m cost.bulk SYSTEM FOLDER SOURCE_FOLDER

prints one line of JSON: seconds, rows, and the peak of resident memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NODES = 1_000_000
EDGES = 5_000_000
STEP = 100_000
SCHEMA = """
node Person {
  name: String @key
  age: I64?
  city: String?
}
edge Knows: Person -> Person {
  since: I64?
  weight: F64?
  kind: String?
}
"""
LOADS = ("omnigraph parquet", "omnigraph ndjson", "lance parquet", "deltalake parquet")


@dataclass(frozen=True)
class Loaded:
    """One load: how long it took and the most memory its process held."""

    seconds: float
    processor_seconds: float
    """What all cores spent on it: says more than the time on a machine that others use too."""
    rows: int
    peak_bytes: int
    idle_bytes: int
    """What the process held before it began, libraries included."""


def write_inputs(folder: Path, scale: float) -> None:
    """Parquet and NDJSON of the same people and whom they know."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes, edges = round(NODES * scale), round(EDGES * scale)
    with (folder / "graph.jsonl").open("w", encoding="utf-8") as lines:
        for name, batches in (("Person", _people(nodes)), ("Knows", _knows(nodes, edges))):
            writer: pq.ParquetWriter | None = None
            for batch in batches:
                writer = writer or pq.ParquetWriter(folder / f"{name}.parquet", batch.schema)
                writer.write_table(batch)
                lines.writelines(_lines(name, batch))
            if writer:
                writer.close()


def _people(count: int) -> Iterator[pa.Table]:
    for start in range(0, count, STEP):
        numbers = range(start, min(start + STEP, count))
        yield pa.table(
            {
                "name": [f"person-{i:08}" for i in numbers],
                "age": [i % 90 for i in numbers],
                "city": [f"city-{i % 1000}" for i in numbers],
            }
        )


def _knows(nodes: int, count: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(7)
    for start in range(0, count, STEP):
        size = min(STEP, count - start)
        ends = random.integers(0, nodes, (2, size))
        yield pa.table(
            {
                "src": [f"person-{i:08}" for i in ends[0]],
                "dst": [f"person-{i:08}" for i in ends[1]],
                "since": random.integers(1990, 2025, size),
                "weight": random.random(size),
                "kind": [f"kind-{i % 7}" for i in range(size)],
            }
        )


def _lines(name: str, batch: pa.Table) -> Iterator[str]:
    rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    if name == "Person":
        for key, age, city in rows:
            data = f'{{"name":"{key}","age":{age},"city":"{city}"}}'
            yield f'{{"type":"Person","data":{data}}}\n'
        return
    for src, dst, since, weight, kind in rows:
        data = f'{{"since":{since},"weight":{weight!r},"kind":"{kind}"}}'
        yield f'{{"edge":"Knows","from":"{src}","to":"{dst}","data":{data}}}\n'


def load_apart(
    system: str, target: Path, inputs: Path, environment: dict[str, str] | None = None
) -> Loaded:
    """Load in a child process."""
    command = [sys.executable, "-m", "cost.bulk", system, str(target), str(inputs)]
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([here, *(p for p in sys.path if p)])
    done = subprocess.run(
        command,
        env=dict(os.environ) | {"PYTHONPATH": path} | (environment or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{system} failed:\n{done.stderr[-4000:]}")
    return Loaded(**json.loads(done.stdout.splitlines()[-1]))


def load_here(system: str, target: Path, inputs: Path) -> int:
    """Load in this process; returns how many rows are in the result."""
    sources = {name: inputs / f"{name}.parquet" for name in ("Person", "Knows")}
    if system.startswith("omnigraph"):
        import omnigraph
        from omnigraph.storage.tables import write_buffer

        write_buffer.SPILL_BYTES = int(os.environ.get("BULK_SPILL_BYTES", write_buffer.SPILL_BYTES))
        graph = omnigraph.init(target, SCHEMA)
        graph.load(sources if system.endswith("parquet") else inputs / "graph.jsonl")
        return sum(graph.snapshot().count(name) for name in sources)
    rows = 0
    for name, source in sources.items():
        rows += _load_raw(system, target / name, pq.ParquetFile(source))
    return rows


def _load_raw(system: str, target: Path, file: pq.ParquetFile) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    if system.startswith("lance"):
        import lance

        return int(lance.write_dataset(reader, target).count_rows())
    from deltalake import DeltaTable, write_deltalake

    write_deltalake(target, reader)
    return sum(pa.table(DeltaTable(target).get_add_actions())["num_records"].to_pylist())


def main() -> None:
    system, target, inputs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if system.startswith("omnigraph"):
        import omnigraph  # noqa: F401  its import is not part of the load
    idle = _peak()
    started = time.perf_counter(), time.process_time()
    rows = load_here(system, target, inputs)
    took = time.perf_counter() - started[0], time.process_time() - started[1]
    sys.stdout.write(json.dumps(Loaded(*took, rows, _peak(), idle).__dict__) + "\n")


def _peak() -> int:
    """The high-water mark of this program; `ru_maxrss` would begin with that of its parent."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
