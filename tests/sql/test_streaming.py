"""Results stream in batches of bounded size, can be stopped, and leave in plain types."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import Cancelled, InvalidInput
from omnigraph.storage.tables.readable_table import BATCH_ROWS
from sql.conftest import rows, table

ROWS = 300_000


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> omnigraph_sql.Connection:
    """A plain table of many rows, in three appends."""
    graph = omnigraph.init(str(tmp_path_factory.mktemp("numbers") / "g"), "node P { k: I64? }")
    values = np.arange(ROWS)
    whole = pa.table({"n": values, "s": pa.array(values.astype(str)), "g": values % 10})
    for part in range(3):
        with graph.transaction() as txn:
            if part == 0:
                txn.create_table("public.numbers", whole.schema)
            txn.append("public.numbers", whole.slice(part * ROWS // 3, ROWS // 3))
    return omnigraph_sql.connect(graph)


def test_batches_are_small_and_complete(numbers: omnigraph_sql.Connection) -> None:
    reader = numbers.execute("SELECT n FROM numbers")
    assert isinstance(reader, pa.RecordBatchReader)
    sizes, total = [], 0
    for batch in reader:
        sizes.append(batch.num_rows)
        total += int(np.sum(batch.column(0).to_numpy()))
    assert max(sizes) <= BATCH_ROWS
    assert (sum(sizes), total) == (ROWS, ROWS * (ROWS - 1) // 2)


def test_a_running_statement_can_be_cancelled(numbers: omnigraph_sql.Connection) -> None:
    reader = numbers.execute(
        "SELECT count(*) FROM generate_series(1, 1000000000000) AS t(x) WHERE x % 7 = 8"
    )
    assert isinstance(reader, pa.RecordBatchReader)
    timer = threading.Timer(0.3, numbers.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        reader.read_all()
    assert time.monotonic() - started < 20
    timer.join()
    assert rows(numbers, "SELECT 1 AS one") == [{"one": 1}]


def test_a_statement_that_was_cancelled_before_it_is_read_stays_so(
    numbers: omnigraph_sql.Connection,
) -> None:
    reader = numbers.execute("SELECT n FROM numbers")
    assert isinstance(reader, pa.RecordBatchReader)
    numbers.cancel()
    with pytest.raises(Cancelled):
        reader.read_all()


def test_no_view_type_leaves(numbers: omnigraph_sql.Connection) -> None:
    found = table(
        numbers,
        "SELECT substr(s, 1, 2) AS a, md5(s) AS b, concat(s, 'x') AS c, NULL AS d, "
        "[substr(s, 1, 1)] AS e, upper(s) AS f FROM numbers LIMIT 3",
    )
    text = pa.string()
    assert [f.type for f in found.schema] == [text, text, text, text, pa.list_(text), text]


def test_slices_are_the_whole_and_no_row_twice(numbers: omnigraph_sql.Connection) -> None:
    statement = numbers.prepare("SELECT n, s FROM numbers WHERE g = 3")
    count = statement.slices(8)
    assert count == 3
    parts = [
        statement.read_slice(i, count).read_all().column("n").to_pylist() for i in range(count)
    ]
    assert all(parts)
    assert sorted(sum(parts, [])) == list(range(3, ROWS, 10))


def test_slices_stay_at_the_pinned_moment(numbers: omnigraph_sql.Connection) -> None:
    statement = numbers.prepare("SELECT n FROM numbers WHERE n < 5")
    before = statement.pinned()
    with numbers.graph.transaction() as txn:
        txn.append("public.numbers", pa.table({"n": [-1], "s": ["x"], "g": [0]}))
    assert statement.pinned() == before
    assert statement.read_slice(0, 1).read_all().num_rows == 5
    whole = statement.execute()
    assert isinstance(whole, pa.RecordBatchReader)
    assert whole.read_all().num_rows == 6


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM numbers",
        "SELECT n FROM numbers ORDER BY n",
        "SELECT n FROM numbers LIMIT 5",
        "SELECT DISTINCT g FROM numbers",
        "SELECT a.n FROM numbers a JOIN numbers b ON a.n = b.n",
        "SELECT n, row_number() OVER (ORDER BY n) FROM numbers",
        "SELECT n FROM numbers WHERE n IN (SELECT n FROM numbers)",
        "SELECT n FROM numbers UNION ALL SELECT n FROM numbers",
        "WITH t AS (SELECT n FROM numbers LIMIT 5) SELECT n FROM t",
        "SELECT 1",
    ],
)
def test_what_looks_at_more_than_one_row_is_not_sliced(
    numbers: omnigraph_sql.Connection, sql: str
) -> None:
    statement = numbers.prepare(sql)
    assert statement.slices(4) == 1
    with pytest.raises(InvalidInput):
        statement.read_slice(0, 2)


def test_a_result_that_is_given_up_is_forgotten(numbers: omnigraph_sql.Connection) -> None:
    reader = numbers.execute("SELECT n FROM numbers")
    assert isinstance(reader, pa.RecordBatchReader)
    gone = weakref.ref(reader)
    reader.read_next_batch()
    del reader
    gc.collect()
    assert gone() is None
    assert rows(numbers, "SELECT 1 AS one") == [{"one": 1}]


def test_memory_is_bounded_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_SQL_MEMORY", str(1 << 20))
    connection = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g"), "node P { k: I64? }"))
    with pytest.raises(InvalidInput, match="more memory"):
        rows(
            connection,
            "SELECT array_agg(a.value || 'some text that takes room') FROM "
            "generate_series(1, 2000000) AS a(value)",
        )
