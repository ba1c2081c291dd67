"""A transaction that a collection took files from is told so, also when it only reads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import omnigraph
from omnigraph.api.graph import Graph, Transaction
from omnigraph.errors import Corruption, InvalidInput, TransactionExpired
from omnigraph.storage.core.compaction_policy import TIERS
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.maintenance.collect import CollectReport
from omnigraph.storage.transaction import migrate_rows, staged_work
from support.social import SOCIAL, add_person, assert_sound, people, persons, social_graph

MANY = TIERS[-1] + 1
"""More rows than are kept in memory: reading them again needs their files."""


def many() -> list[dict[str, object]]:
    return persons([f"p{i:05}" for i in range(MANY)])


def staged_and_collected(root: str) -> tuple[Graph, Transaction]:
    """A transaction that staged many rows, and a collection by another process since."""
    graph = social_graph(root, people=["Ann"])
    txn = graph.transaction()
    txn.insert("Person", many())
    assert txn.scan("Person").read_all().num_rows == MANY + 1
    report = omnigraph.open(root).collect(keep=1)
    assert report.tables["node:Person"].files > 0
    return graph, txn


def write_and_read(txn: Transaction) -> None:
    txn.upsert("Person", persons(["p00001"], age=1))
    txn.scan("Person").read_all()


READS: dict[str, Callable[[Transaction], object]] = {
    "everything": lambda txn: txn.scan("Person").read_all(),
    "some columns": lambda txn: txn.scan("Person", ["age"]).read_all(),
    "by a filter": lambda txn: txn.scan("Person", filter="age > 3").read_all(),
    "after one more write": write_and_read,
}


@pytest.mark.parametrize("how", READS)
def test_a_read_of_what_it_staged_says_expired(root: str, how: str) -> None:
    graph, txn = staged_and_collected(root)
    with pytest.raises(TransactionExpired) as caught:
        READS[how](txn)
    assert caught.value.code == "transaction_expired"
    assert people(graph) == ["Ann"]
    assert_sound(graph)


@pytest.mark.parametrize("how", READS)
def test_a_read_of_what_it_pinned_says_expired(root: str, how: str) -> None:
    graph = social_graph(root)
    with graph.transaction() as load:
        load.insert("Person", many())
    txn = omnigraph.open(root).transaction()
    with graph.transaction() as other:
        other.overwrite("Person", persons(["Ann"]))
    graph.collect(keep=1)
    with pytest.raises(TransactionExpired):
        READS[how](txn)
    assert people(graph) == ["Ann"]
    assert_sound(graph)


def test_a_reader_it_holds_says_expired_when_files_go_in_the_middle(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = graph.transaction()
    txn.insert("Person", many())
    reader = txn.scan("Person")
    omnigraph.open(root).collect(keep=1)
    with suppress(TransactionExpired):
        assert reader.read_all().num_rows == MANY + 1
    assert_sound(graph)


def test_a_wrong_filter_is_still_the_callers_fault(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = graph.transaction()
    omnigraph.open(root).collect()
    with pytest.raises(InvalidInput):
        txn.scan("Person", filter="age >").read_all()


def test_what_a_collection_left_alone_can_be_read_on(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    add_person(graph, "Bob")
    with pytest.raises(TransactionExpired), graph.transaction() as txn:
        txn.overwrite("Person", persons(["Cid"]))
        omnigraph.open(root).collect()
    txn = graph.transaction()
    omnigraph.open(root).collect()
    assert txn.scan("Person").read_all().num_rows == 2


def test_a_schema_change_that_lost_its_files_starts_again(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = social_graph(root, people=["Ann"])
    evolved = migrate_rows.evolved_version
    collected: list[CollectReport] = []

    def collected_behind(*given: Any) -> TableVersion:  # noqa: ANN401
        staged = evolved(*given)
        if not collected:
            collected.append(omnigraph.open(root).collect())
            raise Corruption(f"a file of {staged.location} is missing")
        return staged

    monkeypatch.setattr(migrate_rows, "evolved_version", collected_behind)
    assert graph.apply_schema(SOCIAL.replace("age: I64?", "age: I64?  note: String?")).applied
    assert collected[0].files > 0
    assert people(graph) == ["Ann"]
    assert_sound(graph)


def test_a_delete_mutation_that_lost_its_files_says_expired(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts what it deletes before it commits, on staged files."""
    graph = social_graph(root, people=["Ann", "Bob"])

    def collected_behind(*given: Any) -> Any:  # noqa: ANN401
        omnigraph.open(root).collect()
        raise Corruption("a file of the table is missing")

    monkeypatch.setattr(staged_work, "permanently_deleted", collected_behind)
    with pytest.raises(TransactionExpired):
        graph.mutate('query drop() { delete Person where name = "Ann" }')
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)


def test_a_schema_change_after_a_read_is_written_to(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    with graph.transaction() as txn:
        assert txn.scan("Person").read_all().num_rows == 1
        txn.apply_schema(SOCIAL.replace("age: I64?", "age: I64?  note: String?"))
        txn.insert("Person", [{"name": "Bob", "note": "new"}])
    found = graph.snapshot().scan("Person", ["name", "note"]).read_all().sort_by("name")
    assert found.to_pylist() == [{"name": "Ann", "note": None}, {"name": "Bob", "note": "new"}]
    assert_sound(graph)
