"""Does one thing to a social graph and reports how it ended; for races staged with failpoints."""

from __future__ import annotations

from typing import Any

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.errors import OmniGraphError
from omnigraph.storage.tables import write_buffer
from support.social import edge, persons
from support.workers.reporting import report, wait_for_go


def work(asked: dict[str, Any]) -> None:
    graph = open_graph(asked["root"])
    graph.snapshot()
    wait_for_go()
    try:
        commit = _act(graph, asked)
    except OmniGraphError as error:
        report("end", code=error.code, kind=type(error).__name__, error=str(error))
    else:
        report("end", code=None, commit=commit)


def _act(graph: Graph, asked: dict[str, Any]) -> str | None:
    """`{"insert": {"Person": ["Ann"], "Knows": ["Ann>Bob"]}}` and the like, as one transaction."""
    if "create_branch" in asked:
        return graph.create_branch(asked["create_branch"]).commit
    if "delete_branch" in asked:
        graph.delete_branch(asked["delete_branch"])
        return None
    if "merge" in asked:
        merged = graph.merge(asked["merge"]).commit
        return merged.id if merged else None
    if "collect" in asked:
        graph.collect()
        return None
    if "optimize" in asked:
        commit = graph.optimize(asked["optimize"]).commit
        return commit.id if commit else None
    if "write_many" in asked:
        return _write_many(graph, asked["write_many"])
    with graph.transaction(message=asked.get("message")) as txn:
        for type_name, given in asked.get("insert", {}).items():
            txn.insert(type_name, _rows(type_name, given))
        for type_name, given in asked.get("upsert", {}).items():
            txn.upsert(type_name, _rows(type_name, given))
        for type_name, given in asked.get("overwrite", {}).items():
            txn.overwrite(type_name, _rows(type_name, given))
        for type_name, ids in asked.get("delete", {}).items():
            txn.delete(type_name, ids, cascade=asked.get("cascade", True))
    return txn.commit.id if txn.commit else None


def _write_many(graph: Graph, names: list[str]) -> str | None:
    """A bulk write whose rows go to files as they come."""
    usual, write_buffer.SPILL_BYTES = write_buffer.SPILL_BYTES, 1
    try:
        with graph.transaction() as txn:
            for name in names:
                txn.upsert("Person", persons([name]))
            assert txn._txn._registration is not None, "nothing was spilled"
    finally:
        write_buffer.SPILL_BYTES = usual
    return txn.commit.id if txn.commit else None


def _rows(type_name: str, given: list[str]) -> list[dict[str, Any]]:
    if type_name == "Person":
        return persons(given)
    if type_name == "Club":
        return [{"name": name} for name in given]
    return [edge(*pair.split(">")) for pair in given]
