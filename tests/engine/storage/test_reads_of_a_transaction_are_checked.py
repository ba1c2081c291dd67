"""What a transaction reads through its own handle must still hold when it commits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph, Snapshot, Transaction
from omnigraph.errors import InvalidInput, NotFound, ReadSetConflict

SCHEMA = """
node Doctor { name: String @key  on_call: Bool? }
node Nurse { name: String @key  on_call: Bool? }
node Note { name: String @key  text: String? }
edge Knows: Doctor -> Nurse
"""
COUNT_NURSES = "query nurses() { match { $n: Nurse } return { count($n) as n } }"
READS: dict[str, Callable[[Graph, Snapshot], object]] = {
    "get": lambda _, s: s.get("Nurse", "n1"),
    "get of what is not there": lambda _, s: s.get("Nurse", "nobody"),
    "scan": lambda _, s: s.scan("Nurse", filter="name = 'nobody'").read_all(),
    "count": lambda _, s: s.count("Nurse"),
    "slices": lambda _, s: s.slices("Nurse", at_most=2),
    "readable": lambda _, s: s.readable("Nurse").rows,
    "a query": lambda g, s: g.query(COUNT_NURSES, at=s).rows(),
    "reach": lambda g, s: g.reach("Knows", "Doctor", at=s).read_all(),
}


@pytest.fixture
def graph(root: str) -> Graph:
    graph = omnigraph.init(root, SCHEMA)
    with graph.transaction() as txn:
        txn.insert("Doctor", [{"name": "d1", "on_call": True}])
        txn.insert("Nurse", [{"name": "n1", "on_call": True}])
        txn.create_table("public.t", pa.schema([("a", pa.int64())]))
        txn.append("public.t", [{"a": 1}])
    return graph


def write(graph: Graph, type_name: str, **row: Any) -> None:  # noqa: ANN401
    with graph.transaction() as txn:
        txn.upsert(type_name, [row])


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
def test_a_write_decided_on_rows_that_moved_is_refused(
    graph: Graph, read: Callable[[Graph, Snapshot], object]
) -> None:
    with pytest.raises(ReadSetConflict) as refused, graph.transaction() as txn:
        read(graph, txn.snapshot)
        txn.upsert("Note", [{"name": "x", "text": "decided"}])
        write(graph, "Nurse", name="n2", on_call=True)
    assert refused.value.member == "node:Nurse"
    assert graph.snapshot().count("Note") == 0


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
def test_what_was_not_read_may_move(
    graph: Graph, read: Callable[[Graph, Snapshot], object]
) -> None:
    with graph.transaction() as txn:
        read(graph, txn.snapshot)
        txn.upsert("Note", [{"name": "x"}])
        write(graph, "Note", name="y")
    assert graph.snapshot().count("Note") == 2


def test_a_remembered_plan_is_a_read_as_well(graph: Graph) -> None:
    """Its first run, outside any transaction, has looked at the tables already."""
    graph.query(COUNT_NURSES).rows()
    graph.query(COUNT_NURSES, at=graph.snapshot()).rows()
    with pytest.raises(ReadSetConflict), graph.transaction() as txn:
        graph.query(COUNT_NURSES, at=txn.snapshot).rows()
        txn.upsert("Note", [{"name": "x"}])
        write(graph, "Nurse", name="n2")


def test_write_skew_over_two_types_is_refused(graph: Graph) -> None:
    """Somebody stays on call: each looks at the other, and only one may leave."""
    first, second = graph.transaction(), graph.transaction()
    for txn, other, own in ((first, "Nurse", "Doctor"), (second, "Doctor", "Nurse")):
        assert txn.snapshot.scan(other, filter="on_call").read_all().num_rows == 1
        txn.upsert(own, [{"name": f"{own[0].lower()}1", "on_call": False}])
    first.__exit__(None)
    with pytest.raises(ReadSetConflict):
        second.__exit__(None)
    now = graph.snapshot()
    on_call = [now.scan(name, filter="on_call").read_all().num_rows for name in ("Doctor", "Nurse")]
    assert on_call == [0, 1]


def test_a_phantom_is_refused(graph: Graph) -> None:
    """Also the absence of rows is something that was read."""
    with pytest.raises(ReadSetConflict), graph.transaction() as txn:
        assert not txn.snapshot.scan("Doctor", filter="on_call = false").read_all().num_rows
        txn.upsert("Note", [{"name": "all are on call"}])
        write(graph, "Doctor", name="d2", on_call=False)


PLAIN_READS: dict[str, tuple[Callable[[Transaction], object], str]] = {
    "rows of a snapshot": (lambda t: t.snapshot.plain_table("public.t").scan(), "table:public.t"),
    "rows of a transaction": (lambda t: t.plain.table("public.t").rows, "table:public.t"),
    "all tables": (lambda t: t.snapshot.plain_tables(), "table:public.t"),
    "a table that is not there": (
        lambda t: pytest.raises(NotFound, t.snapshot.plain_table, "public.new"),
        "table:public.new",
    ),
    "the list of tables": (lambda t: t.snapshot.plain_tables(), "table:"),
    "a stored query": (lambda t: t.snapshot.definition("query", "nurses"), "query:nurses"),
    "stored queries": (lambda t: t.snapshot.definitions("query"), "query:"),
    "the schema": (lambda t: t.snapshot.catalog, "schema"),
    "the schema of the transaction": (lambda t: t.catalog, "schema"),
}


@pytest.mark.parametrize(("read", "member"), PLAIN_READS.values(), ids=list(PLAIN_READS))
def test_plain_tables_definitions_and_the_schema_are_read_too(
    graph: Graph, read: Callable[[Transaction], object], member: str
) -> None:
    with pytest.raises(ReadSetConflict) as refused, graph.transaction() as txn:
        txn.create_table("public.own", pa.schema([("a", pa.int64())]))
        read(txn)
        with graph.transaction() as other:
            if member == "table:public.t":
                other.append("public.t", [{"a": 2}])
            elif member.startswith("table:"):
                other.create_table("public.new", pa.schema([("a", pa.int64())]))
        if member.startswith("query:"):
            graph.register_queries(COUNT_NURSES)
        if member == "schema":
            graph.apply_schema(SCHEMA + "node Other { name: String @key }\n")
    assert refused.value.member == member


def test_a_transaction_that_reads_only_is_never_refused(graph: Graph) -> None:
    with graph.transaction() as txn:
        assert txn.snapshot.count("Nurse") == 1
        write(graph, "Nurse", name="n2")
        assert txn.snapshot.count("Nurse") == 1
    assert txn.commit is None


def test_a_snapshot_may_be_kept_and_read_after_the_commit(graph: Graph) -> None:
    with graph.transaction() as txn:
        kept = txn.snapshot
        txn.upsert("Note", [{"name": "x"}])
    write(graph, "Nurse", name="n2")
    assert kept.count("Nurse") == 1
    with graph.transaction() as txn:
        txn.upsert("Note", [{"name": "y"}])


def test_every_acknowledged_increment_counts(graph: Graph) -> None:
    threads, each, runs = 4, 5, list[int]()

    def add(txn: Transaction) -> None:
        runs.append(1)
        found = txn.snapshot.get("Note", "counter")
        number = int(found["text"]) if found else 0
        txn.upsert("Note", [{"name": "counter", "text": str(number + 1)}])

    def work() -> None:
        for _ in range(each):
            graph.transact(add, retry=200)

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    found = graph.snapshot().get("Note", "counter")
    assert found is not None and int(found["text"]) == threads * each
    assert len(runs) >= threads * each


def test_retry_says_how_often_work_is_run_again(graph: Graph) -> None:
    runs: list[int] = []

    def overtaken(txn: Transaction) -> None:
        runs.append(txn.snapshot.count("Nurse"))
        txn.upsert("Note", [{"name": "x"}])
        write(graph, "Nurse", name=f"n{len(runs) + 1}")

    with pytest.raises(ReadSetConflict):
        graph.transact(overtaken, retry=2)
    assert runs == [1, 2, 3]
    with pytest.raises(InvalidInput):
        graph.transact(overtaken, retry=-1)
