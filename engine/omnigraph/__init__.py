"""OmniGraph: a typed property graph in Lance tables, with branches and one atomic publish."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph, Schema, Transaction, init, open  # noqa: A004
    from omnigraph.api.references import Branch, Tags
    from omnigraph.branching.compare.change_rows import CHANGE_SCHEMA
    from omnigraph.exec.graph.reachability import REACH_SCHEMA
    from omnigraph.exec.run.query_result import QueryResult
    from omnigraph.storage.core.model import Commit
    from omnigraph.storage.core.object_store import StoredFolder
    from omnigraph.storage.manifest.tag_rows import Tag
    from omnigraph.storage.refs.branches import is_hidden
    from omnigraph.storage.refs.snapshot import Snapshot

__all__ = [
    "Branch",
    "CHANGE_SCHEMA",
    "Commit",
    "Graph",
    "QueryResult",
    "REACH_SCHEMA",
    "Schema",
    "Snapshot",
    "StoredFolder",
    "Tag",
    "Tags",
    "Transaction",
    "init",
    "is_hidden",
    "open",
]

_HOMES = {
    "Branch": "omnigraph.api.references",
    "CHANGE_SCHEMA": "omnigraph.branching.compare.change_rows",
    "Commit": "omnigraph.storage.core.model",
    "Graph": "omnigraph.api.graph",
    "QueryResult": "omnigraph.exec.run.query_result",
    "REACH_SCHEMA": "omnigraph.exec.graph.reachability",
    "Schema": "omnigraph.api.graph",
    "Snapshot": "omnigraph.storage.refs.snapshot",
    "StoredFolder": "omnigraph.storage.core.object_store",
    "Tag": "omnigraph.storage.manifest.tag_rows",
    "Tags": "omnigraph.api.references",
    "Transaction": "omnigraph.api.graph",
    "init": "omnigraph.api.graph",
    "is_hidden": "omnigraph.storage.refs.branches",
    "open": "omnigraph.api.graph",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
