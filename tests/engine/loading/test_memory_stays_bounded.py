"""Inputs of any size stream through bounded memory."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from engine.loading.cases import GARDEN
from omnigraph.loading import read_columnar, read_ndjson
from omnigraph.schema import compile_schema

ENGINE = Path(__file__).parents[3] / "engine"

PROGRAM = """
import io, resource
from omnigraph.loading import read_ndjson
from omnigraph.schema import compile_schema

catalog = compile_schema("node Person { name: String @key  age: I32?  city: String? }")
line = b'{"type":"Person","data":{"name":"%08d","age":42,"city":"x"}}\\n'

class Generated(io.RawIOBase):
    left, made = 200_000_000, 0
    def read(self, size=-1):
        if self.left <= 0:
            return b""
        rows = min(size, self.left) // 64 + 1
        self.left -= rows * 61
        self.made += rows
        return b"".join(line % i for i in range(self.made - rows, self.made))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

source = Generated()
before = peak()
rows = sum(typed.batch.num_rows for typed in read_ndjson(source, catalog))
assert rows == source.made, (rows, source.made)
print(peak() - before)
"""


@pytest.mark.slow
def test_a_stream_of_200_mb_needs_less_than_300_mb() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(ENGINE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 300


def test_short_records_of_a_wide_type_come_in_small_batches() -> None:
    catalog = compile_schema("node Wide { v: Vector(100000)? }")
    text = b'{"type":"Wide"}\n' * 2000
    sizes = [typed.batch.nbytes for typed in read_ndjson(io.BytesIO(text), catalog)]
    assert max(sizes) < 100 * 1024 * 1024
    assert sum(sizes) > 2000 * 400_000


def test_a_parquet_row_group_is_read_in_batches(tmp_path: Path) -> None:
    notes = pa.table({"note": pa.array(["some text"]).take(pa.array([0] * 500_000))})
    pa.parquet.write_table(notes, tmp_path / "notes.parquet", row_group_size=500_000)
    found = list(read_columnar(tmp_path / "notes.parquet", GARDEN.node("Visit")))
    assert sum(typed.batch.num_rows for typed in found) == 500_000
    assert max(typed.batch.num_rows for typed in found) <= 65_536
