"""A branch never points to what a collection gave up."""

from __future__ import annotations

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import Reclaimed
from support.social import add_person, assert_sound, people, social_graph


def collected_graph(root: str) -> Graph:
    graph = social_graph(root)
    for i in range(6):
        add_person(graph, f"p{i}")
    graph.collect(keep=2)
    return graph


def test_a_branch_of_the_head_knows_which_past_is_gone(root: str) -> None:
    graph = collected_graph(root)
    graph.create_branch("work")
    assert_sound(graph)
    with pytest.raises(Reclaimed):
        people(open_graph(root), "work@v3")
    add_person(graph, "late", branch="work")
    graph.collect()
    assert_sound(graph)


@pytest.mark.parametrize("by", ["version", "commit", "branch and commit"])
def test_a_branch_of_a_reclaimed_moment_is_refused(root: str, by: str) -> None:
    graph = collected_graph(root)
    old = graph.commits()[-3]
    moment = {
        "version": f"main@v{old.version}",
        "commit": old.id,
        "branch and commit": f"main@{old.id}",
    }[by]
    with pytest.raises(Reclaimed):
        graph.create_branch("old", moment)
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert_sound(graph)


def test_a_branch_of_a_kept_moment_is_made(root: str) -> None:
    graph = collected_graph(root)
    graph.create_branch("kept", graph.commits()[1].id)
    assert people(graph, "kept") == [f"p{i}" for i in range(5)]
    graph.collect(keep=1)
    assert people(graph, "kept") == [f"p{i}" for i in range(5)]
    assert_sound(graph)


def test_the_last_commit_of_a_deleted_branch_cannot_come_back(root: str) -> None:
    """Its files may be deleted at any moment, even if they still are there."""
    graph = social_graph(root)
    graph.create_branch("work")
    lost = add_person(graph, "Ann", branch="work")
    graph.delete_branch("work")
    with pytest.raises(Reclaimed):
        graph.create_branch("again", lost.id)
    graph.collect()
    with pytest.raises(Reclaimed):
        graph.create_branch("again", lost.id)
    assert_sound(graph)


def test_a_commit_that_another_branch_holds_survives_the_branch_it_was_made_on(root: str) -> None:
    graph = social_graph(root)
    graph.create_branch("work")
    made = add_person(graph, "Ann", branch="work")
    graph.create_branch("other", "work")
    graph.delete_branch("work")
    graph.collect()
    graph.create_branch("again", made.id)
    assert people(graph, "again") == ["Ann"]
    assert_sound(graph)
