"""SQL over a graph: every branch a catalog, node and edge types as tables, results as Arrow.

sqlglot parses the session's dialect, names are resolved against pinned snapshots and the query is
rewritten, DataFusion runs it. Imports the faces of `omnigraph`; knows nothing of transport.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from omnigraph_sql.catalog import client_metadata as client_metadata
    from omnigraph_sql.catalog.access_guard import AccessRequest as AccessRequest
    from omnigraph_sql.catalog.access_guard import Action as Action
    from omnigraph_sql.catalog.catalog_tables import EDGES as EDGES
    from omnigraph_sql.catalog.catalog_tables import NODES as NODES
    from omnigraph_sql.catalog.find_relation import find_schema as find_schema
    from omnigraph_sql.datafusion.datafusion_session import PlanCounts as PlanCounts
    from omnigraph_sql.datafusion.datafusion_session import configure as configure
    from omnigraph_sql.datafusion.datafusion_session import plan_counts as plan_counts
    from omnigraph_sql.session.connection import Connection as Connection
    from omnigraph_sql.session.connection import connect as connect
    from omnigraph_sql.session.script import Script as Script
    from omnigraph_sql.session.statement import Statement as Statement
    from omnigraph_sql.writing.dml.ingest import IngestMode as IngestMode

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "catalog": "client_metadata",
        "catalog.access_guard": "AccessRequest Action",
        "catalog.catalog_tables": "EDGES NODES",
        "catalog.find_relation": "find_schema",
        "datafusion.datafusion_session": "PlanCounts configure plan_counts",
        "session.connection": "Connection connect",
        "session.script": "Script",
        "session.statement": "Statement",
        "writing.dml.ingest": "IngestMode",
    },
)
