"""Relational work on one large table: our operators beside DataFusion's, on the same Lance table.

`.gq` keeps the columns it has read and works on them with Arrow and numpy; DataFusion scans the
table, or is given its columns in memory. Each in a process of its own, so that its memory is seen.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.table import Cell, show

SCHEMA = """
node Item { key: I64 @key  city: String  maker: String  price: I64 }
node Maker { name: String @key  land: String  number: I64 }
"""
TABLES = {"item": "node:Item", "maker": "node:Maker"}
WORK = {
    "group by 100 values": (
        "match { $i: Item } return { $i.city  sum($i.price) as total }",
        "SELECT city, sum(price) AS total FROM item GROUP BY city",
    ),
    "group by a tenth as many values as rows": (
        "match { $i: Item } return { $i.maker  sum($i.price) as total }",
        "SELECT maker, sum(price) AS total FROM item GROUP BY maker",
    ),
    "group by as many values as rows": (
        "match { $i: Item } return { $i.key  sum($i.price) as total }",
        "SELECT key, sum(price) AS total FROM item GROUP BY key",
    ),
    "join by a text, then group": (
        "match { $i: Item  $m: Maker  $i.maker = $m.name } "
        "return { $m.land  sum($i.price) as total }",
        "SELECT land, sum(price) AS total FROM item JOIN maker ON maker = name GROUP BY land",
    ),
    "join by a number, all rows": (
        "match { $i: Item  $m: Maker  $i.price = $m.number } return { $i.key  $m.land }",
        "SELECT key, land FROM item JOIN maker ON price = number",
    ),
    "sort by a number": (
        "match { $i: Item } return { $i.key  $i.price } order { $i.price desc }",
        "SELECT key, price FROM item ORDER BY price DESC, id",
    ),
    "sort by a text": (
        "match { $i: Item } return { $i.key  $i.maker } order { $i.maker }",
        "SELECT key, maker FROM item ORDER BY maker, id",
    ),
    "ten largest": (
        "match { $i: Item } return { $i.key  $i.price } order { $i.price desc } limit 10",
        "SELECT key, price FROM item ORDER BY price DESC, id LIMIT 10",
    ),
    "filter and sum": (
        "match { $i: Item  $i.price < 1000 } return { sum($i.price) as total }",
        "SELECT sum(price) AS total FROM item WHERE price < 1000",
    ),
}
ENGINES = ("omnigraph", "datafusion on Lance", "datafusion in memory")


def relational(folder: Path, rows: int, rounds: int) -> None:
    """Milliseconds of the first and of later runs, and the peak of memory."""
    import omnigraph

    graph = folder / "items"
    tables = {"Item": _items(rows), "Maker": _makers(rows)}
    omnigraph.init(graph, SCHEMA).load(tables, mode="append")
    table: list[list[Cell]] = []
    for work in WORK:
        found = {engine: _apart(graph, work, engine, rounds) for engine in ENGINES}
        if len({answer["rows"] for answer in found.values()}) != 1:
            raise AssertionError(f"{work}: {found}")
        for part in ("first", "warm", "peak"):
            cells = [found[engine][part] for engine in ENGINES]
            unit = "peak, MiB" if part == "peak" else f"{part}, ms"
            table.append([work, unit, *cells])
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    show(
        f"Relational work on {rows:,} rows, CPU time (load average {load})",
        ["work", "measure", *ENGINES],
        table,
    )


def _items(rows: int) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "key": np.arange(rows),
            "city": pa.array([f"city-{i}" for i in range(100)]).take(rng.integers(0, 100, rows)),
            "maker": pa.array([f"maker-{i:07}" for i in range(max(rows // 10, 1))]).take(
                rng.integers(0, max(rows // 10, 1), rows)
            ),
            "price": rng.integers(0, 100_000, rows),
        }
    )


def _makers(rows: int) -> pa.Table:
    count = max(rows // 10, 1)
    return pa.table(
        {
            "name": [f"maker-{i:07}" for i in range(count)],
            "land": [f"land-{i % 50}" for i in range(count)],
            "number": np.arange(count),
        }
    )


def _apart(graph: Path, work: str, engine: str, rounds: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.query_relational"]
    done = subprocess.run(
        [*command, str(graph), work, engine, str(rounds)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _runner(graph: Path, work: str, engine: str) -> Callable[[], int]:
    import lance

    import omnigraph
    from omnigraph.storage.core.table_version import TableVersion

    gq, sql = WORK[work]
    opened = omnigraph.open(graph)
    if engine == "omnigraph":
        text = f"query q() {{ {gq} }}"
        return lambda: opened.query(text).to_arrow().num_rows
    from datafusion import SessionContext

    context = SessionContext()
    for name, key in TABLES.items():
        pointer = opened._store.head("main").tables[key]
        dataset = opened._store.tables.handle(TableVersion(pointer.location, pointer.lance)).dataset
        if engine == "datafusion on Lance":
            context.register_table(name, lance.FFILanceTableProvider(dataset))
        elif name in sql:
            wanted = [column for column in dataset.schema.names if re.search(rf"\b{column}\b", sql)]
            batches = dataset.scanner(columns=wanted).to_table().to_batches()
            context.register_record_batches(name, [batches])
    return lambda: sum(batch.num_rows for batch in context.sql(sql).collect())


def main(arguments: list[str]) -> None:
    """One engine, one kind of work; prints one line of JSON."""
    graph, work, engine, rounds = arguments
    run = _runner(Path(graph), work, engine)
    times = []
    rows = 0
    for _ in range(int(rounds)):
        begun = time.process_time()
        rows = run()
        times.append((time.process_time() - begun) * 1000)
    peak = _peak()
    found = {"rows": rows, "first": times[0], "warm": min(times[1:] or times), "peak": peak}
    print(json.dumps(found))


def _peak() -> float:
    """The peak of this program; that of its parent before it was started is not counted."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
