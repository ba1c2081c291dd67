"""`verify` with rules: everything that is stored is checked, by hashes and in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.common.value_hashes import LONG, value_hashes
from omnigraph.errors import ConstraintViolation
from omnigraph.schema import compile_schema
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.whole_tables import whole_tables

PEOPLE = "node Person { name: String @key  mail: String?UNIQUE }\nedge Knows: Person -> PersonCARD"
LOOSE = PEOPLE.replace("UNIQUE", "").replace("CARD", "")
STRICT = PEOPLE.replace("UNIQUE", " @unique").replace("CARD", " @card(0..2)")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(str(tmp_path / "graph"), LOOSE)
    with graph.transaction() as txn:
        txn.insert("Person", [{"name": f"p{n}", "mail": f"m{n}"} for n in range(50)])
        txn.insert("Knows", [{"src": f"p{n}", "dst": f"p{n + 1}"} for n in range(40)])
    return graph


def broken(graph: Graph, schema: str = STRICT) -> list[ConstraintViolation]:
    """What breaks the rules of a schema, found in parts of a few hashes."""
    head = graph._store.head("main")

    def stored(key: str) -> StoredTable:
        pointer = head.tables[key]
        return StoredTable(graph._store.tables, pointer.address, pointer.rows)

    rules = whole_tables(compile_schema(schema), stored, part_hashes=7)
    kinds = (rules.uniqueness, rules.endpoints, rules.cardinality)
    return [violation for rule in kinds for type_ in rules.tables for violation in rule(type_)]


def test_rows_that_keep_the_rules_are_content(graph: Graph) -> None:
    assert broken(graph) == []
    assert graph.verify(rules=True).ok


def test_two_rows_of_one_unique_value_are_told(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": "p40", "mail": "m3"}])
    (violation,) = broken(graph)
    assert "m3" in violation.message


def test_more_edges_than_allowed_are_told(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.insert("Knows", [{"src": "p7", "dst": f"p{n}"} for n in (20, 21)])
    (violation,) = broken(graph)
    assert "p7" in violation.message


def test_an_edge_to_nobody_is_told(graph: Graph) -> None:
    """Found although no write would leave one: the nodes are looked for in an older version."""
    store = graph._store
    before = store.head("main").tables["node:Person"]
    with graph.transaction() as txn:
        txn.insert("Person", [{"name": "new"}])
        txn.insert("Knows", [{"src": "p7", "dst": "new"}])
    after = store.head("main").tables["edge:Knows"]
    pointers = {"node:Person": before, "edge:Knows": after}

    def stored(key: str) -> StoredTable:
        return StoredTable(store.tables, pointers[key].address, pointers[key].rows)

    rules = whole_tables(compile_schema(LOOSE), stored, part_hashes=7)
    found = [v for type_ in rules.tables for v in rules.endpoints(type_)]
    assert ["new" in each.message for each in found] == [True]


def test_without_rules_no_rows_are_read(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    from omnigraph.storage.tables.open_table import OpenTable

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("rows are read")

    fresh = omnigraph.open(graph._store.root)
    monkeypatch.setattr(OpenTable, "reader", refused)
    assert fresh.verify().ok


def test_hashes_tell_values_apart_wherever_they_stand() -> None:
    texts = ["", None, "x", "x\0", "\0", "y" * LONG, "y" * (LONG + 1), "y" * 9000, "ä", "x" * 8]
    values = pa.array(texts, pa.string())
    hashes = value_hashes(values)
    assert len(set(hashes.tolist())) == len(texts)
    for start in range(len(texts)):
        assert np.array_equal(value_hashes(values.slice(start)), hashes[start:])
    names = value_hashes(pa.array([f"person-{n:06}" for n in range(100_000)]))
    assert len(np.unique(names)) == 100_000
