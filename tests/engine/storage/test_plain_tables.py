"""Plain tables: any Arrow rows beside the graph, in the same branches, commits and promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    ConstraintViolation,
    ExpectedVersionMismatch,
    InvalidInput,
    NotFound,
    ReadSetConflict,
)
from omnigraph.storage.manifest.definitions import define
from omnigraph.storage.plain.plain_table import PlainTable, TableDeclaration
from omnigraph.storage.tables import write_buffer
from support.fixtures import unique_uri, use_environment
from support.graphs import boats
from support.object_stores import ObjectStore

SALES = pa.schema([("day", pa.date32()), ("item", pa.string()), ("price", pa.decimal128(10, 2))])
NUMBERS = pa.schema([("n", pa.int64())])


def made(root: str) -> omnigraph.Graph:
    graph = boats(root)
    with graph.transaction(message="numbers") as txn:
        txn.create_table("shop.numbers", NUMBERS)
        txn.append("shop.numbers", [{"n": n} for n in range(10)])
    return graph


def rows_of(graph: omnigraph.Graph, name: str, at: str = "main") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = graph.snapshot(at).plain_table(name).scan().read_all().to_pylist()
    return rows


def numbers(graph: omnigraph.Graph, at: str = "main") -> list[int]:
    return sorted(row["n"] for row in rows_of(graph, "shop.numbers", at))


def addresses(table: PlainTable, condition: str) -> np.ndarray[Any, np.dtype[np.uint64]]:
    found = table._tables.read(table.address, columns=["n"], condition=condition, addresses=True)
    picked: np.ndarray[Any, np.dtype[np.uint64]] = found.column("_rowaddr").to_numpy()
    return picked


# --------------------------------------------------------------------------- contents


def test_rows_come_back_as_they_went_in(root: str) -> None:
    graph = boats(root)
    sold = [{"day": None, "item": "rope", "price": Decimal("1.50")}]
    with graph.transaction(actor="ada", message="sales") as txn:
        txn.create_table("shop.sales", SALES)
        assert txn.append("shop.sales", sold) == 1
    assert rows_of(graph, "shop.sales") == sold
    (table,) = graph.tables()
    assert (table.name, table.rows, table.schema) == ("shop.sales", 1, SALES)
    assert graph.commits()[0].actor == "ada"
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None]).cast(pa.string_view()),
        pa.array([b"a", None], pa.binary_view()),
        pa.array(["a", None]).dictionary_encode(),
        pa.nulls(2),
        pa.array([[1, 2], None], pa.list_(pa.int32())),
        pa.array([{"a": 1, "b": ["x"]}, None]),
        pa.array([datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        pa.array([3661, None], pa.time64("us")),
        pa.array([Decimal("1.23"), None], pa.decimal128(38, 10)),
        pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
        pa.array([2**64 - 1, None], pa.uint64()),
    ],
    ids=lambda column: str(column.type),
)
def test_any_arrow_type_is_kept(root: str, column: pa.Array) -> None:
    graph = boats(root)
    given_rows = pa.table({"x": column})
    with graph.transaction() as txn:
        txn.create_table("t.x", given_rows.schema)
        txn.append("t.x", given_rows)
    read = graph.snapshot().plain_table("t.x").scan().read_all()
    assert read.column("x").to_pylist() == column.to_pylist()
    assert "view" not in str(read.schema)


@pytest.mark.parametrize("name", ["", "a.b", "_rowid", "_rowaddr", "a\nb"])
def test_columns_that_cannot_be_kept_are_refused(root: str, name: str) -> None:
    graph = boats(root)
    with pytest.raises(InvalidInput, match="name of a column"), graph.transaction() as txn:
        txn.create_table("t.x", pa.schema([(name, pa.int64())]))
    assert graph.tables() == []


@pytest.mark.parametrize("name", ["plain", ".x", "x.", "a.b\n"])
def test_names_that_cannot_be_tables_are_refused(root: str, name: str) -> None:
    graph = boats(root)
    with pytest.raises(InvalidInput, match="name of a table"), graph.transaction() as txn:
        txn.create_table(name, NUMBERS)


def test_values_that_do_not_fit_are_refused(root: str) -> None:
    graph = made(root)
    with pytest.raises(InvalidInput, match="'n' do not fit int64"), graph.transaction() as txn:
        txn.append("shop.numbers", [{"n": "many"}])
    with pytest.raises(InvalidInput, match="no column 'm'"), graph.transaction() as txn:
        txn.append("shop.numbers", [{"m": 1}])
    assert numbers(graph) == list(range(10))


# --------------------------------------------------------------------------- one commit


def test_tables_types_definitions_and_schema_become_visible_at_once(root: str) -> None:
    graph = made(root)
    before = len(graph.commits())
    source = graph.schema().source + "\nnode Port { name: String @key }\n"
    with graph.transaction(message="all at once") as txn:
        txn.apply_schema(source)
        txn.insert("Port", [{"name": "Riga"}])
        txn.insert("Boat", [{"name": "Dot"}])
        txn.append("shop.numbers", [{"n": 10}])
        txn.create_table("shop.more", NUMBERS)
        txn.plain.define(define("view", "shop.v", {"sql": "SELECT 1"}))
        assert graph.snapshot().version == before
    assert len(graph.commits()) == before + 1
    snapshot = graph.snapshot()
    assert snapshot.count("Port") == 1
    assert snapshot.count("Boat") == 4
    assert [table.name for table in snapshot.plain_tables()] == ["shop.more", "shop.numbers"]
    view = snapshot.definition("view", "shop.v")
    assert view is not None
    assert view.body == {"sql": "SELECT 1"}
    changed = ["node:Boat", "node:Port", "table:shop.more", "table:shop.numbers"]
    assert list(graph.commits()[0].changed) == changed
    assert graph.verify(rules=True).ok


def test_a_failed_transaction_leaves_nothing(root: str) -> None:
    graph = made(root)
    head = graph.snapshot().commit
    with pytest.raises(ConstraintViolation), graph.transaction() as txn:
        txn.append("shop.numbers", [{"n": 10}])
        txn.insert("Meets", [{"from": "Ada", "to": "nobody"}])
    assert graph.snapshot().commit == head
    assert numbers(graph) == list(range(10))


def test_what_was_written_is_read_within_the_transaction(root: str) -> None:
    graph = made(root)
    with graph.transaction() as txn:
        txn.append("shop.numbers", [{"n": 10}])
        assert txn.plain.table("shop.numbers").rows == 11
        txn.append("shop.numbers", [{"n": 11}])
        assert txn.plain.table("shop.numbers").rows == 12
        txn.drop_table("shop.numbers")
        assert txn.plain.names() == []
        with pytest.raises(NotFound, match=r"no table shop\.numbers"):
            txn.append("shop.numbers", [{"n": 1}])
        txn.create_table("shop.numbers", pa.schema([("other", pa.string())]))
    assert graph.tables()[0].schema.names == ["other"]
    assert graph.verify(rules=True).ok


def test_rows_are_exchanged_in_one_version(root: str) -> None:
    graph = made(root)
    with graph.transaction() as txn:
        table = txn.plain.table("shop.numbers")
        txn.plain.remove("shop.numbers", addresses(table, "n >= 7"))
        txn.append("shop.numbers", [{"n": 70}, {"n": 80}])
    assert numbers(graph) == [*range(7), 70, 80]
    assert graph.tables()[0].pointer.version == 2
    with graph.transaction() as txn:
        table = txn.plain.table("shop.numbers")
        txn.plain.remove("shop.numbers", addresses(table, "n < 100"))
    assert numbers(graph) == []
    assert graph.verify(rules=True).ok


def test_a_table_is_reshaped_renamed_cleared_and_dropped(root: str) -> None:
    graph = made(root)
    wider = pa.schema([("m", pa.float64()), ("note", pa.string())])
    with graph.transaction() as txn:
        txn.plain.reshape(
            "shop.numbers", wider, {"m": "n", "note": None}, TableDeclaration(comment="wide")
        )
        txn.plain.rename("shop.numbers", "shop.wide")
    (table,) = graph.tables()
    assert (table.name, table.schema, table.declaration.comment) == ("shop.wide", wider, "wide")
    assert rows_of(graph, "shop.wide")[3] == {"m": 3.0, "note": None}
    kept_place = graph.tables("main@v3")[0].pointer.location
    assert table.pointer.location == kept_place
    with graph.transaction() as txn:
        txn.create_table("shop.numbers", NUMBERS)
        txn.append("shop.numbers", [{"n": 1}])
        txn.plain.clear("shop.wide")
    assert numbers(graph) == [1]
    assert graph.tables()[1].rows == 0
    with graph.transaction() as txn:
        txn.drop_table("shop.wide")
    assert [t.name for t in graph.tables()] == ["shop.numbers"]
    assert [t.rows for t in graph.tables("main@v3")] == [10]
    assert graph.verify(rules=True).ok
    assert graph.snapshot().definitions("table") == {}


def test_the_past_is_still_there_after_a_replacement(root: str) -> None:
    graph = made(root)
    then = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.create_table("shop.numbers", pa.schema([("s", pa.string())]), replace=True)
        txn.append("shop.numbers", [{"s": "new"}])
    assert rows_of(graph, "shop.numbers") == [{"s": "new"}]
    assert numbers(graph, f"main@{then}") == list(range(10))
    with pytest.raises(AlreadyExists), graph.transaction() as txn:
        txn.create_table("shop.numbers", NUMBERS)


# --------------------------------------------------------------------------- other writers


def test_appends_of_many_writers_are_all_there(root: str) -> None:
    graph = made(root)

    def append(n: int) -> None:
        with graph.transaction() as txn:
            txn.append("shop.numbers", [{"n": n}])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(10, 34)))
    assert numbers(graph) == list(range(34))
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("what", ["replace", "remove", "drop", "reshape", "clear"])
def test_what_was_decided_on_other_rows_is_refused(root: str, what: str) -> None:
    graph = made(root)
    txn = graph.transaction()
    if what == "replace":
        txn.create_table("shop.numbers", NUMBERS, replace=True)
    elif what == "remove":
        table = txn.plain.table("shop.numbers")
        txn.plain.remove("shop.numbers", addresses(table, "n = 3"))
    elif what == "drop":
        txn.drop_table("shop.numbers")
    elif what == "clear":
        txn.plain.clear("shop.numbers")
    else:
        txn.plain.reshape("shop.numbers", NUMBERS, {"n": "n"}, TableDeclaration())
    with graph.transaction() as other:
        other.append("shop.numbers", [{"n": 10}])
    with pytest.raises(ExpectedVersionMismatch), txn:
        pass
    assert numbers(graph) == list(range(11))


def test_an_append_to_columns_that_changed_is_refused(root: str) -> None:
    graph = made(root)
    txn = graph.transaction()
    txn.append("shop.numbers", [{"n": 10}])
    with graph.transaction() as other:
        other.plain.reshape("shop.numbers", pa.schema([("m", pa.int64())]), {"m": "n"}, DECLARED)
    with pytest.raises(ReadSetConflict, match="columns"), txn:
        pass
    assert graph.tables()[0].schema.names == ["m"]


DECLARED = TableDeclaration()


def test_two_makers_of_one_name_meet(root: str) -> None:
    graph = made(root)
    txn = graph.transaction()
    txn.create_table("shop.new", NUMBERS)
    with graph.transaction() as other:
        other.create_table("shop.new", SALES)
    with pytest.raises(ReadSetConflict), txn:
        pass
    assert graph.snapshot().plain_table("shop.new").schema == SALES


def test_a_schema_change_does_not_disturb_plain_tables(root: str) -> None:
    graph = made(root)
    txn = graph.transaction()
    txn.create_table("shop.new", NUMBERS)
    graph.apply_schema(graph.schema().source + "\nnode Port { name: String @key }\n")
    with txn:
        txn.append("shop.new", [{"n": 1}])
    assert graph.snapshot().plain_table("shop.new").rows == 1
    assert graph.snapshot().count("Port") == 0


# --------------------------------------------------------------------------- declared


KEYED = TableDeclaration(primary_key=("n",), uniques=(("a", "b"),), checks=("n < 1000",))
KEYED_SCHEMA = pa.schema(
    [pa.field("n", pa.int64(), nullable=False), ("a", pa.string()), ("b", pa.int32())]
)


def keyed(root: str) -> omnigraph.Graph:
    graph = boats(root)
    with graph.transaction() as txn:
        txn.create_table("shop.keyed", KEYED_SCHEMA, KEYED)
        txn.append("shop.keyed", [{"n": 1, "a": "x", "b": 1}, {"n": 2, "a": "x", "b": 2}])
    return graph


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"n": 1, "a": "y", "b": 1}, "unique"),
        ({"n": 3, "a": "x", "b": 2}, "unique"),
        ({"n": None, "a": "z", "b": 9}, "not_null"),
        ({"n": 1000, "a": "z", "b": 9}, "check"),
    ],
)
def test_declared_rules_are_kept(root: str, row: dict[str, Any], kind: str) -> None:
    graph = keyed(root)
    with pytest.raises(ConstraintViolation) as refused, graph.transaction() as txn:
        txn.append("shop.keyed", pa.Table.from_pylist([row], KEYED_SCHEMA))
    assert refused.value.kind == kind
    assert len(rows_of(graph, "shop.keyed")) == 2
    with graph.transaction() as txn:
        txn.append("shop.keyed", [{"n": 3, "a": None, "b": 2}, {"n": 4, "a": None, "b": 2}])
    assert len(rows_of(graph, "shop.keyed")) == 4
    assert graph.verify(rules=True).ok


def test_a_key_may_move_from_one_row_to_another_in_one_version(root: str) -> None:
    graph = keyed(root)
    with graph.transaction() as txn:
        table = txn.plain.table("shop.keyed")
        swapped = pa.table({"n": [2, 1], "a": ["p", "q"], "b": [1, 1]}).cast(KEYED_SCHEMA)
        txn.plain.remove("shop.keyed", addresses(table, "n > 0"))
        txn.append("shop.keyed", swapped)
    assert {row["n"]: row["a"] for row in rows_of(graph, "shop.keyed")} == {1: "q", 2: "p"}


def test_two_concurrent_appends_of_one_key_meet(root: str) -> None:
    graph = keyed(root)
    txn = graph.transaction()
    txn.append("shop.keyed", [{"n": 7, "a": "f", "b": 1}])
    with graph.transaction() as other:
        other.append("shop.keyed", [{"n": 7, "a": "g", "b": 1}])
    with pytest.raises(ConstraintViolation, match="two rows"), txn:
        pass
    assert graph.verify(rules=True).ok


def test_a_new_declaration_is_checked_on_the_rows_that_are_there(root: str) -> None:
    graph = made(root)
    with graph.transaction() as txn:
        txn.append("shop.numbers", [{"n": 3}])
    with pytest.raises(ConstraintViolation, match=r"\(n\) = \(3\)"), graph.transaction() as txn:
        txn.plain.declare("shop.numbers", TableDeclaration(uniques=(("n",),)))
    with pytest.raises(InvalidInput, match="column 'm'"), graph.transaction() as txn:
        txn.plain.declare("shop.numbers", TableDeclaration(uniques=(("m",),)))
    with pytest.raises(InvalidInput, match="cannot be evaluated"), graph.transaction() as txn:
        txn.plain.declare("shop.numbers", TableDeclaration(checks=("nonsense(n)",)))


@settings(max_examples=25)
@given(
    there=st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["a", "b", None])), max_size=8),
    new=st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["a", "b", None])), max_size=8),
)
def test_uniqueness_agrees_with_counting(
    tmp_path_factory: pytest.TempPathFactory,
    there: list[tuple[int, str | None]],
    new: list[tuple[int, str | None]],
) -> None:
    graph = boats(str(tmp_path_factory.mktemp("unique") / "graph"))
    schema = pa.schema([("n", pa.int64()), ("s", pa.string())])
    declaration = TableDeclaration(uniques=(("n", "s"),))

    def holds(rows: list[tuple[int, str | None]]) -> bool:
        keys = [row for row in rows if row[1] is not None]
        return len(keys) == len(set(keys))

    def write(rows: list[tuple[int, str | None]], *, create: bool) -> bool:
        try:
            with graph.transaction() as txn:
                if create:
                    txn.create_table("t.t", schema, declaration)
                txn.append("t.t", pa.Table.from_pylist([{"n": n, "s": s} for n, s in rows], schema))
        except ConstraintViolation:
            return False
        return True

    assert write(there, create=True) == holds(there)
    if holds(there):
        assert write(new, create=False) == holds(there + new)


# --------------------------------------------------------------------------- many rows


def test_many_rows_go_to_disk_on_the_way(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1 << 16)
    graph = boats(root)
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    declaration = TableDeclaration(primary_key=("n",))
    parts = [pa.table({"n": np.arange(i * 5000, (i + 1) * 5000)}) for i in range(8)]
    with graph.transaction() as txn:
        txn.create_table("shop.big", schema, declaration)
        for part in parts:
            txn.append("shop.big", part)
        graph.collect()
    assert graph.tables()[0].rows == 40_000
    with pytest.raises(ConstraintViolation), graph.transaction() as txn:
        for part in parts[3:]:
            txn.append("shop.big", part)
    assert graph.verify(rules=True).ok
    graph.collect()
    assert graph.snapshot().plain_table("shop.big").scan().read_all().num_rows == 40_000


def test_small_appends_do_not_pile_up_fragments(root: str) -> None:
    graph = made(root)
    for n in range(10, 74):
        with graph.transaction() as txn:
            txn.append("shop.numbers", [{"n": n}])
    table = graph.tables()[0]
    assert len(table._tables.fragments(table.address)) <= 16
    graph.optimize()
    table = graph.tables()[0]
    assert len(table._tables.fragments(table.address)) == 1
    assert numbers(graph) == list(range(74))


def test_a_collection_spares_what_is_kept_and_takes_the_rest(root: str) -> None:
    graph = made(root)
    for n in range(3):
        with graph.transaction() as txn:
            txn.create_table("shop.numbers", NUMBERS, replace=True)
            txn.append("shop.numbers", [{"n": n}])
    assert graph.collect(keep=1).files > 0
    assert numbers(graph) == [2]
    assert graph.verify(rules=True).ok
    assert graph.collect(dry_run=True).files == 0


def test_a_clone_shares_its_rows_until_it_is_changed(root: str) -> None:
    graph = made(root)
    with graph.transaction() as txn:
        txn.plain.clone(graph.tables()[0], "shop.copy")
    with graph.transaction() as txn:
        txn.append("shop.copy", [{"n": 10}])
        txn.plain.remove("shop.numbers", addresses(graph.tables()[1], "n < 5"))
    assert numbers(graph) == list(range(5, 10))
    assert len(rows_of(graph, "shop.copy")) == 11
    with graph.transaction() as txn:
        txn.drop_table("shop.numbers")
    graph.collect(keep=1)
    assert len(rows_of(graph, "shop.copy")) == 11
    assert graph.verify(rules=True).ok


def test_branches_have_their_own_tables(root: str) -> None:
    graph = made(root)
    graph.create_branch("dev")
    with graph.transaction("dev") as txn:
        txn.append("shop.numbers", [{"n": 99}])
        txn.create_table("shop.dev", NUMBERS)
    assert [t.name for t in graph.tables()] == ["shop.numbers"]
    assert numbers(graph) == list(range(10))
    assert numbers(graph, "dev") == [*range(10), 99]
    graph.delete_branch("dev")
    graph.collect()
    assert graph.verify(rules=True).ok


# --------------------------------------------------------------------------- crashes, stores


CRASH = """
    import sys, pyarrow as pa, omnigraph
    graph = omnigraph.open(sys.argv[1])
    schema = pa.schema([("n", pa.int64())])
    with graph.transaction() as txn:
        txn.create_table("shop.new", schema)
        txn.append("shop.new", [{"n": 1}])
        txn.append("shop.numbers", [{"n": 100}])
        txn.insert("Boat", [{"name": "Dot"}])
