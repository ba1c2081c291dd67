"""The first small write after a bulk load builds the id index; later ones find it there."""

from __future__ import annotations

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.storage import indexes, lookup
from omnigraph.storage.reading import TableVersion

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph(root: str, monkeypatch: pytest.MonkeyPatch) -> omnigraph.Graph:
    monkeypatch.setattr(lookup, "PROBED_ROWS", 5000)
    graph = omnigraph.init(root, SCHEMA)
    graph.load(people(range(6000)), type="Person", mode="append")
    return graph


def people(numbers: range, age: int = 1) -> pa.Table:
    names = [f"p{number:05}" for number in numbers]
    return pa.table({"name": names, "age": pa.array([age] * len(names), pa.int32())})


def indexes_of(graph: omnigraph.Graph) -> list[str]:
    pointer = graph._store.head("main").tables["node:Person"]
    dataset = graph._store.tables.open(TableVersion(pointer.location, pointer.lance))
    return [f"{i.name}: {i.num_rows_indexed}" for i in dataset.describe_indices()]


def test_one_write_pays_and_all_see_it(
    graph: omnigraph.Graph, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert indexes_of(graph) == []
    with graph.transaction() as txn:
        txn.upsert("Person", people(range(5, 6), age=2))
    assert indexes_of(graph) == ["id_btree: 5999"]
    monkeypatch.setattr(indexes, "with_indexes", None)
    for handle in (graph, omnigraph.open(root)):
        with handle.transaction() as txn:
            txn.upsert("Person", people(range(6, 8), age=3))
    ages = graph.snapshot().scan("Person", ["age"], filter="age > 1").read_all()
    assert sorted(ages.column("age").to_pylist()) == [2, 3, 3]
    assert graph.snapshot().count("Person") == 6000
    assert graph.verify().ok


def test_a_bulk_write_does_not(graph: omnigraph.Graph) -> None:
    graph.load(people(range(6000, 12_000)), type="Person", mode="merge")
    assert indexes_of(graph) == []


def test_a_small_table_needs_none(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    for number in range(3):
        with graph.transaction() as txn:
            txn.upsert("Person", people(range(number, number + 1)))
    assert indexes_of(graph) == []
