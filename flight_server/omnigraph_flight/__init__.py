"""The Arrow Flight SQL server: transport, sessions, tickets, authentication, policies.

Imports the faces of `omnigraph` and `omnigraph_sql`; neither knows of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from omnigraph_flight.config import Config as Config
    from omnigraph_flight.server import Server as Server

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "config": "Config",
        "server": "Server",
    },
)
