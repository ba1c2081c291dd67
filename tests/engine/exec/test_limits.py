"""One context serves many threads, and refuses what it cannot count."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from engine.exec.reads import read, values
from omnigraph.errors import ResourceLimit
from omnigraph.exec.graph.exec_context import ExecContext, Mode
from omnigraph.exec.plan import plan_read


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


def test_more_matches_than_64_bits_count_are_refused(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path), "node P { k: I64 @key }\nedge E: P -> P")
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": np.arange(300)}))
        ends = np.indices((300, 300)).reshape(2, -1).astype(str)
        txn.insert("E", pa.table({"src": ends[0], "dst": ends[1]}))
    names = "abcdefghijk"
    hops = " ".join(f"${x} e ${y}" for x, y in zip(names, names[1:], strict=False))
    few = values(read(graph, f"match {{ {hops[:23]} }} return {{ count($a) as n }}"))
    assert few == [300**4]
    with pytest.raises(ResourceLimit, match="the number of matches"):
        read(graph, f"match {{ {hops} }} return {{ count($a) as n }}").to_arrow()


def test_sums_of_large_numbers_do_not_wrap_around(tmp_path: Path) -> None:
    graph = omnigraph.init(str(tmp_path), "node P { k: I64 @key }\nedge E: P -> P { w: I64 }")
    high = 2**62
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": [1, 2, 3, high]}))
        ends = [str(high)] * 3
        txn.insert("E", pa.table({"src": ["1", "2", "3"], "dst": ends, "w": [high] * 3}))
    body = "match { $a: P  $a $w:e $b } return { sum($b.k) as s, sum($w.w) as t, avg($w.w) as v }"
    for many in (0, 10**9):
        plan_read.MANY_ROWS, before = many, plan_read.MANY_ROWS
        try:
            assert values(read(graph, body)) == [(3.0 * high, 3.0 * high, float(high))]
        finally:
            plan_read.MANY_ROWS = before


@pytest.mark.parametrize("hops", ["{1,100000}", "{2,9223372036854775807}"])
@pytest.mark.parametrize("mode", ["indexed", "csr"])
def test_hop_bounds_far_beyond_the_graph_are_bounds_like_any_other(
    tmp_path: Path, hops: str, mode: Mode
) -> None:
    graph = omnigraph.init(str(tmp_path), "node P { k: String @key }\nedge E: P -> P")
    with graph.transaction() as txn:
        txn.insert("P", pa.table({"k": list("abcd")}))
        txn.insert("E", pa.table({"src": list("abcac"), "dst": list("bcabd")}))
    body = f'match {{ $a: P {{ k: "a" }}  $a e{hops} $b }} return {{ $b }} order {{ $b.k }}'
    found = values(read(graph, body, context=ExecContext(mode=mode)))
    assert found == (["b", "c", "d"] if hops.startswith("{1") else ["c", "d"])
