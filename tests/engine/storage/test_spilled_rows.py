"""Many rows go to a file that is deleted with them; few stay in memory."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.common.spilled_rows import SpillingRows, TempFile

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string())])


def part(start: int) -> pa.Table:
    numbers = range(start, start + 10)
    return pa.table({"n": numbers, "t": [str(n) for n in numbers]}, schema=SCHEMA)


@pytest.mark.parametrize("memory_bytes", [0, 500, 1 << 20])
def test_rows_come_back_in_order(
    memory_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = SpillingRows(SCHEMA, TempFile(SCHEMA), memory_bytes)
    parts = [part(start) for start in range(0, 100, 10)]
    for each in parts:
        rows.append(each)
    rows.finish()
    assert rows.rows == 100
    assert rows.spilled == (memory_bytes < 1 << 20) == bool(list(tmp_path.iterdir()))
    assert rows.table() == pa.concat_tables(parts)
    assert pa.concat_tables(rows.scan(["t"])) == rows.table().select(["t"])
    del rows
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_no_rows_are_an_empty_table() -> None:
    rows = SpillingRows(SCHEMA, TempFile(SCHEMA), 0)
    rows.append(SCHEMA.empty_table())
    rows.finish()
    assert not rows.spilled
    assert rows.table() == SCHEMA.empty_table()
