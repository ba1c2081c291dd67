"""A process that writes for long holds what its caches say they hold, and no more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.common.arrow_memory import held_bytes, in_one_chunk
from omnigraph.common.bounded_cache import BoundedCache

SCHEMA = "node P { name: String @key  v: I64 }"
ROWS = 200
SOAK_UPSERTS = 100_000
SOAK_STEP = 5_000
SOAK_BYTES = 400 << 20


def written(root: str, upserts: int, durability: str = "sync") -> Graph:
    graph = omnigraph.init(root, SCHEMA, durability=durability)
    with graph.transaction() as txn:
        txn.insert("P", [{"name": f"p{i}", "v": i} for i in range(ROWS)])
    upsert(graph, upserts)
    return graph


def upsert(graph: Graph, count: int) -> None:
    for i in range(count):
        with graph.transaction() as txn:
            txn.upsert("P", [{"name": f"p{i % ROWS}", "v": i}])


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS"))
    return int(line.split()[1]) << 10


def test_cached_rows_weigh_what_they_hold(root: str) -> None:
    store = written(root, 120)._store
    caches: list[BoundedCache[tuple[str, ...], pa.Table]] = [
        store.tables._lookup._rows,
        store.manifest._seen._rows,  # type: ignore[list-item]
    ]
    for cache in caches:
        tables = [rows for rows, _ in cache._entries.values()]
        assert len(tables) > 100
        assert max(column.num_chunks for rows in tables for column in rows.columns) == 1
        assert sum(rows.get_total_buffer_size() for rows in tables) <= cache._weight


def test_what_a_slice_or_a_chunk_keeps_is_counted() -> None:
    whole = pa.table({"a": pa.array(range(10_000), pa.int64())})
    assert held_bytes(whole.slice(0, 1)) >= 80_000
    chunks = pa.concat_tables([whole.slice(i, 1).take([0]) for i in range(100)])
    assert held_bytes(chunks) > 30 * held_bytes(in_one_chunk(chunks))
    assert in_one_chunk(chunks).equals(chunks)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_upserts_stay_small(root: str) -> None:
    graph = written(root, 50, durability="os")
    before = resident_bytes()
    for done in range(0, SOAK_UPSERTS, SOAK_STEP):
        upsert(graph, SOAK_STEP)
        above = resident_bytes() - before
        print(f"{done + SOAK_STEP:,} upserts: {above >> 20} MB above the start")  # noqa: T201
        assert above < SOAK_BYTES
