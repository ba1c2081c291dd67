"""A load holds a bounded part of its input in memory, and spilling changes nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from cost.bulk import EDGES, NODES, load_apart, write_inputs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("load memory")]

SCALE = 0.1
PEAK_BYTES = 600 << 20
SPILL_BYTES = 1 << 20
OMNIGRAPH = ["omnigraph parquet", "omnigraph ndjson"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bulk")
    write_inputs(folder, SCALE)
    return folder


@pytest.mark.parametrize("system", OMNIGRAPH)
def test_a_load_stays_within_its_memory(inputs: Path, tmp_path: Path, system: str) -> None:
    loaded = load_apart(system, tmp_path / "graph", inputs)
    assert loaded.rows == round(NODES * SCALE) + round(EDGES * SCALE)
    assert loaded.peak_bytes <= PEAK_BYTES


@pytest.mark.parametrize("system", OMNIGRAPH)
def test_spilling_gives_the_same_contents(inputs: Path, tmp_path: Path, system: str) -> None:
    spill = {"BULK_SPILL_BYTES": str(SPILL_BYTES)}
    load_apart(system, tmp_path / "whole", inputs)
    load_apart(system, tmp_path / "spilled", inputs, spill)
    assert _contents(tmp_path / "whole") == _contents(tmp_path / "spilled")


def _contents(root: Path) -> dict[str, str]:
    """A digest of each type's rows in order; ids of edges are made up by each load and left out."""
    snapshot = omnigraph.open(root).snapshot()
    columns = {"Person": None, "Knows": ["src", "dst", "since", "weight", "kind"]}
    return {name: _digest(snapshot.scan(name, columns[name]).read_all()) for name in columns}


def _digest(rows: pa.Table) -> str:
    digest = hashlib.sha256()
    for column in rows.combine_chunks().columns:
        for chunk in column.chunks:
            digest.update("\n".join(map(str, chunk.to_pylist())).encode())
    return digest.hexdigest()
