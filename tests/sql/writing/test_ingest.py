"""Arrow rows loaded straight into tables and types, in every mode, in one commit."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound, OmniGraphError
from omnigraph.storage.tables import write_buffer
from sql.writing.session import Session

ROWS = pa.table({"a": [1, 2], "b": ["x", None]})


def load(session: Session, rows: pa.Table, mode: str, table: str = "t", **place: object) -> int:
    return session.connection.ingest(table, rows.to_reader(), mode, **place)  # type: ignore[arg-type]


def test_each_mode_does_what_it_says(session: Session) -> None:
    before = session.commits()
    with pytest.raises(NotFound):
        load(session, ROWS, "append")
    assert load(session, ROWS, "create") == 2
    with pytest.raises(AlreadyExists):
        load(session, ROWS, "create")
    assert load(session, ROWS, "append") == 2
    assert load(session, ROWS, "create_append") == 2
    assert load(session, ROWS, "create_append", "u") == 2
    assert session.rows("SELECT count(*) FROM t") == [(6,)]
    assert load(session, pa.table({"z": [9]}), "replace") == 1
    assert session.rows("SELECT * FROM t") == [(9,)]
    with pytest.raises(InvalidInput):
        load(session, ROWS, "upsert")
    assert session.commits() == before + 5


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        (pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]), pa.string()),
        (pa.array([[1, 2], None, [3]], pa.list_view(pa.int64())), pa.list_(pa.int64())),
        (pa.array([[1, 2], None, []], pa.large_list_view(pa.int8())), pa.large_list(pa.int8())),
        (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
        (
            pa.array([[[1], None], None, [[], [2, 3]]], pa.list_(pa.list_view(pa.int64()))),
            pa.list_(pa.list_(pa.int64())),
        ),
        (
            pa.array([[[1], [2]], [[3], None]], pa.list_view(pa.list_view(pa.int64()))).slice(1),
            pa.list_(pa.list_(pa.int64())),
        ),
        (
            pa.array([[[9]], None, [[1, 2]]], pa.list_(pa.list_view(pa.int64()), 1)),
            pa.list_(pa.list_(pa.int64())),
        ),
        (
            pa.array(
                [{"x": [9]}, {"x": [1]}, None, {"x": None}],
                pa.struct([("x", pa.list_view(pa.int64()))]),
            ).slice(1),
            pa.struct([("x", pa.list_(pa.int64()))]),
        ),
        (
            pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
            pa.list_(pa.string()),
        ),
        (pa.array([Decimal("1.25"), None], pa.decimal32(5, 2)), pa.decimal128(5, 2)),
        (pa.array([Decimal("-1.5")], pa.decimal64(12, 1)), pa.decimal128(12, 1)),
        (
            pa.array([[Decimal("1.25")], None], pa.list_(pa.decimal32(5, 2))),
            pa.list_(pa.decimal128(5, 2)),
        ),
        (pa.array([["a"], None], pa.list_(pa.string_view(), 1)), pa.list_(pa.string())),
    ],
)
def test_other_layouts_of_the_same_values_are_kept_plainly(
    session: Session, values: pa.Array, stored: pa.DataType
) -> None:
    load(session, pa.table({"v": values}), "create")
    load(session, pa.table({"v": values}), "append")
    found = session.connection.execute("SELECT v FROM t")
    assert isinstance(found, pa.RecordBatchReader)
    assert found.schema.field("v").type == stored
    assert found.read_all()["v"].to_pylist() == values.to_pylist() * 2


def test_values_of_many_types_are_refused(session: Session) -> None:
    both = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    )
    with pytest.raises(InvalidInput, match="'v' holds unions"):
        load(session, pa.table({"v": both}), "create")


def test_columns_are_found_by_name(session: Session) -> None:
    load(session, ROWS, "create")
    assert load(session, pa.table({"B": ["y"], "A": [3]}), "append") == 1
    assert load(session, pa.table({"a": [4]}), "append") == 1
    with pytest.raises(NotFound):
        load(session, pa.table({"c": [1]}), "append")
    with pytest.raises(InvalidInput):
        load(session, pa.table({"a": ["many"]}), "append")
    assert session.rows("SELECT a, b FROM t ORDER BY a")[2:] == [(3, "y"), (4, None)]


def test_types_of_the_graph_are_loaded_too(session: Session) -> None:
    boats = pa.table({"name": ["Dot", "Eve"], "crew": [1, None]})
    assert load(session, boats, "append", "Boat", schema="nodes") == 2
    meets = pa.table({"src": ["Dot"], "dst": ["Eve"]})
    assert load(session, meets, "append", "Meets", schema="edges") == 1
    with pytest.raises(OmniGraphError):
        load(session, meets.set_column(1, "dst", [["nobody"]]), "append", "Meets", schema="edges")
    with pytest.raises(OmniGraphError):
        load(session, boats, "append", "Boat", schema="nodes")
    assert session.graph.snapshot().count("Boat") == 5
    assert load(session, meets, "replace", "Meets", schema="edges") == 1
    with pytest.raises(NotFound):
        load(session, boats, "create", "Ship", schema="nodes")


def test_other_branches_and_schemas_are_named(session: Session) -> None:
    session.run("CREATE BRANCH dev")
    session.run("CREATE SCHEMA s")
    load(session, ROWS, "create", catalog="dev")
    load(session, ROWS, "create", schema="s")
    assert session.rows("SELECT count(*) FROM dev.public.t") == [(2,)]
    assert [t.name for t in session.graph.tables()] == ["s.t"]
    with pytest.raises(NotFound):
        load(session, ROWS, "create", schema="nowhere")


def test_rows_in_a_transaction_go_with_it(session: Session) -> None:
    session.run("BEGIN")
    load(session, ROWS, "create")
    assert session.rows("SELECT count(*) FROM t") == [(2,)]
    session.run("ROLLBACK")
    assert session.graph.tables() == []


def test_a_temporary_table_ends_with_its_session(session: Session) -> None:
    load(session, ROWS, "create", temporary=True)
    session.connection.close()
    assert session.graph.tables() == []


def test_a_stream_that_breaks_leaves_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1 << 16)
    schema = pa.schema([("a", pa.int64())])

    def broken() -> Iterator[pa.RecordBatch]:
        for start in range(0, 100_000, 10_000):
            yield pa.record_batch({"a": list(range(start, start + 10_000))}, schema)
        raise OSError("the line is dead")

    before = session.commits()
    reader = pa.RecordBatchReader.from_batches(schema, broken())
    with pytest.raises((OSError, pa.ArrowException, OmniGraphError)):
        session.connection.ingest("t", reader, "create")
    assert session.commits() == before
    assert session.graph.tables() == []
    session.graph.collect()
    assert session.graph.collect(dry_run=True).files == 0
