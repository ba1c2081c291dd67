"""The Arrow Flight SQL server: transport, sessions, tickets, authentication, policies.

Imports the faces of `omnigraph` and `omnigraph_sql`; neither knows of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_flight.config import Config
    from omnigraph_flight.server import Server

__all__ = [
    "Config",
    "Server",
]

_HOMES = {
    "Config": "omnigraph_flight.config",
    "Server": "omnigraph_flight.server",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
