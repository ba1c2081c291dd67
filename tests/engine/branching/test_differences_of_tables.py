"""What became of a table's entities is found by reading what its two versions do not share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnigraph
from omnigraph import Graph
from omnigraph.branching.compare import range_partition
from omnigraph.branching.compare.range_partition import by_ranges
from omnigraph.branching.compare.table_diff import TableState, table_changes
from omnigraph.errors import Corruption
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.refs.moments import resolve

PEOPLE = "node Person { name: String @key  age: I64?  note: String?  face: Vector(64)? }"
ROWS = 1_000_000
CHANGED = 1_000


def image(graph: Graph, at: str, table_key: str = "node:Person") -> TableState:
    moment = resolve(graph._store, at)
    pointer = moment.tables[table_key]
    type_ = graph._store.catalog(moment.schema).type_for(table_key)
    return TableState(type_, TableVersion(pointer.location, pointer.lance))


def people(count: int) -> pa.RecordBatchReader:
    """Wide rows, some at a time: about 300 bytes each, most of them an embedding."""
    random = np.random.default_rng(7)

    def batch(start: int, rows: int) -> pa.RecordBatch:
        numbers = np.arange(start, start + rows)
        faces = pa.array(random.random(rows * 64, dtype=np.float32))
        return pa.RecordBatch.from_pydict(
            {
                "name": pa.array([f"person-{i:07d}" for i in numbers]),
                "age": pa.array(numbers % 100),
                "note": pa.array([f"note of {i * 7919 % count}" for i in numbers]),
                "face": pa.FixedSizeListArray.from_arrays(faces, 64),
            }
        )

    step = min(count, 50_000)
    return pa.RecordBatchReader.from_batches(
        batch(0, 1).schema, (batch(start, step) for start in range(0, count, step))
    )


def update(graph: Graph, numbers: range) -> None:
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": f"person-{i:07d}", "age": -1} for i in numbers])


@pytest.mark.slow
def test_a_thousand_changes_in_a_million_rows_read_less_than_a_twentieth(root: str) -> None:
    graph = omnigraph.init(root, PEOPLE)
    graph.load(people(ROWS), type="Person", mode="overwrite")
    start = graph.snapshot().commit
    size = sum(path.stat().st_size for path in Path(root).rglob("data/*.lance"))
    update(graph, range(0, ROWS, ROWS // CHANGED))

    fresh = omnigraph.open(root)
    before, after = image(fresh, start), image(fresh, "main")
    handles = [fresh._store.tables.handle(side.version).dataset for side in (before, after)]
    for handle in handles:
        handle.io_stats_incremental()
    (changes,) = table_changes(fresh._store.tables, before, after)
    read = sum(handle.io_stats_incremental().read_bytes for handle in handles)

    assert changes.counts() == {"insert": 0, "update": CHANGED, "delete": 0}
    assert changes.updated_before.num_rows == CHANGED
    assert 0 < read < size / 20, f"{read} of {size} bytes"


def test_files_that_both_versions_share_are_never_opened(root: str) -> None:
    graph = omnigraph.init(root, PEOPLE)
    graph.load(people(20_000), type="Person", mode="overwrite")
    start = graph.snapshot().commit
    shared = set(Path(root).rglob("nodes/*/data/*.lance"))
    with graph.transaction() as txn:
        txn.insert("Person", [{"name": "new", "age": 1}])
    for path in shared:
        path.unlink()

    fresh = omnigraph.open(root)
    tables = fresh._store.tables
    (changes,) = table_changes(tables, image(fresh, start), image(fresh, "main"))
    assert changes.inserted.column("id").to_pylist() == ["new"]
    assert changes.count == 1
    with pytest.raises(Corruption):
        fresh.snapshot().scan("Person").read_all()


def test_many_rows_that_went_from_one_fragment_are_found_too(root: str) -> None:
    graph = omnigraph.init(root, PEOPLE)
    graph.load(people(20_000), type="Person", mode="overwrite")
    start = graph.snapshot().commit
    gone = [f"person-{i:07d}" for i in range(0, 20_000, 2)]
    with graph.transaction() as txn:
        txn.delete("Person", gone)
    (changes,) = table_changes(graph._store.tables, image(graph, start), image(graph, "main"))
    assert changes.deleted.column("id").to_pylist() == gone
    (back,) = table_changes(graph._store.tables, image(graph, "main"), image(graph, start))
    assert back.inserted.equals(changes.deleted)


def test_branches_that_delete_from_one_fragment_differ_by_those_rows(root: str) -> None:
    graph = omnigraph.init(root, PEOPLE)
    graph.load(people(1_000), type="Person", mode="overwrite")
    graph.create_branch("other")
    for branch, number in (("main", 1), ("other", 2)):
        with graph.transaction(branch) as txn:
            txn.delete("Person", ["person-0000000", f"person-{number:07d}"])
    (changes,) = table_changes(graph._store.tables, image(graph, "main"), image(graph, "other"))
    assert changes.inserted.column("id").to_pylist() == ["person-0000001"]
    assert changes.deleted.column("id").to_pylist() == ["person-0000002"]


def test_many_changes_come_in_parts_of_ascending_ids(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = omnigraph.init(root, PEOPLE)
    graph.load(people(5_000), type="Person", mode="overwrite")
    start = graph.snapshot().commit
    update(graph, range(0, 5_000, 5))
    with graph.transaction() as txn:
        txn.insert("Person", [{"name": f"new-{i}"} for i in range(100)])
        txn.delete("Person", [f"person-{i:07d}" for i in range(1, 500, 5)])
    sides = image(graph, start), image(graph, "main")
    (whole,) = table_changes(graph._store.tables, *sides)
    monkeypatch.setattr(range_partition, "RANGE_ROWS", 100)
    parts = list(table_changes(graph._store.tables, *sides))
    assert len(parts) > 5
    for name in ("inserted", "deleted", "updated_before", "updated_after"):
        together = pa.concat_tables([getattr(part, name) for part in parts])
        assert together.equals(getattr(whole, name).combine_chunks()), name


def test_large_blobs_make_small_parts(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.init(root, "node Person { name: String @key  photo: Blob? }")
    photos = pa.table(
        {
            "name": [f"{i:02d}" for i in range(40)],
            "photo": pa.array([bytes([i]) * 100_000 for i in range(40)], pa.large_binary()),
        }
    )
    with graph.transaction() as txn:
        txn.insert("Person", photos)
    monkeypatch.setattr(range_partition, "RANGE_BYTES", 1_000_000)
    parts = list(table_changes(graph._store.tables, None, image(graph, "main")))
    assert len(parts) >= 4
    together = pa.concat_tables([part.inserted for part in parts])
    assert together.column("photo").to_pylist() == photos.column("photo").to_pylist()


class Listed:
    """Rows held in memory, as a source of ranges."""

    def __init__(self, ids: list[str]) -> None:
        self._ids = ids
        self.rows, self.bytes = len(ids), 0

    def read(self, schema: pa.Schema) -> list[pa.RecordBatch]:
        return [
            pa.RecordBatch.from_pydict({"id": self._ids[at : at + 3]}, schema=schema)
            for at in range(0, len(self._ids), 3)
        ]


ids = st.lists(st.text(max_size=2), max_size=30, unique=True)


@given(left=ids, right=ids, size=st.integers(1, 8))
def test_ranges_bring_equal_ids_together_in_order(
    left: list[str], right: list[str], size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_partition, "RANGE_ROWS", size)
        schema = pa.schema([pa.field("id", pa.utf8(), nullable=False)])
        found = list(by_ranges(schema, Listed(left), Listed(right)))  # type: ignore[arg-type]
    columns = [[set(part[side].column("id").to_pylist()) for part in found] for side in (0, 1)]
    assert sorted(id_ for part in columns[0] for id_ in part) == sorted(left)
    assert sorted(id_ for part in columns[1] for id_ in part) == sorted(right)
    highest = b""
    for mine, others in zip(*columns, strict=True):
        encoded = sorted(id_.encode() for id_ in mine | others)
        assert not encoded or encoded[0] >= highest
        highest = encoded[-1] if encoded else highest
