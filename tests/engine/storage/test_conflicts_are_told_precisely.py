"""What happens to a write when the branch moved under it, and what its caller is told."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import omnigraph
from omnigraph.api.graph import Graph, Transaction
from omnigraph.errors import (
    Conflict,
    ExpectedVersionMismatch,
    InvalidInput,
    KeyConflict,
    NotFound,
    PreconditionFailed,
    PublishContention,
    ReadSetConflict,
)
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from support.social import (
    SOCIAL,
    add_person,
    assert_sound,
    edge,
    pairs,
    people,
    persons,
    social_graph,
)


def end(txn: Transaction) -> None:
    txn.__exit__(None, None, None)


def prepared(graph: Graph, operation: str) -> Transaction:
    """A transaction that has done its operation and not ended."""
    txn = graph.transaction()
    if operation == "insert":
        txn.insert("Person", persons(["Zoe"]))
    elif operation == "upsert":
        txn.upsert("Person", persons(["Ann"], age=99))
    elif operation == "delete":
        txn.delete("Person", ["Ann"])
    elif operation == "delete without cascade":
        txn.delete("Person", ["Ann"], cascade=False)
    else:
        txn.overwrite("Person", persons(["Zoe"]))
    return txn


@pytest.mark.parametrize("operation", ["delete", "delete without cascade", "overwrite"])
def test_a_strict_operation_is_refused_when_its_table_moved(root: str, operation: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = prepared(graph, operation)
    add_person(graph, "Bob")
    with pytest.raises(ExpectedVersionMismatch) as refused:
        end(txn)
    error = refused.value
    assert (error.table_key, error.expected, error.actual) == ("node:Person", 2, 3)
    assert "node:Person is at version 3, this write was prepared on 2" in str(error)
    assert error.to_json()["read_set_conflict"] == {
        "member": "node:Person",
        "expected": 2,
        "actual": 3,
    }
    assert people(graph) == ["Ann", "Bob"]


@pytest.mark.parametrize("operation", ["insert", "upsert"])
def test_a_constructive_operation_is_prepared_again(root: str, operation: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = prepared(graph, operation)
    add_person(graph, "Bob")
    end(txn)
    expected = {"insert": ["Ann", "Bob", "Zoe"], "upsert": ["Ann", "Bob"]}[operation]
    assert people(graph) == expected
    assert txn.commit is not None
    assert txn.commit.parent == graph.commits()[1].id
    assert_sound(graph)


def test_an_insert_prepared_again_meets_the_key_that_another_writer_took(root: str) -> None:
    graph = social_graph(root)
    txn = prepared(graph, "insert")
    add_person(graph, "Zoe", age=1)
    with pytest.raises(KeyConflict):
        end(txn)
    found = graph.snapshot().get("Person", "Zoe")
    assert found is not None and found["age"] == 1


@pytest.mark.parametrize("operation", ["insert", "upsert", "delete", "overwrite"])
def test_writes_to_other_tables_are_no_conflict(root: str, operation: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = prepared(graph, operation)
    with graph.transaction() as other:
        other.insert("Club", [{"name": "Chess"}])
    end(txn)
    assert graph.snapshot().count("Club") == 1
    assert_sound(graph)


def test_expected_table_versions_hold_or_refuse(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    with graph.transaction(expected_table_versions={"node:Person": 2}) as txn:
        txn.insert("Club", [{"name": "Chess"}])
    txn = graph.transaction(expected_table_versions={"node:Person": 2})
    txn.insert("Club", [{"name": "Choir"}])
    add_person(graph, "Bob")
    with pytest.raises(ExpectedVersionMismatch) as refused:
        end(txn)
    assert (refused.value.table_key, refused.value.expected, refused.value.actual) == (
        "node:Person",
        2,
        3,
    )
    with (
        pytest.raises(ExpectedVersionMismatch),
        graph.transaction(expected_table_versions={"node:Nobody": 1}) as unknown,
    ):
        unknown.insert("Club", [{"name": "Choir"}])
    assert graph.snapshot().count("Club") == 1


def test_if_commit_refuses_after_any_commit_of_the_branch(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    token = graph.snapshot().commit
    txn = graph.transaction(if_commit=token)
    txn.insert("Person", persons(["Bob"]))
    with graph.transaction() as unrelated:
        unrelated.insert("Club", [{"name": "Chess"}])
    assert unrelated.commit is not None
    with pytest.raises(PreconditionFailed) as refused:
        end(txn)
    assert refused.value.details["precondition_failed"] == {
        "expected": token,
        "actual": unrelated.commit.id,
    }
    with pytest.raises(PreconditionFailed):
        graph.transaction(if_commit=token)
    with graph.transaction(if_commit=unrelated.commit.id) as good:
        good.insert("Person", persons(["Bob"]))
    assert people(graph) == ["Ann", "Bob"]


def test_if_commit_on_a_fresh_branch_is_the_inherited_head(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    token = graph.snapshot().commit
    graph.create_branch("work")
    with graph.transaction("work", if_commit=token) as txn:
        txn.insert("Person", persons(["Bob"]))
    with pytest.raises(PreconditionFailed):
        graph.transaction("work", if_commit=token)
    assert graph.snapshot().commit == token


@pytest.mark.parametrize("form", ["*", '"{}"', "W/{}", " {}", ""])
def test_if_commit_takes_a_commit_id_and_nothing_else(root: str, form: str) -> None:
    graph = social_graph(root, people=["Ann"])
    with pytest.raises(InvalidInput, match="is not a commit id"):
        graph.transaction(if_commit=form.format(graph.snapshot().commit))


def test_if_commit_of_a_write_without_effect_makes_no_commit(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    token = graph.snapshot().commit
    with graph.transaction(if_commit=token) as txn:
        txn.delete("Person", ["nobody"])
    assert txn.commit is None
    assert graph.snapshot().commit == token


def test_a_write_to_a_branch_that_was_deleted_or_made_again_is_refused(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    for again in (False, True):
        graph.create_branch("work")
        txn = graph.transaction("work")
        txn.insert("Person", persons(["Bob"]))
        graph.delete_branch("work")
        if again:
            graph.create_branch("work")
        with pytest.raises((NotFound, Conflict)):
            end(txn)
        if again:
            assert people(graph, "work") == ["Ann"]
    assert_sound(graph)


def test_a_changed_schema_refuses_what_was_decided_before_it(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    txn = prepared(graph, "insert")
    txn.scan("Club").read_all()
    graph.apply_schema(graph.schema().source + "\nnode Pet { name: String @key }")
    with pytest.raises(ReadSetConflict) as refused:
        end(txn)
    assert refused.value.member == "schema"
    assert people(graph) == ["Ann"]


def test_a_cascade_takes_edges_that_its_own_view_saw_and_no_others(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob", "Cid"], knows=["Ann>Bob", "Bob>Cid"])
    txn = prepared(graph, "delete")
    with graph.transaction() as other:
        other.insert("Knows", [edge("Ann", "Cid")])
    with pytest.raises(ExpectedVersionMismatch) as refused:
        end(txn)
    assert refused.value.table_key == "edge:Knows"
    assert pairs(graph) == ["Ann>Bob", "Ann>Cid", "Bob>Cid"]
    end(prepared(graph, "delete"))
    assert pairs(graph) == ["Bob>Cid"]
    assert_sound(graph)


def test_a_schema_that_moves_after_a_lost_publish_is_a_conflict(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were read under the old schema are not staged on a head with the new one."""
    graph = social_graph(root, people=["Ann"])
    publisher = graph._store.publisher
    publish = publisher.publish
    lost: list[HeadMoved] = []

    def schema_moves_after_a_loss(plan: PublishPlan, **how: Any) -> Any:  # noqa: ANN401
        if plan.message != "late" or lost:
            return publish(plan, **how)
        add_person(graph, "Bob")
        with pytest.raises(HeadMoved) as moved:
            publish(plan, **how)
        lost.append(moved.value)
        graph.apply_schema(SOCIAL.replace("age: I64?", "age: I64?  note: String?"))
        raise moved.value

    monkeypatch.setattr(publisher, "publish", schema_moves_after_a_loss)
    with pytest.raises(ReadSetConflict) as refused, graph.transaction(message="late") as txn:
        txn.insert("Person", persons(["Zoe"]))
    assert lost[0].member == "node:Person" and refused.value.member == "schema"
    assert people(graph) == ["Ann", "Bob"]
    assert_sound(graph)


