"""SQL over a graph: every branch a catalog, node and edge types as tables, results as Arrow.

sqlglot parses the session's dialect, names are resolved against pinned snapshots and the query is
rewritten, DataFusion runs it. Imports the faces of `omnigraph`; knows nothing of transport.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_sql.catalog import client_metadata
    from omnigraph_sql.catalog.access_guard import AccessRequest, Action
    from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
    from omnigraph_sql.catalog.find_relation import find_schema
    from omnigraph_sql.datafusion.datafusion_session import PlanCounts, configure, plan_counts
    from omnigraph_sql.session.connection import Connection, connect
    from omnigraph_sql.session.script import Script
    from omnigraph_sql.session.statement import Statement
    from omnigraph_sql.writing.dml.ingest import IngestMode

__all__ = [
    "AccessRequest",
    "Action",
    "Connection",
    "EDGES",
    "IngestMode",
    "NODES",
    "PlanCounts",
    "Script",
    "Statement",
    "client_metadata",
    "configure",
    "connect",
    "find_schema",
    "plan_counts",
]

_HOMES = {
    "AccessRequest": "catalog.access_guard",
    "Action": "catalog.access_guard",
    "Connection": "session.connection",
    "EDGES": "catalog.catalog_tables",
    "IngestMode": "writing.dml.ingest",
    "NODES": "catalog.catalog_tables",
    "PlanCounts": "datafusion.datafusion_session",
    "Script": "session.script",
    "Statement": "session.statement",
    "client_metadata": "catalog.client_metadata",
    "configure": "datafusion.datafusion_session",
    "connect": "session.connection",
    "find_schema": "catalog.find_relation",
    "plan_counts": "datafusion.datafusion_session",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    value = home if name == "client_metadata" else getattr(home, name)
    globals()[name] = value
    return value
