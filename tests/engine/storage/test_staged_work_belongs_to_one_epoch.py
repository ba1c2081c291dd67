"""Whatever is staged when a collection runs is staged again, spared or refused; never published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.errors import TransactionExpired
from omnigraph.storage.commit import machine_lock
from omnigraph.storage.commit.publish_plan import PublishPlan
from omnigraph.storage.commit.publisher import Publisher
from omnigraph.storage.core.model import Commit
from omnigraph.storage.maintenance.collect import collect
from omnigraph.storage.tables import write_buffer
from support.social import SOCIAL, add_person, assert_sound, edge, persons, social_graph

PLAIN = "shop.things"
THINGS = pa.table({"n": [1, 2]})


@pytest.fixture
def graph(root: str) -> Graph:
    """With a branch that can be merged, and tables that can be optimized."""
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    with graph.transaction() as txn:
        txn._txn.plain.create(PLAIN, THINGS.schema)
    graph.create_branch("work")
    add_person(graph, "Wim", "work")
    for name in ("Cid", "Dot"):
        add_person(graph, name)
    return graph


def upsert(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.upsert("Person", persons(["Eve", "Fay"]))
        txn.insert("Knows", [edge("Eve", "Ann")])


def delete(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.delete("Person", ["Ann"])


def append(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn._txn.plain.append(PLAIN, THINGS)


def create(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn._txn.plain.create("shop.more", THINGS.schema)
        txn._txn.plain.append("shop.more", THINGS)


def define(graph: Graph) -> None:
    graph.register_queries("query everybody() { match { $p: Person } return { $p.name } }")


WORK: dict[str, Callable[[Graph], object]] = {
    "upsert": upsert,
    "delete": delete,
    "append to a plain table": append,
    "create a plain table": create,
    "merge": lambda graph: graph.merge("work"),
    "schema": lambda graph: graph.apply_schema(SOCIAL + "\nnode Pet { name: String @key }"),
    "wider schema": lambda graph: graph.apply_schema(SOCIAL.replace("I64?", "I64?  b: Bool?")),
    "optimize": lambda graph: graph.optimize(),
    "definition": define,
}


@contextmanager
def before_publishes(
    graph: Graph, patch: pytest.MonkeyPatch, *steps: Callable[[], object]
) -> Iterator[list[PublishPlan]]:
    """Do one thing before each of a graph's first publishes; the plans that were published."""
    publish, publisher = Publisher.publish, graph._store.publisher
    left, plans = list(steps), list[PublishPlan]()

    def scripted(self: Publisher, plan: PublishPlan, *, first: bool = False) -> Commit:
        if self is publisher:
            plans.append(plan)
            if left:
                left.pop(0)()
        return publish(self, plan, first=first)

    with patch.context() as patched:
        patched.setattr(Publisher, "publish", scripted)
        yield plans


@pytest.mark.parametrize("in_files", [False, True], ids=["few rows", "rows in files"])
@pytest.mark.parametrize("what", WORK)
@pytest.mark.parametrize("order", ["mc", "cm", "c", "mcmc"])
def test_nothing_is_published_that_a_collection_took(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, what: str, order: str, in_files: bool
) -> None:
    """`m`: others move its tables, so that it loses; `c`: a collection, which gives up old jobs."""
    if in_files:
        monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    # Others act in the middle of an attempt that has the lock: they would wait for it in vain.
    monkeypatch.setattr(machine_lock, "QUEUE_SECONDS", 0.0)
    other = omnigraph.open(graph.uri)
    names = iter("VWXYZ")

    def move() -> None:
        with other.transaction() as txn:
            txn.upsert("Person", persons([next(names)]))
            txn._txn.plain.append(PLAIN, THINGS)

    def take() -> None:
        collect(other._store, keep=1, stale_after=timedelta(0))

    steps = [move if step == "m" else take for step in order]
    with before_publishes(graph, monkeypatch, *steps) as plans:
        try:
            WORK[what](graph)
        except omnigraph.errors.Conflict:
            assert what != "merge" and what != "optimize"
    assert plans
    fresh = omnigraph.open(graph.uri)
    assert_sound(fresh)
    fresh.collect(keep=1)
    assert_sound(fresh)


@pytest.mark.parametrize("prepared", [False, True])
def test_a_table_that_is_made_after_the_registration(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    """It is spared like the others once the transaction was prepared, and refused before that."""
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    other = omnigraph.open(graph.uri)

    def write() -> None:
        with graph.transaction() as txn:
            txn.insert("Person", persons(["Eve"]))
            monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1 << 20)
            txn._txn.plain.create("shop.more", THINGS.schema)
            txn._txn.plain.append("shop.more", THINGS)
            txn._txn.plain.table("shop.more")
            if prepared:
                txn._txn.prepare()
            other.collect(keep=1)

    if prepared:
        write()
        assert graph.tables()[0].name == "shop.more"
    else:
        with pytest.raises(TransactionExpired):
            write()
    assert_sound(omnigraph.open(graph.uri))
