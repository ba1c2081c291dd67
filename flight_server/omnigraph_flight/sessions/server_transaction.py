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
    """An open transaction: a connection of its own, on a branch of its own."""

    id: str
    user: str
    place: ConnectionLease
    savepoints: dict[str, str] = field(default_factory=dict)
    """Names by the ids that were given out."""
    began: float = field(default_factory=time.monotonic)
    over: bool = False
    """Whether it was ended; whoever waited for its connection comes too late."""

    @contextmanager
    def leased(self) -> Iterator[ConnectionLease]:
        """A block in which nobody else uses its connection; refused if it is over."""
        while True:
            place = self.place
            with place.lock:
                if self.over:
                    raise no_such_transaction()
                if place is self.place:  # which may have gone to another graph meanwhile
                    yield place
                    return

    def go_on(self) -> None:
        """Begin again, if a statement such as COMMIT has ended it: its client still names it."""
        if not self.place.connection.in_transaction:
            self.savepoints.clear()
            self.place.connection.begin()


def no_such_transaction() -> NotFound:
    return NotFound(
        "there is no such open transaction",
        hint="It has ended, or its session was idle for too long: begin a new one.",
    )