# --------------------------------------------------------------------------- running again


def test_a_function_runs_again_when_what_it_read_moved(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    runs: list[Transaction] = []

    def count(txn: Transaction) -> int:
        runs.append(txn)
        number: int = txn.scan("Person", ["id"]).read_all().num_rows
        if len(runs) < 3:
            add_person(graph, f"meanwhile {number}")
        txn.upsert("Person", persons(["Ann"], age=number))
        return number

    assert graph.run_transaction("main", count, message="counted", actor="me") == 3
    assert len(runs) == 3 and len({id(txn) for txn in runs}) == 3
    newest = graph.commits()[0]
    assert (newest.message, newest.actor) == ("counted", "me")
    assert [txn.commit for txn in runs] == [None, None, newest]
    found = graph.snapshot().get("Person", "Ann")
    assert found is not None and found["age"] == 3
    assert_sound(graph)


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_function_that_is_always_overtaken_is_refused(root: str, attempts: int) -> None:
    graph = social_graph(root, people=["Ann"])
    runs: list[int] = []

    def overtaken(txn: Transaction) -> None:
        runs.append(len(runs))
        txn.delete("Person", ["Ann"])
        add_person(graph, f"p{len(runs)}")

    with pytest.raises(ReadSetConflict):
        graph.run_transaction("main", overtaken, attempts=attempts)
    assert len(runs) == attempts
    assert "Ann" in people(graph)


@pytest.mark.parametrize(("attempts", "runs"), [(1, 1), (2, 2), (None, 3)])
def test_a_function_runs_again_when_its_commit_lost_every_publish(
    root: str, monkeypatch: pytest.MonkeyPatch, attempts: int | None, runs: int
) -> None:
    """Twelve moves use up two budgets of five; what lands is that of one run."""
    graph, rival = social_graph(root), omnigraph.open(root)
    publisher = graph._store.publisher
    monkeypatch.setattr(rival._store.publisher, "_machine", nullcontext())
    publish, moves, run = publisher.publish, iter(range(12)), list[int]()

    def overtaken(plan: PublishPlan, **how: Any) -> Any:  # noqa: ANN401
        for number in moves:
            add_person(rival, f"p{number}")
            break
        return publish(plan, **how)

    def add(txn: Transaction) -> int:
        run.append(1)
        txn.insert("Person", persons(["Zoe"], age=len(run)))
        return len(run)

    monkeypatch.setattr(publisher, "publish", overtaken)
    if attempts is None:
        assert graph.run_transaction("main", add) == runs
        found = graph.snapshot().get("Person", "Zoe")
        assert found is not None and found["age"] == runs
    else:
        with pytest.raises(PublishContention):
            graph.run_transaction("main", add, attempts=attempts)
        assert "Zoe" not in people(graph)
    assert len(run) == runs
    assert_sound(graph)


def test_a_function_that_fails_is_not_run_again(root: str) -> None:
    graph = social_graph(root, people=["Ann"])
    runs: list[int] = []

    def fails(txn: Transaction) -> None:
        runs.append(1)
        txn.delete("Person", ["Ann"])
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        graph.run_transaction("main", fails)
    assert runs == [1] and people(graph) == ["Ann"]
