"""One context serves many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph
from engine.exec.reads import read, values
from omnigraph.exec.context import ExecContext


def test_threads_share_what_is_built(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path), "node P { k: I64 @key n: I64 }\nedge E: P -> P")
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 200, (2, 2000)).astype(str)
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": np.arange(200), "n": np.arange(200) % 7}))
        txn.insert("E", pa.table({"src": ends[0], "dst": ends[1]}))
    body = "match { $a: P  $a e $b  $b <e> $c } return { $a.n, count($c) as c, sum($b.n) as s }"
    expected = sorted(values(read(graph, body)))
    context = ExecContext(column_bytes=1 << 14)  # so little that things are evicted all the time

    def one(_: int) -> list[object]:
        return sorted(values(read(graph, body, context=context)))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(40)))
    assert all(rows == expected for rows in found)
    assert context.counters.built == 1
