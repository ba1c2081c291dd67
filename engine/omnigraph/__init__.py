"""OmniGraph: a typed property graph in Lance tables, with branches and one atomic publish."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.graph import Branch, Graph, Schema, Transaction, init, open  # noqa: A004
    from omnigraph.storage.snapshot import Snapshot
    from omnigraph.storage.values import Commit

__all__ = ["Branch", "Commit", "Graph", "Schema", "Snapshot", "Transaction", "init", "open"]

_HOMES = {"Snapshot": "omnigraph.storage.snapshot", "Commit": "omnigraph.storage.values"}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the engine at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "omnigraph.graph")), name)
    globals()[name] = value
    return value
