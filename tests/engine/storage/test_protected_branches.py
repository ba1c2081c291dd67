"""A protected branch is moved by merges only, and not deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import omnigraph
from omnigraph.api.graph import Graph
from omnigraph.errors import BranchProtected, NotFound
from support.graphs import BOATS, boats, contents, ids, ndjson, node, refused

DOT = ndjson(node("Boat", name="Dot"))
INSERT = 'query add() { insert Boat { name: "Dot" } }'
STORED = "query all() { match { $b: Boat } return { $b.name } }"


def transact(graph: Graph, branch: str) -> None:
    with graph.transaction(branch) as txn:
        txn.insert("Boat", [{"name": "Dot"}])


WRITES: dict[str, Callable[[Graph, str], object]] = {
    "load": lambda graph, branch: graph.load(DOT, branch=branch),
    "an empty load": lambda graph, branch: graph.load(b"", branch=branch),
    "mutate": lambda graph, branch: graph.mutate(INSERT, branch=branch),
    "transaction": transact,
    "schema": lambda graph, branch: graph.apply_schema(
        BOATS + "node Port { name: String @key }", branch=branch
    ),
    "register": lambda graph, branch: graph.register_queries(STORED, branch=branch),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("branch", ["main", "rel/1"])
def test_direct_writes_are_refused(root: str, how: str, branch: str) -> None:
    graph = boats(root)
    if branch != "main":
        graph.create_branch(branch)
    assert graph.protect_branch(branch).protected
    for writer in (graph, omnigraph.open(root)):
        error = refused(graph, BranchProtected, partial(WRITES[how], writer, branch))
        assert (error.code, error.details["branch"]) == ("branch_protected", branch)
        assert f"unprotect {branch}" in str(error)
    graph.unprotect_branch(branch)
    WRITES[how](graph, branch)
    assert graph.verify(rules=True).ok


def test_removing_a_stored_query_is_a_write(root: str) -> None:
    graph = boats(root)
    graph.register_queries(STORED)
    graph.protect_branch("main")
    refused(graph, BranchProtected, lambda: graph.remove_query("all"))


@pytest.mark.parametrize("how", ["load", "transaction"])
def test_protection_that_comes_while_a_write_is_prepared_still_holds(root: str, how: str) -> None:
    """The publish looks at the head it finds, in whatever process the protection was set."""
    graph = boats(root)
    with pytest.raises(BranchProtected), graph.transaction() as txn:
        txn.insert("Boat", [{"name": "Dot"}])
        if how == "transaction":
            assert txn.scan("Boat").read_all().num_rows == 4
        omnigraph.open(root).protect_branch("main")
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("kind", ["fast_forward", "merged"])
def test_a_merge_moves_it(root: str, kind: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    if kind == "merged":
        graph.load(ndjson(node("Boat", name="Eel")))
    graph.protect_branch("main")
    result = graph.merge("wip")
    assert result.outcome == kind
    assert "Dot" in ids(graph, "Boat")
    assert graph.branches()[0].protected
    assert graph.verify(rules=True).ok


def test_a_merge_of_a_hidden_branch_is_a_direct_write(root: str) -> None:
    """Such a branch is the work of one transaction, and nobody could look at it before."""
    graph = boats(root)
    graph.create_branch("__txn/1", hidden=True)
    graph.load(DOT, branch="__txn/1")
    graph.protect_branch("main")
    refused(graph, BranchProtected, lambda: graph.merge("__txn/1", delete_source=True))
    graph.unprotect_branch("main")
    graph.merge("__txn/1", delete_source=True)
    assert "Dot" in ids(graph, "Boat")


def test_a_merge_does_not_delete_it(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    graph.protect_branch("wip")
    result = graph.merge("wip", delete_source=True)
    assert not result.branch_deleted and result.branch_delete_error
    assert [b.name for b in graph.branches()] == ["main", "wip"]


def test_upkeep_may_pass(root: str) -> None:
    graph = boats(root)
    graph.load(DOT)
    graph.protect_branch("main")
    before = contents(graph)
    assert graph.optimize().commit is not None
    graph.collect(keep=1)
    assert contents(graph) == before
    assert graph.branches()[0].protected
    assert graph.verify(rules=True).ok


def test_it_is_not_deleted(root: str) -> None:
    graph = boats(root)
    graph.create_branch("rel")
    graph.protect_branch("rel")
    error = refused(graph, BranchProtected, lambda: graph.delete_branch("rel"))
    assert "unprotect rel" in str(error)
    graph.unprotect_branch("rel")
    graph.delete_branch("rel")
    assert [b.name for b in graph.branches()] == ["main"]


def test_protection_makes_no_commit_and_can_be_said_twice(root: str) -> None:
    graph = boats(root)
    before = [c.id for c in graph.commits()]
    for _ in range(2):
        assert graph.protect_branch("main").protected
    for _ in range(2):
        assert not graph.unprotect_branch("main").protected
    assert [c.id for c in graph.commits()] == before
    refused(graph, NotFound, lambda: graph.protect_branch("nowhere"))
    refused(graph, NotFound, lambda: graph.unprotect_branch("nowhere"))


def test_branches_of_a_protected_one_are_free(root: str) -> None:
    graph = boats(root)
    graph.protect_branch("main")
    assert not graph.create_branch("wip").protected
    graph.load(DOT, branch="wip")
    graph.tags.create("v1")
    assert [(b.name, b.protected) for b in graph.branches()] == [("main", True), ("wip", False)]
    assert graph.verify(rules=True).ok