"""


@pytest.mark.parametrize(
    "point", ["stage.before", "stage.after_table@2", "validate.after", "publish.before"]
)
def test_killed_before_the_publish_leaves_nothing(tmp_path: Any, point: str) -> None:  # noqa: ANN401
    root = str(tmp_path / "graph")
    graph = made(root)
    name, _, nth = point.partition("@")
    environment = os.environ | {
        "OMNIGRAPH_FAILPOINTS": f"{name}=kill" + (f"@{nth}" if nth else ""),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRASH), root], env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert [t.name for t in graph.tables()] == ["shop.numbers"]
    assert numbers(graph) == list(range(10))
    assert graph.snapshot().count("Boat") == 3
    with graph.transaction() as txn:
        txn.create_table("shop.new", SALES)
    graph.collect()
    assert graph.verify(rules=True).ok
    assert graph.collect(dry_run=True).files == 0


@pytest.mark.s3
def test_plain_tables_on_an_object_store(
    moto_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_environment(monkeypatch, moto_store)
    graph = made(unique_uri())
    with graph.transaction() as txn:
        table = txn.plain.table("shop.numbers")
        txn.plain.remove("shop.numbers", addresses(table, "n > 2"))
        txn.append("shop.numbers", [{"n": 33}])
        txn.create_table("shop.keyed", KEYED_SCHEMA, KEYED)
    assert numbers(graph) == [0, 1, 2, 33]
    graph.collect()
    assert graph.verify(rules=True).ok
