"""SQL over a graph: every branch a catalog, node and edge types as tables, results as Arrow.

sqlglot parses the session's dialect, the facade resolves names against pinned snapshots and
rewrites, DataFusion runs. May import `omnigraph`; knows nothing of transport.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection, connect
    from omnigraph_sql.session.statement import Statement

__all__ = ["Connection", "Statement", "connect"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "session.statement" if name == "Statement" else "session.connection"
    value = getattr(import_module(f"omnigraph_sql.{home}"), name)
    globals()[name] = value
    return value
