"""What planning and writing need to know of the session for which they work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from omnigraph import Graph, Snapshot
from omnigraph_sql.catalog.access_guard import Guard
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.datafusion.datafusion_session import DataFusionSession
from omnigraph_sql.datafusion.result_stream import QueryExecution


class SessionContext(Protocol):
    """A session as the layers below it see it."""

    graph: Graph
    datafusion: DataFusionSession
    user: str | None
    guard: Guard
    catalog: str
    """The current branch or moment, in which names without a catalog are looked up."""
    schema: str
    """The current schema."""

    @property
    def dialect(self) -> str:
        """The dialect of its statements."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def pins(self) -> PinnedSnapshots:
        """Snapshots for one statement."""

    def pinned(self, catalog: str, snapshot: Snapshot) -> AbstractContextManager[None]:
        """A block in which a catalog is read at a given snapshot."""

    def start(self) -> QueryExecution:
        """The execution of the next query, which `cancel` of the session stops."""

    def writable(self, catalog: str, text: str) -> str:
        """The branch to which a statement for a catalog writes."""

    def one_publish(self, catalog: str | None = None) -> AbstractContextManager[None]:
        """A block whose statements are one transaction, unless one is open already."""

    def remember_temporary(self, catalog: str, name: str) -> None:
        """Drop a table or view when the session ends."""
