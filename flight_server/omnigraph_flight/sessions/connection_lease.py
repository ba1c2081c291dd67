"""A connection of the SQL facade, leased to one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import omnigraph_sql
from omnigraph import Snapshot
from omnigraph.errors import OmniGraphError
from omnigraph_flight.access.session_settings import DEFAULT_SCHEMA, Settings


class ConnectionLease:
    """A connection of the SQL facade and the lock that lets one thread at a time use it."""

    def __init__(
        self, connection: omnigraph_sql.Connection, settings: Settings, *, pooled: bool = False
    ) -> None:
        self.connection = connection
        self.settings = settings
        self.pooled = pooled
        """Whether it belongs to no session and serves one read after the other."""
        self.lock = threading.RLock()

    @contextmanager
    def pinned(self, snapshot: Snapshot | None = None) -> Iterator[Snapshot | None]:
        """A block in which the catalog is read at one moment, by default the newest.

        None inside a transaction, which reads its own branch.
        """
        connection = self.connection
        if connection.in_transaction:
            yield None
            return
        pinned = snapshot or connection.graph.snapshot(connection.catalog)
        with connection.pinned(connection.catalog, pinned):
            yield pinned

    def apply(self, settings: Settings) -> None:
        """Switch branch, schema and dialect, also inside a transaction."""
        connection = self.connection
        dialect = connection.dialect
        connection.dialect = settings.dialect
        try:
            if connection.catalog != settings.catalog:
                connection.check_out(settings.catalog)
        except BaseException:
            connection.dialect = dialect
            raise
        connection.schema = settings.schema or DEFAULT_SCHEMA
        self.settings = settings

    def apply_outside_transaction(self, settings: Settings) -> None:
        """Switch to the settings of a call; an open transaction stays where it is."""
        if settings != self.settings and not self.connection.in_transaction:
            self.apply(settings)

    def restore(self) -> None:
        """Undo what a text that failed has switched, unless its transaction writes elsewhere."""
        if not self.connection.has_written:
            with suppress(OmniGraphError):  # its branch may be deleted; then it stays where it is
                self.apply(self.settings)
