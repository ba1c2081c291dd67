"""A merge costs what the branches changed: a fast-forward reads no rows, a merge few bytes.

Counted, not timed: requests on an S3 server behind a proxy, and bytes through system calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from cost.measuring import Cost, Meter, schema_of, upload
from omnigraph import Graph
from omnigraph.storage.core.compaction_policy import FANOUT, TIERS
from support.fixtures import unique_uri
from support.object_stores import ObjectStore
from support.proxy import proxied

pytestmark = [pytest.mark.xdist_group("cost")]

MOST_REQUESTS = 16
DEEP = (3, 60)


class Measure(Protocol):
    def __call__(self, tables: int, commits: int) -> tuple[Cost, list[str]]: ...


@pytest.fixture(scope="module")
def fast_forward(
    seaweed_store: ObjectStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Measure]:
    """What moving main forward costs, and the paths it asked for, by tables and commits."""
    folder = tmp_path_factory.mktemp("merges")
    with proxied(seaweed_store) as proxy:

        @cache
        def at(tables: int, commits: int) -> tuple[Cost, list[str]]:
            root = folder / f"{tables}-{commits}"
            graph = omnigraph.init(root, schema_of(tables))
            _fill(graph)
            for n in range(commits):
                with graph.transaction() as txn:
                    txn.upsert("Person", [{"name": "someone", "age": n}])
            graph.create_branch("wip")
            with graph.transaction("wip") as txn:
                txn.upsert("Person", [{"name": "new", "age": 1}])
            uri = unique_uri()
            upload(root, seaweed_store, uri)
            opened = omnigraph.open(uri, storage_options=proxy.store.storage_options())
            opened.create_branch("warm")
            meter = Meter(proxy)
            cost = meter.cost_of(lambda: opened.merge("wip"))
            return cost, [each.path for each in meter._count.requests]

        yield at


def _fill(graph: Graph) -> None:
    people = pa.table({"name": [f"person-{n}" for n in range(20_000)], "age": range(20_000)})
    graph.load(people, type="Person", mode="append")


@pytest.mark.s3
def test_a_fast_forward_of_one_of_fifty_tables_takes_as_many_requests_as_of_three(
    fast_forward: Measure,
) -> None:
    few, many = fast_forward(3, 5)[0], fast_forward(50, 5)[0]
    # The manifest's small fragments are compacted at other commits, which is a request or two.
    assert many.requests <= few.requests + 2, f"{few}\n{many}"
    assert many.requests <= MOST_REQUESTS, str(many)


@pytest.mark.s3
def test_a_fast_forward_reads_no_table(fast_forward: Measure) -> None:
    for tables, commits in ((3, 5), (50, 5), DEEP):
        _, paths = fast_forward(tables, commits)
        assert [path for path in paths if "/nodes/" in path or "/edges/" in path] == []


@pytest.mark.s3
def test_a_fast_forward_after_a_longer_history_is_bounded(fast_forward: Measure) -> None:
    """It reads two columns of the manifest, whose small fragments are bounded."""
    fragments = FANOUT * len(TIERS)
    assert fast_forward(*DEEP)[0].requests <= MOST_REQUESTS + fragments


ROWS = 1_000_000
CHANGED = 1_000
DIMENSION = 64


NARROW = """
node Thing { name: String @key  n: I64?  serial: I64? @unique }
node Other { name: String @key }
edge Near: Thing -> Other
"""


@pytest.mark.slow
def test_a_merge_of_a_thousand_narrow_rows_reads_little_of_a_million(tmp_path: Path) -> None:
    """Rows that only the source replaced are not read: a page of each would be half a table."""
    root = tmp_path / "graph"
    graph = omnigraph.init(root, NARROW)
    numbers = np.arange(ROWS)
    names = pa.array([f"{n:07}" for n in range(ROWS)])
    things = pa.table({"name": names, "n": numbers % 7, "serial": numbers})
    graph.load(things, type="Thing", mode="append")
    size = sum(path.stat().st_size for path in root.rglob("nodes/*/data/*.lance"))
    assert size / ROWS < 30
    graph.create_branch("wip")
    for branch, some in (("wip", numbers[3 :: ROWS // CHANGED]), ("main", numbers[7:17])):
        rows = things.take(pa.array(some))
        with graph.transaction(branch) as txn:
            txn.upsert("Thing", rows.set_column(1, "n", pa.array([99] * len(some))))
    with graph.transaction("wip") as txn:
        txn.delete("Thing", ["0000001"])
    before = _read_bytes()
    result = graph.merge("wip")
    read = _read_bytes() - before
    assert result.tables["node:Thing"].rows_in == CHANGED
    assert 0 < read < size / 20, f"{read} of {size} bytes"
    after = graph.snapshot().scan("Thing", filter="n = 99").read_all()
    assert after.num_rows == CHANGED + 10
    assert graph.snapshot().count("Thing") == ROWS - 1


@pytest.mark.slow
def test_a_merge_of_a_thousand_rows_reads_little_of_a_million(tmp_path: Path) -> None:
    root = tmp_path / "graph"
    schema = f"node Thing {{ name: String @key  n: I64?  v: Vector({DIMENSION})? }}"
    graph = omnigraph.init(root, schema)
    names = pa.array([f"thing-{n:07}" for n in range(ROWS)])
    graph.load(_things(names, 0), type="Thing", mode="append")
    size = sum(path.stat().st_size for path in root.rglob("data/*.lance"))
    graph.create_branch("wip")
    for branch, some in (("wip", names[3 :: ROWS // CHANGED]), ("main", names[7:17])):
        with graph.transaction(branch) as txn:
            txn.upsert("Thing", _things(some, 1))
    before = _read_bytes()
    result = graph.merge("wip")
    read = _read_bytes() - before
    assert result.tables["node:Thing"].updated == CHANGED
    assert 0 < read < size / 20, f"{read} of {size} bytes"


def _things(names: pa.Array, number: int) -> pa.Table:
    chance = np.random.default_rng(number)
    values = chance.random(len(names) * DIMENSION, np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    return pa.table({"name": names, "n": pa.array([number] * len(names)), "v": vectors})


def _read_bytes() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])
