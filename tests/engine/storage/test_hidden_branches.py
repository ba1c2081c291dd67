"""Branches that are nobody's but the machinery's: where transactions gather before they merge."""

from __future__ import annotations

import pytest

from engine.exec_mutations.harness import store_of
from omnigraph.errors import ConstraintViolation, InvalidInput, KeyConflict
from omnigraph.storage.refs.branches import create_branch
from support.graphs import boats


def test_users_neither_make_nor_see_them(root: str) -> None:
    graph = boats(root)
    with pytest.raises(InvalidInput, match="__"):
        graph.create_branch("__txn/1")
    create_branch(store_of(graph), "__txn/1")
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert graph.snapshot("__txn/1").count("Boat") == 3
    graph.delete_branch("__txn/1")


def test_checks_across_tables_are_left_to_the_merge(root: str) -> None:
    graph = boats(root)
    create_branch(store_of(graph), "__txn/1", deferred_checks=True)
    with graph.transaction("__txn/1") as txn:
        txn.insert("Meets", [{"from": "Ada", "to": "Dot"}])
        txn.insert("Tows", [{"from": "Ada", "to": "Bly"}, {"from": "Ada", "to": "Cap"}])
        txn.delete("Boat", ["Bly"], cascade=False)
    assert graph.snapshot("__txn/1").count("Tows") == 2
    with pytest.raises(KeyConflict), graph.transaction("__txn/1") as txn:
        txn.insert("Boat", [{"name": "Ada"}])
    with pytest.raises(ConstraintViolation), graph.transaction("__txn/1") as txn:
        txn.insert("Boat", [{"name": "X", "reg": "r"}, {"name": "Y", "reg": "r"}])
    with pytest.raises(ConstraintViolation), graph.transaction() as txn:
        txn.insert("Meets", [{"from": "Ada", "to": "Dot"}])


def test_a_fork_of_an_unchecked_branch_is_unchecked(root: str) -> None:
    graph = boats(root)
    create_branch(store_of(graph), "run", deferred_checks=True)
    graph.create_branch("child", "run")
    assert store_of(graph).head("child").properties["deferred_checks"] is True
    graph.create_branch("other")
    assert "deferred_checks" not in store_of(graph).head("other").properties
