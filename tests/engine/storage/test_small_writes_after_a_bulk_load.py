"""The first small write after a bulk load builds the index it needs; later ones find it there."""

from __future__ import annotations

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ConstraintViolation
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables import indexes, key_lookup

SCHEMA = "node Person { name: String @key  age: I32? }"


@pytest.fixture
def graph(root: str, monkeypatch: pytest.MonkeyPatch) -> omnigraph.Graph:
    monkeypatch.setattr(key_lookup, "PROBED_ROWS", 5000)
    graph = omnigraph.init(root, SCHEMA)
    graph.load(people(range(6000)), type="Person", mode="append")
    return graph


def people(numbers: range, age: int = 1) -> pa.Table:
    names = [f"p{number:05}" for number in numbers]
    return pa.table({"name": names, "age": pa.array([age] * len(names), pa.int32())})


def indexes_of(graph: omnigraph.Graph, table_key: str = "node:Person") -> list[str]:
    pointer = graph._store.head("main").tables[table_key]
    dataset = graph._store.tables.handle(TableVersion(pointer.location, pointer.lance)).dataset
    return sorted(f"{i.name}: {i.num_rows_indexed}" for i in dataset.describe_indices())


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
    assert graph.verify(rules=True).ok


def test_a_bulk_write_does_not(graph: omnigraph.Graph) -> None:
    graph.load(people(range(6000, 12_000)), type="Person", mode="merge")
    assert indexes_of(graph) == []


def test_a_small_table_needs_none(root: str) -> None:
    graph = omnigraph.init(root, SCHEMA)
    for number in range(3):
        with graph.transaction() as txn:
            txn.upsert("Person", people(range(number, number + 1)))
    assert indexes_of(graph) == []


SOCIAL = (
    SCHEMA
    + """
edge Knows: Person -> Person
edge Likes: Person -> Person @card(0..3)
"""
)


@pytest.fixture
def social(root: str, monkeypatch: pytest.MonkeyPatch) -> omnigraph.Graph:
    """Many people, each of whom knows and likes the next one."""
    monkeypatch.setattr(key_lookup, "PROBED_ROWS", 5000)
    graph = omnigraph.init(root, SOCIAL)
    names = people(range(6000)).column("name").to_pylist()
    edges = pa.table({"src": names[:-1], "dst": names[1:]})
    graph.load({"Person": people(range(6000)), "Knows": edges, "Likes": edges}, mode="append")
    return graph


def no_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "with_indexes", None)


def test_an_edge_finds_its_ends_by_index(
    social: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with social.transaction() as txn:
            txn.insert("Knows", [{"src": "p00001", "dst": "p00003"}])
        assert indexes_of(social) == ["id_btree: 6000"]
        no_builds(monkeypatch)
    with pytest.raises(ConstraintViolation), social.transaction() as txn:
        txn.insert("Knows", [{"src": "p00001", "dst": "nobody"}])
    assert social.snapshot().count("Person") == 6000
    assert social.verify(rules=True).ok


def test_an_edge_is_counted_by_index(
    social: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with social.transaction() as txn:
            txn.insert("Likes", [{"src": "p00001", "dst": "p00003"}])
        assert "src_btree" in {i.partition(":")[0] for i in indexes_of(social, "edge:Likes")}
        no_builds(monkeypatch)
    with pytest.raises(ConstraintViolation), social.transaction() as txn:
        txn.insert("Likes", [{"src": "p00001", "dst": "p00004"}])
    assert social.verify(rules=True).ok


def test_a_node_takes_edges_along_that_are_found_by_index(
    social: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (100, 200):
        with social.transaction() as txn:
            txn.delete("Person", [f"p{number:05}"])
        for table_key in ("edge:Knows", "edge:Likes"):
            built = [i.partition(":")[0] for i in indexes_of(social, table_key)]
            assert {"src_btree", "dst_btree"} <= set(built)
        no_builds(monkeypatch)
    assert social.snapshot().count("Knows") == 5999 - 4
    assert social.snapshot().count("Likes") == 5999 - 4
    assert social.verify(rules=True).ok


def test_lookups_agree_with_reading_everything(social: omnigraph.Graph) -> None:
    """Through an index of an earlier version, after rows went, on two branches that differ."""
    social.create_branch("other")
    for number in range(40):
        branch = ("main", "other")[number % 2]
        with social.transaction(branch) as txn:
            txn.upsert("Person", people(range(number * 7, number * 7 + 2), age=number))
        with social.transaction(branch) as txn:
            txn.delete("Person", [f"p{3000 + number:05}"])
    for branch, first in (("main", 0), ("other", 1)):
        snapshot = social.snapshot(branch)
        held = snapshot.scan("Person", ["id", "age"]).read_all()
        assert held.num_rows == len(set(held.column("id").to_pylist())) == 6000 - 20
        expected = {f"p{n:05}" for n in range(6000)}
        expected -= {f"p{3000 + n:05}" for n in range(first, 40, 2)}
        assert set(held.column("id").to_pylist()) == expected
        ends = snapshot.scan("Knows", ["src", "dst"]).read_all()
        assert set(ends.column("src").to_pylist()) | set(ends.column("dst").to_pylist()) <= expected
    assert social.verify(rules=True).ok
