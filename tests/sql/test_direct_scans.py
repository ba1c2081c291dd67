"""Plain scans are answered by the store alone, with the answers that duckdb gives."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import omnigraph
import omnigraph_sql
from omnigraph.errors import Cancelled, OmniGraphError
from omnigraph.storage.tables.readable_table import ReadableTable
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession
from omnigraph_sql.datafusion.result_stream import QueryExecution
from omnigraph_sql.session.statement import Statement
from sql.conftest import rows, table

TEXTS = ["it's", "a\\b", "é%", ""]
ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "small": pa.array([None if i % 7 == 0 else i - 20 for i in range(40)], pa.int32()),
        "big": pa.array([i * 2**58 // 40 for i in range(40)], pa.uint64()),
        "real": pa.array([None if i % 5 == 0 else i / 4 for i in range(40)]),
        "Name": pa.array([None if i % 6 == 0 else TEXTS[i % 4] for i in range(40)]),
        "on": pa.array([None if i % 9 == 0 else i % 2 == 0 for i in range(40)]),
    }
)  # fmt: skip
CONDITIONS = [
    "small = 3",
    "small <> 3",
    "NOT (small = 3)",
    "3 < small",
    "small >= -5 AND real < 7.5",
    "small = 3 OR real IS NULL",
    "NOT (small > 0 OR real > 5)",
    "small IN (1, 2, 19)",
    "small NOT IN (1, 2, 19)",
    "small BETWEEN -3 AND 4",
    "NOT small BETWEEN -3 AND 4",
    "\"Name\" = 'it''s'",
    "\"Name\" <> 'a\\b'",
    "\"Name\" IN ('é%', '')",
    '"Name" IS NOT NULL AND NOT (small IS NULL)',
    "real = 2.25",
    "real > 3",
    "real <= 1e1",
    "big > 0 AND id < 30",
]


class Both:
    def __init__(self, root: str) -> None:
        self.ours = omnigraph_sql.connect(omnigraph.init(root, "node Unused { k: String? }"))
        self.ours.ingest("t", ROWS.to_reader(), "create")
        self.duckdb = duckdb.connect()
        self.duckdb.register("given", ROWS)
        self.duckdb.execute("CREATE TABLE t AS SELECT * FROM given")

    def agree(self, sql: str) -> None:
        wanted = sorted(map(repr, self.duckdb.execute(sql).fetchall()))
        found = sorted(repr(tuple(row.values())) for row in rows(self.ours, sql))
        assert found == wanted, sql

    def is_direct(self, sql: str) -> bool:
        statement = self.ours.prepare(sql)
        assert isinstance(statement, Statement)
        return statement._plan().direct is not None


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    found = Both(str(tmp_path_factory.mktemp("direct") / "g.omni"))
    yield found
    found.duckdb.close()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_plain_condition_is_the_stores_and_answers_as_duckdb(both: Both, condition: str) -> None:
    sql = f"SELECT id, real AS r, small FROM t WHERE {condition}"
    assert both.is_direct(sql)
    both.agree(sql)


def test_random_conditions_answer_as_in_duckdb(both: Both) -> None:
    dice = random.Random(7)
    for _ in range(60):
        parts = dice.sample(CONDITIONS, 3)
        sql = f"SELECT * FROM t WHERE ({parts[0]}) OR NOT (({parts[1]}) AND ({parts[2]}))"
        assert both.is_direct(sql)
        both.agree(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t WHERE small = 3000000000",
        "SELECT * FROM t WHERE small > 1.5",
        "SELECT * FROM t WHERE big > -1",
        "SELECT * FROM t WHERE id = small + 20",
        "SELECT * FROM t WHERE (small = 3) IS NULL",
        "SELECT * FROM t WHERE \"Name\" LIKE 'i%'",
        "SELECT id + 1 FROM t",
        "SELECT id, id AS again FROM t WHERE id < 3",
        "SELECT * FROM t WHERE coalesce(small, 1) = 1",
        'SELECT * FROM t WHERE "on"',
        "SELECT DISTINCT small FROM t",
        "SELECT count(*) FROM t WHERE small = 3",
    ],
)
def test_what_is_more_than_plain_is_the_engines(both: Both, sql: str) -> None:
    assert not both.is_direct(sql)
    if "again" not in sql:
        both.agree(sql)
    else:
        assert table(both.ours, sql).num_rows == 3


def _nested(depth: int) -> str:
    return (
        f"(small <> {depth} {'AND' if depth % 2 else 'OR'} {_nested(depth - 1)})"
        if depth
        else "id > 1"
    )


def test_long_conditions_are_the_stores_and_deep_ones_the_engines(both: Both) -> None:
    for word, compared in ((" AND ", "<>"), (" OR ", "=")):
        long = word.join(f"small {compared} {number}" for number in range(300))
        assert both.is_direct(f"SELECT id FROM t WHERE {long}")
        both.agree(f"SELECT id FROM t WHERE {long}")
    for depth in (5, 10, 11, 12, 20):
        both.agree(f"SELECT id FROM t WHERE {_nested(depth)}")
        both.agree(f"SELECT id FROM t WHERE {'NOT (' * depth}small = 3{')' * depth}")
    assert not both.is_direct(f"SELECT id FROM t WHERE {_nested(20)}")


def test_columns_that_an_alias_names_anew_are_those_of_the_alias(both: Both) -> None:
    both.ours.execute("CREATE TABLE swapped AS SELECT 1 AS x, 2 AS y, 3 AS k")
    sql = "SELECT x FROM swapped AS a(y, x, k) WHERE y = 1"
    assert rows(both.ours, sql) == [{"x": 2}]


@pytest.mark.parametrize("number", ["0.3", "2.675", "0.7", "1e-3", "-0.1", "123456789.123456789"])
def test_a_double_is_what_was_written_on_every_way(both: Both, number: str) -> None:
    both.ours.execute("CREATE OR REPLACE TABLE f (v DOUBLE)")
    both.ours.execute(f"INSERT INTO f VALUES ({number}), (NULL)")
    wanted = float(number)
    assert {row["v"] for row in rows(both.ours, "SELECT v FROM f")} == {wanted, None}
    for condition in ("v = {}", "{} = v", "v IN ({}, 5.5)", "v BETWEEN {} AND {}", "v >= {}"):
        where = condition.replace("{}", number)
        assert both.is_direct(f"SELECT v FROM f WHERE {where}")
        assert rows(both.ours, f"SELECT v FROM f WHERE {where}") == [{"v": wanted}]
        assert rows(both.ours, f"SELECT v, 1 AS o FROM f WHERE {where}") == [{"v": wanted, "o": 1}]
    assert rows(both.ours, "SELECT v, 1 AS o FROM f WHERE v = ?", [wanted])


def test_limits_and_parameters(both: Both) -> None:
    assert len(rows(both.ours, "SELECT id FROM t WHERE small > 0 LIMIT 3 OFFSET 2")) == 3
    sql = 'SELECT id FROM t WHERE "Name" = ? AND id < ? LIMIT ?'
    assert both.is_direct(sql)
    found = rows(both.ours, sql, ["it's", 20, 2])
    assert len(found) == 2
    assert rows(both.ours, sql, ["' OR 1=1 --", 20, 5]) == []
    assert rows(both.ours, "SELECT id FROM t WHERE small = ?", [None]) == []
    assert len(rows(both.ours, "SELECT id FROM t WHERE small > $1", [1.5])) == 16
    assert rows(both.ours, "SELECT id AS k FROM t WHERE :x = id", {"x": 4}) == [{"k": 4}]


def test_slices_together_are_the_whole(both: Both) -> None:
    statement = both.ours.prepare("SELECT id FROM t WHERE small IS NOT NULL")
    of = statement.slices(4)
    parts = [statement.read_slice(i, of).read_all().column(0).to_pylist() for i in range(of)]
    whole = [row["id"] for row in rows(both.ours, "SELECT id FROM t WHERE small IS NOT NULL")]
    assert sorted(sum(parts, [])) == sorted(whole)


def test_old_names_blobs_and_other_moments_are_read_as_before(tmp_path: Path) -> None:
    schema = "node Doc { slug: String @key  data: Blob?  n: I32? }"
    session = omnigraph_sql.connect(omnigraph.init(str(tmp_path / "g.omni"), schema))
    session.execute(
        "INSERT INTO Doc (slug, data, n) VALUES ('a', decode('00ff', 'hex'), 1), ('b', NULL, 2)"
    )
    assert rows(session, "SELECT data FROM Doc WHERE slug = 'a'") == [{"data": b"\x00\xff"}]
    session.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS b")
    session.execute("ALTER TABLE t RENAME COLUMN a TO c")
    assert rows(session, "SELECT c, b FROM t WHERE c = 1") == [{"c": 1, "b": "x"}]
    commit = session.graph.snapshot("main").commit
    session.execute("DELETE FROM Doc WHERE n = 2")
    assert len(rows(session, f'SELECT slug FROM "main@{commit}".nodes.Doc WHERE n >= 1')) == 2
    assert len(rows(session, "SELECT slug FROM Doc WHERE n >= 1")) == 1


def test_a_scan_can_be_cancelled(both: Both) -> None:
    reader = both.ours.execute("SELECT * FROM t")
    assert isinstance(reader, pa.RecordBatchReader)
    both.ours.cancel()
    with pytest.raises(Cancelled):
        reader.read_all()


def test_a_scan_that_waits_for_the_store_can_be_cancelled() -> None:
    schema, store = pa.schema([("a", pa.int64())]), threading.Event()

    def slow() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"a": [1]}, schema)
        store.wait(20)

    running, ended = QueryExecution(), []
    batches = running.scanned(pa.RecordBatchReader.from_batches(schema, slow()), ["a"])
    assert next(batches).num_rows == 1

    def wait() -> None:
        try:
            next(batches)
        except Cancelled as error:
            ended.append(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    running.cancel()
    waiting.join(5)
    store.set()
    assert len(ended) == 1


def test_a_scan_that_fails_says_so_and_one_left_alone_ends() -> None:
    schema = pa.schema([("a", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"a": [1]}, schema)

    def failing() -> Iterator[pa.RecordBatch]:
        yield batch
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(schema, failing())
    with pytest.raises(OmniGraphError, match="the disk is gone"):
        list(QueryExecution().scanned(reader, ["a"]))
    before = threading.enumerate()
    left = QueryExecution().scanned(pa.RecordBatchReader.from_batches(schema, [batch] * 50), ["a"])
    next(left)
    (reading,) = [thread for thread in threading.enumerate() if thread not in before]
    left.close()  # type: ignore[attr-defined]
    reading.join(5)
    assert not reading.is_alive()


def test_a_small_version_is_read_once_and_a_newer_one_anew(both: Both) -> None:
    engine = both.ours.datafusion
    both.ours.execute("CREATE TABLE little AS SELECT 1 AS a, 'x' AS b")
    sql = "SELECT a + 1 AS more FROM little WHERE b = 'x'"
    assert rows(both.ours, sql) == [{"more": 2}]
    held = engine._cached_bytes
    assert held > 0
    assert rows(both.ours, sql) == [{"more": 2}]
    assert engine._cached_bytes == held
    both.ours.execute("UPDATE little SET a = 5")
    assert rows(both.ours, sql) == [{"more": 6}]
    both.ours.execute("DELETE FROM little")
    assert rows(both.ours, sql) == []


def test_a_plain_scan_holds_nothing_in_memory(both: Both) -> None:
    both.ours.execute("CREATE TABLE untouched AS SELECT 1 AS a, 'x' AS b")
    held = both.ours.datafusion._cached_bytes
    assert rows(both.ours, "SELECT a FROM untouched WHERE b = 'x'") == [{"a": 1}]
    assert both.ours.datafusion._cached_bytes == held
    assert rows(both.ours, "SELECT a + 1 AS c FROM untouched WHERE b = 'x'") == [{"c": 2}]
    assert both.ours.datafusion._cached_bytes > held


def test_a_table_of_few_long_rows_is_not_read_to_learn_that(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(3)
    texts = pa.array([dice.randbytes(6000).hex() for _ in range(2000)])
    both.ours.ingest("wide", pa.table({"a": range(2000), "w": texts}).to_reader(), "create")
    read: list[str] = []
    scan = ReadableTable.scan

    def counted(self: ReadableTable, *given: Any, **more: Any) -> pa.RecordBatchReader:  # noqa: ANN401
        read.append(self.address)
        return scan(self, *given, **more)

    monkeypatch.setattr(ReadableTable, "scan", counted)
    assert rows(both.ours, "SELECT max(a) AS m FROM wide") == [{"m": 1999}]
    assert read == []


def test_held_versions_make_room_for_those_read_last(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DataFusionSession()
    monkeypatch.setattr("omnigraph_sql.datafusion.datafusion_session.CACHED_BYTES", 40_000)
    names = []
    for number in range(6):
        given = pa.table({"a": pa.array(range(1500), pa.int64())})
        both.ours.ingest(f"held_{number}", given.to_reader(), "create")
        statement = both.ours.prepare(f"SELECT a + 1 FROM held_{number}")
        assert isinstance(statement, Statement)
        names.append(engine.table(statement._plan().tables[0]))
        assert 0 < engine._cached_bytes <= 40_000
    assert [name in engine._tables for name in names] == [False] * 3 + [True] * 3


def test_a_remembered_plan_outlives_what_was_held(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.ours.execute("CREATE TABLE first AS SELECT 1 AS a")
    sql = "SELECT a + ? AS c FROM first"
    assert rows(both.ours, sql, [1]) == [{"c": 2}]
    monkeypatch.setattr("omnigraph_sql.datafusion.datafusion_session.CACHED_BYTES", 1)
    both.ours.execute("CREATE TABLE second AS SELECT 1 AS a")
    assert rows(both.ours, "SELECT a + 1 AS c FROM second") == [{"c": 2}]
    assert 0 < both.ours.datafusion._cached_bytes < 100
    assert rows(both.ours, sql, [2]) == [{"c": 3}]
