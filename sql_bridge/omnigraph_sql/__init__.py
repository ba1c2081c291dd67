"""SQL over a graph: every branch a catalog, node and edge types as tables, results as Arrow.

sqlglot parses the session's dialect, the facade resolves names against pinned snapshots and
rewrites, DataFusion runs. May import `omnigraph`; knows nothing of transport.
"""

from __future__ import annotations

from omnigraph_sql.connection import Connection, connect
from omnigraph_sql.statement import Statement

__all__ = ["Connection", "Statement", "connect"]
