"""Which rows of a fragment are gone is read and written as Lance does it."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings

import omnigraph
from omnigraph.errors import Corruption
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.deletion_vectors import (
    LISTED,
    FileType,
    Offsets,
    read_offsets,
    write_offsets,
)
from omnigraph.storage.tables.tables import MARKED_BY_LANCE
from omnigraph.storage.tables.version_diff import all_rows, differing_rows

ROWS = 200_000


@st.composite
def some_offsets(draw: st.DrawFn) -> Offsets:
    """Few or many, scattered or side by side, over several containers of a bitmap."""
    start = draw(st.integers(0, ROWS - 1))
    step = draw(st.sampled_from([1, 2, 7, 100, 70_000]))
    count = draw(st.integers(1, ROWS))
    return np.arange(start, ROWS, step, dtype=np.uint32)[:count]


@given(some_offsets())
@example(np.arange(LISTED, dtype=np.uint32))
@example(np.arange(LISTED + 1, dtype=np.uint32))
@example(np.arange(60_000, 60_000 + 5536 + 4096, dtype=np.uint32))
@example(np.arange(60_000, 60_000 + 5536 + 4097, dtype=np.uint32))
def test_what_is_written_is_read_back(offsets: Offsets) -> None:
    contents, file_type = write_offsets(offsets)
    assert file_type == ("array" if len(offsets) <= LISTED else "bitmap")
    assert np.array_equal(read_offsets(contents, file_type), offsets)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> lance.LanceDataset:
    path = tmp_path_factory.mktemp("numbers") / "table"
    return lance.write_dataset(pa.table({"n": np.arange(ROWS)}), path)


@settings(max_examples=25)
@given(low=st.integers(0, ROWS - 1), size=st.integers(1, ROWS), step=st.integers(1, 50))
def test_what_lance_writes_is_read(
    numbers: lance.LanceDataset, low: int, size: int, step: int
) -> None:
    wanted = np.arange(low, min(low + size, ROWS), step, dtype=np.uint32)
    if len(wanted) == ROWS:
        return
    condition = f"n >= {low} AND n < {low + size} AND (n - {low}) % {step} = 0"
    marked = numbers.get_fragments()[0].delete(condition).deletion_file
    stored = (Path(numbers.uri) / marked.path(0)).read_bytes()
    assert np.array_equal(read_offsets(stored, marked.file_type), wanted)


def test_runs_of_a_bitmap_are_read() -> None:
    def u16(*values: int) -> bytes:
        return np.array(values, "<u2").tobytes()

    # Two containers, the second one made of the runs 5-7 and 100: no places for so few.
    stored = u16(12347, 1) + bytes([0b10]) + u16(0, 1, 1, 3) + u16(3, 9) + u16(2, 5, 2, 100, 0)
    expected = [3, 9, *(65536 + n for n in (5, 6, 7, 100))]
    assert read_offsets(stored, "bitmap").tolist() == expected


@pytest.mark.parametrize("file_type", ["array", "bitmap"])
@pytest.mark.parametrize("stored", [b"", b"nothing of the kind"])
def test_other_contents_are_damage(stored: bytes, file_type: FileType) -> None:
    with pytest.raises(Corruption, match="deletion file"):
        read_offsets(stored, file_type)


@pytest.mark.parametrize("gone", [MARKED_BY_LANCE, MARKED_BY_LANCE + 1, LISTED + 1, 150_000])
def test_lance_reads_a_table_without_the_rows(tmp_path: Path, gone: int) -> None:
    graph = omnigraph.init(str(tmp_path / "graph"), "node Number { n: I64 @key }")
    graph.load(pa.table({"n": np.arange(ROWS)}), type="Number", mode="append")
    tables, pointer = graph._store.tables, graph._store.head("main").tables["node:Number"]
    version = TableVersion(pointer.location, pointer.lance)
    rng = np.random.default_rng(gone)
    places = rng.permutation(ROWS).astype(np.uint64)
    first, second = places[:gone], places[gone : gone + MARKED_BY_LANCE + 1]
    before = tables.read(version, columns=["n"], addresses=True)
    for lost in (first, second):
        version = tables.next(version, deleted=lost)
    left = tables.read(version, columns=["n"])
    kept = ~np.isin(before.column("_rowaddr").to_numpy(), np.concatenate([first, second]))
    assert np.array_equal(left.column("n").to_numpy(), before.column("n").to_numpy()[kept])
    assert tables.count_rows(version) == all_rows(tables, version).rows == int(kept.sum())
    old, new = differing_rows(tables, TableVersion(pointer.location, pointer.lance), version)
    assert np.array_equal(old.addresses, np.union1d(first, second))
    assert new.rows == 0
