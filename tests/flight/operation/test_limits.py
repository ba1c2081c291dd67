"""What a statement may take: memory, which spills; and what the server does on the side."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as fl
import pytest

from flight.clients import query
from flight.conftest import Serve
from omnigraph import Graph
from omnigraph_flight import maintenance_thread
from omnigraph_flight.access.admission import ServerLimits

DIGITS = "WITH d(v) AS (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
MILLION = (
    f"{DIGITS}, m AS (SELECT a.v + 10*b.v + 100*c.v + 1000*e.v + 10000*f.v + 100000*g.v AS n "
    "FROM d a, d b, d c, d e, d f, d g)"
)
MEMORY = 100_000_000


def test_a_sort_larger_than_memory_goes_to_disk_and_is_right(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    wide = f"{MILLION} SELECT n, repeat('x', 250) AS filling FROM m ORDER BY (n * 7919) % 1000003"
    with fl.connect(serve(limits=ServerLimits(memory_bytes=MEMORY)).uri) as client:
        found = query(client, wide)
        assert query(client, "SELECT 1 AS n").to_pydict() == {"n": [1]}
    assert found.nbytes > 2 * MEMORY
    keys = [n * 7919 % 1000003 for n in found["n"].to_pylist()]
    assert keys == sorted(keys)
    assert found["n"].to_pylist().count(0) == 1


def test_what_cannot_go_to_disk_is_refused_and_the_server_goes_on(serve: Serve) -> None:
    joined = (
        f"{MILLION} SELECT count(*) FROM m a JOIN (SELECT n, repeat('x', 200) AS t FROM m) b "
        "ON a.n = b.n WHERE b.t <> ''"
    )
    with fl.connect(serve(limits=ServerLimits(memory_bytes=8_000_000)).uri) as client:
        with pytest.raises((pa.ArrowException, fl.FlightError), match="needs more memory"):
            query(client, joined)
        assert query(client, "SELECT 1 AS n").to_pydict() == {"n": [1]}


def test_the_maintenance_thread_compacts_and_sweeps(
    serve: Serve, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        with graph.transaction() as txn:
            txn.insert("Person", [{"name": f"p{number}"}])
    monkeypatch.setattr(maintenance_thread, "LOOK_SECONDS", 0.1)
    before = graph.snapshot().commit
    over = Path(graph.uri, "__results", "1000-old-000000.arrow")
    over.parent.mkdir(parents=True)
    over.write_bytes(b"")
    serve(optimize_seconds=0.2)
    until = time.monotonic() + 30
    while graph.snapshot().commit == before or over.exists():
        assert time.monotonic() < until
        time.sleep(0.1)
    assert graph.snapshot().count("Person") == 15
