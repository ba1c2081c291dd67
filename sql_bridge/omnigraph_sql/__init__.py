"""SQL over a graph: every branch a catalog, node and edge types as tables, results as Arrow.

sqlglot parses the session's dialect, the facade resolves names against pinned snapshots and
rewrites, DataFusion runs. Imports the faces of `omnigraph`; knows nothing of transport.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_sql.catalog.access_guard import AccessRequest, Action
    from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
    from omnigraph_sql.catalog.find_relation import find_schema
    from omnigraph_sql.frontend.identifiers import IdentifierPart
    from omnigraph_sql.session.connection import Connection, connect
    from omnigraph_sql.session.script import Script
    from omnigraph_sql.session.statement import Statement
    from omnigraph_sql.writing.dml.ingest import IngestMode

__all__ = [
    "AccessRequest",
    "Action",
    "Connection",
    "EDGES",
    "IdentifierPart",
    "IngestMode",
    "NODES",
    "Script",
    "Statement",
    "connect",
    "find_schema",
]

_HOMES = {
    "AccessRequest": "omnigraph_sql.catalog.access_guard",
    "Action": "omnigraph_sql.catalog.access_guard",
    "Connection": "omnigraph_sql.session.connection",
    "EDGES": "omnigraph_sql.catalog.catalog_tables",
    "IdentifierPart": "omnigraph_sql.frontend.identifiers",
    "IngestMode": "omnigraph_sql.writing.dml.ingest",
    "NODES": "omnigraph_sql.catalog.catalog_tables",
    "Script": "omnigraph_sql.session.script",
    "Statement": "omnigraph_sql.session.statement",
    "connect": "omnigraph_sql.session.connection",
    "find_schema": "omnigraph_sql.catalog.find_relation",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
