"""A write that is staged again after a schema change obeys the schema that it lands under."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

import omnigraph
from omnigraph.api.graph import Graph, Transaction
from omnigraph.errors import (
    Conflict,
    ConstraintViolation,
    ExpectedVersionMismatch,
    OmniGraphError,
    PublishContention,
    ReadSetConflict,
)
from omnigraph.storage.tables import write_buffer
from support.social import SOCIAL, assert_sound, edge, names, pairs, people, persons, social_graph

PET = "\nnode Pet { name: String @key }"
UNIQUE = SOCIAL.replace("age: I64?", "age: I64? @unique")
RANGED = SOCIAL.replace("age: I64? }", "age: I64? @range(age, 0..40) }")
WIDER = SOCIAL.replace("age: I64?", "age: I64?  shoe: I64?")
CLUBLESS = """
node Person { name: String @key  age: I64? }
edge Knows: Person -> Person
"""

Write = Callable[[Transaction], object]
WRITES: dict[str, Write] = {
    "insert": lambda txn: txn.insert("Person", persons(["Dot"], age=7)),
    "upsert": lambda txn: txn.upsert("Person", persons(["Ann"], age=7)),
    "insert of edges": lambda txn: txn.insert("Knows", [edge("Cid", "Ann")]),
    "delete": lambda txn: txn.delete("Person", ["Ann"]),
    "delete of edges": lambda txn: txn.delete("Knows", ["k1"]),
    "overwrite": lambda txn: txn.overwrite("Knows", [edge("Cid", "Ann")]),
    "clear": lambda txn: txn.overwrite("Club", []),
}


@pytest.fixture
def graph(root: str) -> Graph:
    graph = social_graph(root, people=["Ann", "Bob", "Cid"], knows=["Ann>Bob"])
    with graph.transaction() as txn:
        txn.upsert("Person", [{"name": n, "age": i} for i, n in enumerate(("Ann", "Bob", "Cid"))])
        txn.insert("Club", [{"name": "Choir"}])
        txn.insert("Knows", [edge("Bob", "Cid") | {"id": "k1"}])
    return graph


@pytest.fixture
def spilling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)


def across(graph: Graph, write: Write, schema: str) -> None:
    """A write that is staged when the schema changes, and published after that."""
    with graph.transaction() as txn:
        write(txn)
        txn._txn.prepare()
        other = omnigraph.open(graph.uri)
        other.apply_schema(schema)


def contents(graph: Graph) -> tuple[list[str], list[str], list[str]]:
    return people(graph), pairs(graph), names(graph, "Club")


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("schema", [SOCIAL + PET, UNIQUE], ids=["another type", "a rule it keeps"])
def test_what_still_fits_lands(graph: Graph, what: str, schema: str) -> None:
    across(graph, WRITES[what], schema)
    assert graph.commits()[0].schema == graph.commits()[1].schema != graph.commits()[2].schema
    assert_sound(graph)


def test_a_deleted_node_takes_its_edges_under_the_new_schema(graph: Graph) -> None:
    across(graph, WRITES["delete"], SOCIAL + PET)
    assert contents(graph) == (["Bob", "Cid"], ["Bob>Cid"], ["Choir"])


@pytest.mark.parametrize("what", ["insert", "upsert"])
def test_a_new_unique_holds_for_what_was_staged_before_it(graph: Graph, what: str) -> None:
    with graph.transaction() as txn:
        txn.insert("Person", persons(["Eve"], age=7))
    before = contents(graph)
    with pytest.raises(ConstraintViolation) as refused:
        across(graph, WRITES[what], UNIQUE)
    assert refused.value.kind == "unique"
    assert contents(graph) == before
    assert_sound(graph)


@pytest.mark.usefixtures("spilling")
def test_a_new_unique_holds_for_rows_in_files(graph: Graph) -> None:
    with pytest.raises(ConstraintViolation):
        across(graph, lambda txn: txn.insert("Person", persons(["Dot", "Eve"], age=9)), UNIQUE)
    assert people(graph) == ["Ann", "Bob", "Cid"]


@pytest.mark.parametrize("many", [False, True], ids=["in memory", "in files"])
def test_new_rules_of_values_hold(
    graph: Graph, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if many:
        monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
    with pytest.raises(ConstraintViolation) as refused:
        across(graph, lambda txn: txn.insert("Person", persons(["Dot"], age=41)), RANGED)
    assert refused.value.kind == "range"
    across(graph, lambda txn: txn.insert("Person", persons(["Eve"], age=40)), RANGED + PET)
    assert people(graph) == ["Ann", "Bob", "Cid", "Eve"]
    assert_sound(graph)


def test_a_rule_that_is_gone_does_not_hold(graph: Graph) -> None:
    graph.apply_schema(UNIQUE)
    across(graph, lambda txn: txn.insert("Person", persons(["Dot"], age=8)), SOCIAL)
    assert people(graph) == ["Ann", "Bob", "Cid", "Dot"]


@pytest.mark.parametrize(
    ("what", "schema"),
    [
        ("insert", WIDER),
        ("delete", WIDER),
        (
            "upsert",
            SOCIAL.replace("Person {", 'Human @rename_from("Person") {')
            .replace("Person ->", "Human ->")
            .replace("-> Person", "-> Human"),
        ),
        ("clear", CLUBLESS),
    ],
)
def test_what_does_not_fit_any_more_is_told_so(graph: Graph, what: str, schema: str) -> None:
    with pytest.raises(Conflict) as refused:
        across(graph, WRITES[what], schema)
    assert isinstance(refused.value, ReadSetConflict)
    assert_sound(graph)


def test_a_type_that_was_made_again_is_another(graph: Graph) -> None:
    with pytest.raises(ReadSetConflict), graph.transaction() as txn:
        txn.insert("Club", [{"name": "Band"}])
        txn._txn.prepare()
        graph.apply_schema(CLUBLESS)
        graph.apply_schema(SOCIAL)
    assert names(graph, "Club") == []
    assert_sound(graph)


def test_rows_that_moved_with_the_schema_are_not_deleted(graph: Graph) -> None:
    def delete(txn: Transaction) -> None:
        txn.delete("Person", ["Ann"])
        with graph.transaction() as other:
            other.insert("Knows", [edge("Ann", "Cid")])

    with pytest.raises(ExpectedVersionMismatch):
        across(graph, delete, SOCIAL + PET)
    assert pairs(graph) == ["Ann>Bob", "Ann>Cid", "Bob>Cid"]


def test_what_was_read_under_the_old_schema_is_refused(graph: Graph) -> None:
    def update(txn: Transaction) -> None:
        txn.scan("Person").read_all()
        txn.upsert("Person", persons(["Ann"], age=5))

    with pytest.raises(ReadSetConflict, match="schema change"):
        across(graph, update, SOCIAL + PET)


def test_a_schema_change_of_its_own_is_not_made_on_another(graph: Graph) -> None:
    def change(txn: Transaction) -> None:
        txn.apply_schema(SOCIAL + "\nnode Boat { name: String @key }")
        txn.insert("Boat", [{"name": "Bly"}])

    with pytest.raises(ReadSetConflict, match="schema change"):
        across(graph, change, SOCIAL + PET)


def test_writers_among_schema_changes(root: str) -> None:
    """Nothing lands that breaks a rule, and nobody is refused who does not."""
    graph = social_graph(root)
    stop, refused, landed = threading.Event(), list[OmniGraphError](), list[str]()

    def write(name: str, type_name: str, row: Callable[[int], dict[str, object]]) -> None:
        own = omnigraph.open(root, retry_budget=100)
        for n in count():
            if stop.is_set():
                return
            try:
                with own.transaction() as txn:
                    txn.insert(type_name, [row(n) | {"name": f"{name}{n}"}])
                landed.append(name)
            except ConstraintViolation:
                pass  # the rule was there
            except OmniGraphError as error:
                refused.append(error)

    def aged(n: int) -> dict[str, object]:
        return {"age": None if n % 4 else n // 4}

    given: tuple[tuple[str, str, Callable[[int], dict[str, object]]], ...] = (
        ("p", "Person", aged),
        ("q", "Person", aged),
        ("c", "Club", lambda n: {}),
    )
    schema = SOCIAL
    writers = [threading.Thread(target=write, args=each) for each in given]
    for each in writers:
        each.start()
    try:
        for n in range(3):
            schema += f"\nnode Other{n} {{ name: String @key }}"
            _with_rule(graph, schema)
            for _ in range(5):
                ages = graph.snapshot().scan("Person", ["age"]).read_all().column(0).drop_null()
                assert len(ages) == len(ages.unique())
                time.sleep(0.05)
            graph.apply_schema(schema)
    finally:
        stop.set()
        for each in writers:
            each.join()
    assert not refused, refused[:3]
    assert set(landed) == {"p", "q", "c"}
    assert_sound(graph)


def _with_rule(graph: Graph, schema: str) -> None:
    """Make ages unique, as soon as no two people have the same one."""
    for _ in range(50):
        graph.run_transaction("main", lambda txn: txn.overwrite("Person", []), attempts=50)
        with suppress(ConstraintViolation, PublishContention):
            graph.apply_schema(schema.replace("I64?", "I64? @unique"))
            return
    raise AssertionError("the rule never held")
