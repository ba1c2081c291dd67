"""What graph tests share: the schemas of the reference, records, and reading a graph plainly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

import omnigraph
from omnigraph.errors import OmniGraphError

GARDEN = """
node Plant { tag: String @key  latin: String  height: F32?  planted: Date?
             bed: enum(north, south)?  labels: [String]?  code: String? @unique
             @range(height, 0..900) }
node Visit { note: String }
edge Near: Plant -> Plant { metres: F64? }
edge Seen: Plant -> Visit @card(0..2)
"""

STATE_A = """\
{"edge":"near","from":"P1","to":"P2","data":{"id":"n1","metres":2}}
{"type":"Plant","data":{"tag":"P1","latin":"Acer","height":310.5,"planted":"2024-01-01","labels":[]}}
{"type":"Plant","data":{"tag":"P2","latin":"Taxus","code":"T9"}}
{"type":"Visit","data":{"id":"v1","note":"wet"}}
"""

BOATS = """
node Boat { name: String @key  crew: I32?  flag: String?  reg: String? @unique }
edge Tows: Boat -> Boat @card(0..1)
edge Meets: Boat -> Boat
"""

Row = dict[str, Any]
Contents = dict[str, list[Row]]
E = TypeVar("E", bound=OmniGraphError)


def node(type_name: str, /, **data: Any) -> Row:  # noqa: ANN401
    """A node record of a load."""
    return {"type": type_name, "data": data}


def edge(name: str, from_: str, to: str, /, **data: Any) -> Row:  # noqa: ANN401
    """An edge record of a load."""
    return {"edge": name, "from": from_, "to": to, "data": data}


def ndjson(*records: Row) -> bytes:
    """Records as the text of a load."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def garden(root: str) -> omnigraph.Graph:
    """A graph in state A of docs/design/loading.md#9-worked-examples."""
    graph = omnigraph.init(root, GARDEN)
    graph.load(STATE_A.encode(), mode="overwrite")
    return graph


def boats(root: str) -> omnigraph.Graph:
    """Ada, Bly and Cap, and Bly meets Cap: the base of
    docs/design/branching.md#8-worked-examples."""
    graph = omnigraph.init(root, BOATS)
    graph.load(
        ndjson(
            node("Boat", name="Ada", crew=2),
            node("Boat", name="Bly", crew=3),
            node("Boat", name="Cap", flag="NL"),
            edge("Meets", "Bly", "Cap", id="m1"),
        )
    )
    return graph


def rows(
    graph: omnigraph.Graph, type_name: str, at: str = "main", columns: list[str] | None = None
) -> list[Row]:
    """The entities of a type at a moment, by id."""
    read: list[Row] = graph.snapshot(at).scan(type_name, columns).read_all().to_pylist()
    return sorted(read, key=lambda row: str(row.get("id")))


def ids(graph: omnigraph.Graph, type_name: str, at: str = "main") -> list[str]:
    """The ids of a type at a moment, sorted."""
    return [row["id"] for row in rows(graph, type_name, at, ["id"])]


def contents(graph: omnigraph.Graph, at: str = "main") -> Contents:
    """Everything a moment shows, by table key and id."""
    types = graph.snapshot(at).types()
    return {type_.table_key: rows(graph, type_.table_key, at) for type_ in types}


def state(graph: omnigraph.Graph) -> dict[str, tuple[str, Contents]]:
    """Head and contents of every branch."""
    return {b.name: (b.commit, contents(graph, b.name)) for b in graph.branches()}


def refused(
    graph: omnigraph.Graph, kind: type[E] | tuple[type[E], ...], action: Callable[[], object]
) -> E:
    """The error of an action that must fail and leave every branch as it was."""
    before = state(graph)
    with pytest.raises(kind) as caught:
        action()
    assert state(graph) == before
    assert caught.value.message
    return caught.value
