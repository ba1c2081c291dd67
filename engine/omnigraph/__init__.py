"""OmniGraph: a typed property graph in Lance tables, with branches and one atomic publish."""

from omnigraph.graph import Branch, Graph, Schema, Transaction, init, open  # noqa: A004
from omnigraph.storage.snapshot import Snapshot
from omnigraph.storage.values import Commit

__all__ = ["Branch", "Commit", "Graph", "Schema", "Snapshot", "Transaction", "init", "open"]
