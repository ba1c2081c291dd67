"""What this process remembers of a table is never mistaken for another version of it.

Branches, and transactions that were given up, take different rows out of one data file.
"""

from __future__ import annotations

import random

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ConstraintViolation
from support.social import add_person, assert_sound, pairs, people, persons, social_graph


def test_a_delete_that_was_refused_leaves_no_trace(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"], knows=["Ann>Bob"])
    for gone in ("Ann", "Bob", "Ann"):
        with pytest.raises(ConstraintViolation), graph.transaction() as txn:
            txn.delete("Person", [gone], cascade=False)
    assert pairs(graph) == ["Ann>Bob"]
    assert_sound(graph)


def test_a_transaction_that_was_given_up_leaves_no_trace(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob", "Cid"])
    given_up = graph.transaction()
    given_up.delete("Person", ["Ann"])
    assert given_up.scan("Person", ["id"]).read_all().num_rows == 2
    with graph.transaction() as txn:
        txn.delete("Person", ["Bob"])
    with graph.transaction() as txn:
        txn.upsert("Person", persons(["Ann"], age=50))
    assert people(graph) == ["Ann", "Cid"]
    assert_sound(graph)


def test_branches_that_delete_different_rows_of_one_file_stay_apart(root: str) -> None:
    names = [f"p{i:02}" for i in range(20)]
    graph = social_graph(root, people=names)
    expected = {"main": set(names), "left": set(names), "right": set(names)}
    for branch in ("left", "right"):
        graph.create_branch(branch)
    chance = random.Random(7)
    for step in range(60):
        branch = chance.choice(sorted(expected))
        if expected[branch] and chance.random() < 0.5:
            gone = chance.choice(sorted(expected[branch]))
            with graph.transaction(branch) as txn:
                txn.delete("Person", [gone])
            expected[branch].discard(gone)
        else:
            name = f"n{chance.randrange(30):02}-{step % 3}"
            with graph.transaction(branch) as txn:
                txn.upsert("Person", persons([name], age=step))
            expected[branch].add(name)
    for branch, there in expected.items():
        assert people(graph, branch) == sorted(there)
        assert people(open_graph(root), branch) == sorted(there)
    assert_sound(graph)


def test_ages_follow_the_branch_they_were_written_on(root: str) -> None:
    graph = social_graph(root, people=["Ann", "Bob"])
    graph.create_branch("work")
    for age in range(40, 60):
        for branch, name in (("main", "Ann"), ("work", "Bob")):
            with graph.transaction(branch) as txn:
                txn.upsert("Person", persons([name], age=age))
    add_person(graph, "Cid", branch="work")
    assert _ages(graph, "main") == {"Ann": 59, "Bob": 30}
    assert _ages(graph, "work") == {"Ann": 30, "Bob": 59, "Cid": 30}
    assert_sound(graph)


def _ages(graph: Graph, at: str) -> dict[str, int]:
    rows = graph.snapshot(at).scan("Person").read_all().to_pylist()
    return {row["name"]: row["age"] for row in rows}
