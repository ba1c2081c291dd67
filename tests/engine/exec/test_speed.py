"""What a warm read costs, in CPU time so that a busy machine does not matter.

The bounds are several times what was measured: they catch a change of method, not a slow day.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read
from omnigraph.api.graph import Graph
from omnigraph.exec.graph.exec_context import ExecContext

NODES, EDGES = 50_000, 500_000
SEED = "$a: P { k: 5 }"
BOUNDS = {
    "match { $a: P { k: 5 } } return { $a.city }": 2,
    f"match {{ {SEED}  $a e $b  $b e $c }} return {{ count($c) as n }}": 3,
    f"match {{ {SEED}  $a e{{1,3}} $b }} return {{ $b.k }}": 5,
    "match { $a: P  $a e $b  $b e $c } return { count($c) as n }": 10,
    "match { $a: P  $a e $b  $b e $c } return { $a.city, count($c) as n, avg($c.k) as m }": 100,
    "match { $a: P  $a $w:e $b  $w.w > 0.2  $b.k < 30000 } return { $a.city, avg($w.w) as m }": 100,
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root: Path = tmp_path_factory.mktemp("speed")
    graph = omnigraph.init(
        str(root), "node P { k: I64 @key city: String }\nedge E: P -> P { w: F64 }"
    )
    rng = np.random.default_rng(7)
    ends = rng.integers(0, NODES, (2, EDGES))
    cities = pa.array([f"city{i % 50:02}" for i in range(NODES)])
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": np.arange(NODES), "city": cities}))
        src, dst = (pa.array(side).cast(pa.string()) for side in ends)
        txn.insert("E", pa.table({"src": src, "dst": dst, "w": rng.random(EDGES)}))
    return graph


@pytest.mark.slow
def test_warm_reads_stay_near_the_kernels(graph: Graph) -> None:
    context = ExecContext(mode="csr")
    slow = {}
    for body, bound in BOUNDS.items():
        times = []
        for _ in range(8):
            result = read(graph, body, context=context)
            begun = time.thread_time()
            result.to_arrow()
            times.append((time.thread_time() - begun) * 1e3)
        if min(times) > bound:
            slow[body] = (min(times), bound)
    assert slow == {}
