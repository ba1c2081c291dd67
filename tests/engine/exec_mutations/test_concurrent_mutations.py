"""Mutations that meet: inserts go through, updates and deletes are refused when they must be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import Conflict, ExpectedVersionMismatch, PreconditionFailed
from omnigraph.exec.mutate.run_mutation import MutationResult
from omnigraph.exec.mutate.statement_values import StatementValues
from omnigraph.storage.transaction.write_transaction import WriteTxn
from support.graphs import boats, ids, refused, rows

from .harness import affected, mutate, parcels

INSERT = """query q($tag: String, $other: String) {
    insert Parcel { tag: $tag }  insert Touches { from: $tag, to: $other } }"""


def test_inserts_of_many_threads_all_land(root: str) -> None:
    graph = omnigraph.open(parcels(root).uri, retry_budget=50)
    mutate(graph, 'insert Parcel { tag: "hub" }')

    def insert(number: int) -> MutationResult:
        return mutate(graph, INSERT, {"tag": f"p{number:02}", "other": "hub"})

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(insert, range(24)))
    assert {affected(r) for r in results} == {(1, 1)}
    assert len({r.commit.id for r in results if r.commit}) == 24
    assert ids(graph, "Parcel") == ["hub", *(f"p{n:02}" for n in range(24))]
    assert graph.snapshot().count("Touches") == 24
    assert graph.verify(rules=True).ok


def test_counters_of_many_threads_never_lose_an_update(root: str) -> None:
    graph = boats(root)

    def claim(number: int) -> bool:
        text = "query q($n: I32) { update Boat set { crew: $n } where crew = 2 }"
        try:
            return affected(mutate(graph, text, {"n": number + 10})) == (1, 0)
        except Conflict:
            return False

    with ThreadPoolExecutor(8) as pool:
        won = [n for n, ok in enumerate(pool.map(claim, range(8))) if ok]
    assert len(won) == 1
    assert rows(graph, "Boat")[0]["crew"] == won[0] + 10


class Meanwhile:
    """Runs something between the staging and the publish of the next transaction."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, action: Any) -> None:  # noqa: ANN401
        commit = WriteTxn.commit

        def interrupted(txn: WriteTxn) -> Any:  # noqa: ANN401
            monkeypatch.setattr(WriteTxn, "commit", commit)
            action()
            return commit(txn)

        monkeypatch.setattr(WriteTxn, "commit", interrupted)


CHANGES = {
    "update": 'update Boat set { crew: 9 } where name = "Ada"',
    "delete": 'delete Boat where name = "Ada"',
}


@pytest.mark.parametrize("kind", sorted(CHANGES))
def test_a_decision_on_a_table_that_moved_is_refused(
    root: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = boats(root)
    Meanwhile(monkeypatch, lambda: mutate(graph, 'insert Boat { name: "Dot" }'))
    with pytest.raises(ExpectedVersionMismatch) as caught:
        mutate(graph, CHANGES[kind])
    assert caught.value.details["read_set_conflict"] == {
        "member": "node:Boat",
        "expected": 2,
        "actual": 3,
    }
    assert rows(graph, "Boat")[0]["crew"] == 2


def test_an_update_that_matched_nothing_has_still_read(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = parcels(root)
    Meanwhile(monkeypatch, lambda: mutate(graph, 'insert Parcel { tag: "A", kg: 1 }'))
    with pytest.raises(ExpectedVersionMismatch):
        mutate(graph, "insert Bay { no: 1 }  update Parcel set { kg: 2 } where kg = 1")
    assert ids(graph, "Bay") == []


def test_an_update_is_prepared_again_when_only_other_tables_moved(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = parcels(root)
    mutate(graph, 'insert Parcel { tag: "A", kg: 1 }')
    Meanwhile(monkeypatch, lambda: mutate(graph, "insert Bay { no: 1 }"))
    both = "update Parcel set { kg: 2 } where kg = 1  insert Bay { no: 2 }"
    assert affected(mutate(graph, both)) == (2, 0)
    assert ids(graph, "Bay") == ["1", "2"]
    assert rows(graph, "Parcel")[0]["kg"] == 2


def test_a_delete_is_refused_when_an_edge_arrived_meanwhile(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = boats(root)
    Meanwhile(monkeypatch, lambda: mutate(graph, 'insert Meets { from: "Ada", to: "Cap" }'))
    with pytest.raises(ExpectedVersionMismatch):
        mutate(graph, 'delete Boat where name = "Ada"')
    assert len(ids(graph, "Boat")) == 3


def test_a_token_is_never_retried(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = boats(root)
    head = graph.commits()[0].id
    Meanwhile(monkeypatch, lambda: mutate(graph, 'insert Boat { name: "Dot" }'))
    with pytest.raises(PreconditionFailed):
        mutate(graph, 'insert Boat { name: "Eel" }', if_commit=head)
    refused(
        graph,
        PreconditionFailed,
        lambda: mutate(graph, 'insert Boat { name: "Eel" }', if_commit=head),
    )
    assert "Eel" not in ids(graph, "Boat")


def test_a_scan_in_a_transaction_is_a_decision_too(root: str) -> None:
    """Read, then upsert what was read: the same lost update, written by hand."""
    graph = boats(root)
    with pytest.raises(ExpectedVersionMismatch), graph.transaction() as txn:
        ada = txn.scan("Boat", filter="name = 'Ada'").read_all().to_pylist()[0]
        mutate(graph, 'update Boat set { crew: 5 } where name = "Ada"')
        txn.upsert("Boat", [{**ada, "flag": "BE"}])
    assert rows(graph, "Boat")[0]["crew"] == 5


def test_one_instant_serves_a_retried_insert(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = omnigraph.init(root, "node Event { at: DateTime }")
    calls: list[int] = []
    now = StatementValues.at_once

    def counted(params: Any) -> Any:  # noqa: ANN401
        calls.append(1)
        return now(params)

    monkeypatch.setattr(StatementValues, "at_once", counted)
    Meanwhile(monkeypatch, lambda: mutate(graph, "insert Event { at: now() }"))
    mutate(graph, "insert Event { at: now() }")
    assert len(calls) == 2
    assert graph.snapshot().count("Event") == 2
