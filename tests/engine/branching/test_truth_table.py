"""Every row of docs/design/branching.md#entity-truth-table, for nodes and for edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph import Graph
from support.boats import conflicts_of, merged
from support.graphs import rows

SCHEMA = """
node Port { name: String @key  size: I32? }
edge Route: Port -> Port { days: I32? }
"""

# base, source, target -> result; an image is a letter, and `-` stands for absent.
TABLE = """
- x - x
- - x x
- x x x
- x y divergent_insert
b b b b
b x b x
b b x x
b x x x
b x y divergent_update
b - b -
b b - -
b - - -
b - x delete_vs_update
b x - delete_vs_update
"""
ROWS = [tuple(line.split()) for line in TABLE.split("\n") if line]
VALUES = {"b": 1, "x": 2, "y": 3}


def image(kind: str, letter: str) -> dict[str, Any]:
    if kind == "Port":
        return {"id": "it", "name": "it", "size": VALUES[letter]}
    return {"id": "it", "src": "a", "dst": "b", "days": VALUES[letter]}


def become(graph: Graph, branch: str, kind: str, letter: str) -> None:
    """Bring the entity to an image; the branch moves in any case."""
    with graph.transaction(branch) as txn:
        txn.upsert("Port", [{"name": f"only on {branch}"}])
        if letter == "-":
            txn.delete(kind, ["it"])
        else:
            txn.upsert(kind, [image(kind, letter)])


def found(graph: Graph, kind: str) -> dict[str, Any] | None:
    return next((row for row in rows(graph, kind) if row["id"] == "it"), None)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = omnigraph.init(tmp_path / "graph", SCHEMA)
    with graph.transaction() as txn:
        txn.insert("Port", [{"name": "a"}, {"name": "b"}])
    return graph


@pytest.mark.parametrize("kind", ["Port", "Route"])
@pytest.mark.parametrize(("base", "source", "target", "result"), ROWS, ids=" ".join)
def test_row(graph: Graph, kind: str, base: str, source: str, target: str, result: str) -> None:
    become(graph, "main", kind, base)
    graph.create_branch("wip")
    become(graph, "wip", kind, source)
    become(graph, "main", kind, target)
    if len(result) > 1:
        assert conflicts_of(graph) == [(result, kind, "it")]
        return
    assert merged(graph).outcome == "merged"
    assert found(graph, kind) == (None if result == "-" else image(kind, result))
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("kind", ["Port", "Route"])
@pytest.mark.parametrize("granularity", ["entity", "property"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize(("base", "source", "target"), [r[:3] for r in ROWS if len(r[3]) > 1])
def test_a_conflict_decided_beforehand(
    graph: Graph, kind: str, base: str, source: str, target: str, side: str, granularity: str
) -> None:
    become(graph, "main", kind, base)
    graph.create_branch("wip")
    become(graph, "wip", kind, source)
    become(graph, "main", kind, target)
    merged(graph, on_conflict=side, granularity=granularity)
    chosen = target if side == "ours" else source
    assert found(graph, kind) == (None if chosen == "-" else image(kind, chosen))
    assert graph.verify(rules=True).ok


def test_the_table_is_whole() -> None:
    cases = {row[:3] for row in ROWS}
    assert len(cases) == len(ROWS) == 14
