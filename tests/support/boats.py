"""Edits to the boats of docs/design/branching.md#8-worked-examples, and what a merge comes to."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph import Graph
from omnigraph.branching.merge.merge_branches import MergeResult
from omnigraph.errors import MergeConflict
from support.graphs import ids, rows, state


def put(graph: Graph, branch: str, name: str, **values: Any) -> None:  # noqa: ANN401
    """Insert a boat, or change some of its properties."""
    known = {row["name"]: row for row in rows(graph, "Boat", branch)}
    row = known.get(name, {"name": name, "crew": None, "flag": None, "reg": None}) | values
    with graph.transaction(branch) as txn:
        txn.upsert("Boat", [row])


def drop(graph: Graph, branch: str, name: str) -> None:
    """Delete a boat and its edges."""
    with graph.transaction(branch) as txn:
        txn.delete("Boat", [name])


def join(graph: Graph, branch: str, kind: str, src: str, dst: str, **values: Any) -> str:  # noqa: ANN401
    """Insert an edge, or replace it if its id is given; returns its id."""
    before = set(ids(graph, kind, branch))
    with graph.transaction(branch) as txn:
        txn.upsert(kind, [{"src": src, "dst": dst, **values}])
    given = values.get("id")
    return str(given) if given else (set(ids(graph, kind, branch)) - before).pop()


def part(graph: Graph, branch: str, kind: str, edge_id: str) -> None:
    """Delete an edge."""
    with graph.transaction(branch) as txn:
        txn.delete(kind, [edge_id])


def boat(graph: Graph, name: str, at: str = "main") -> dict[str, Any]:
    """One boat."""
    found = graph.snapshot(at).get("Boat", name)
    assert found is not None
    return found


Short = tuple[str, str, str | None]
"""A conflict as (kind, type, id)."""


def conflicts_of(
    graph: Graph,
    source: str = "wip",
    into: str = "main",
    **how: Any,  # noqa: ANN401
) -> list[Short]:
    """The conflicts of a merge that must fail, leave everything as it was, and be planned alike."""
    before = state(graph)
    planned = graph.merge(source, into, plan_only=True, **how)
    assert state(graph) == before
    with pytest.raises(MergeConflict) as caught:
        graph.merge(source, into, **how)
    assert state(graph) == before
    error = caught.value
    assert error.code == "merge_conflicts"
    assert error.hint
    assert [c.to_json() for c in planned.conflicts] == error.conflicts
    assert planned.conflict_counts == error.counts
    assert sum(error.counts.values()) >= len(error.conflicts) > 0
    assert error.to_json()["merge_conflicts"] == error.conflicts
    for each in error.conflicts:
        assert {"entity_kind", "type_name", "entity_id", "kind", "message"} <= each.keys()
        assert each["message"]
    return [(c["kind"], c["type_name"], c["entity_id"]) for c in error.conflicts]


def merged(
    graph: Graph,
    source: str = "wip",
    into: str = "main",
    **how: Any,  # noqa: ANN401
) -> MergeResult:
    """A merge that must succeed as planned, with the right parents, and leave the source alone."""
    heads = {branch.name: branch.commit for branch in graph.branches()}
    planned = graph.merge(source, into, plan_only=True, **how)
    assert {branch.name: branch.commit for branch in graph.branches()} == heads
    result = graph.merge(source, into, **how)
    assert (planned.outcome, planned.conflicts) == (result.outcome, ())
    now = {branch.name: branch.commit for branch in graph.branches()}
    assert now[source] == heads[source]
    if result.outcome == "already_up_to_date":
        assert (result.commit, now) == (None, heads)
    else:
        assert result.commit is not None
        assert result.commit.parents == (heads[into], heads[source])
        assert now[into] == result.commit.id
    return result
