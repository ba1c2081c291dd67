"""An open transaction of a client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from omnigraph.errors import NotFound
from omnigraph_flight.sessions.connection_lease import ConnectionLease


@dataclass
class ServerTransaction:
    """An open transaction: a connection of its own, on a branch of its own.

    The lock of its lease protects it.
    """

    id: str
    user: str
    lease: ConnectionLease
    savepoints: dict[str, str] = field(default_factory=dict)
    """Names by the ids that were given out."""
    began: float = field(default_factory=time.monotonic)
    ended: bool = False
    """Whether it was committed or rolled back; calls that waited for its connection are refused."""

    @contextmanager
    def locked(self) -> Iterator[ConnectionLease]:
        """A block in which nobody else uses its connection; refused if it has ended."""
        while True:
            lease = self.lease
            with lease.lock:
                if self.ended:
                    raise no_such_transaction()
                if lease is self.lease:  # it may have switched to another graph meanwhile
                    yield lease
                    return

    def begin_if_ended(self) -> None:
        """Begin again, if a statement such as COMMIT has ended it: its client still names it."""
        if not self.lease.connection.in_transaction:
            self.savepoints.clear()
            self.lease.connection.begin()


def no_such_transaction() -> NotFound:
    return NotFound(
        "there is no such open transaction",
        hint="It has ended, or its session was idle for too long: begin a new one.",
    )
