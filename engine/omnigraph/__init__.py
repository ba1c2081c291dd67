"""OmniGraph: a typed property graph in Lance tables, with branches and one atomic publish."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph, Schema, Transaction, init, open  # noqa: A004
    from omnigraph.api.references import Branch, Tags
    from omnigraph.storage.core.model import Commit
    from omnigraph.storage.manifest.tag_rows import Tag
    from omnigraph.storage.refs.snapshot import Snapshot

__all__ = [
    "Branch",
    "Commit",
    "Graph",
    "Schema",
    "Snapshot",
    "Tag",
    "Tags",
    "Transaction",
    "init",
    "open",
]

_HOMES = {
    "Branch": "omnigraph.api.references",
    "Commit": "omnigraph.storage.core.model",
    "Snapshot": "omnigraph.storage.refs.snapshot",
    "Tag": "omnigraph.storage.manifest.tag_rows",
    "Tags": "omnigraph.api.references",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the engine at the first use of a name: `omnigraph --help` does not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "omnigraph.api.graph")), name)
    globals()[name] = value
    return value
