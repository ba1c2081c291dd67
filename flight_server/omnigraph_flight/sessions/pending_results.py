"""Statements that were checked for a ticket which is about to come back."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from omnigraph import Snapshot
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.server_statement import ServerStatement

WAITING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ReadyStatement:
    """A statement that is checked, where it runs, and the moment it reads."""

    place: ConnectionLease
    statement: ServerStatement
    snapshot: Snapshot | None
    """None inside a transaction, which reads its own branch."""


class PendingResults:
    """Statements that were prepared for a ticket which is about to come back. Has its own lock."""

    def __init__(self, seconds: float = WAITING_SECONDS, most: int = 1000) -> None:
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, ReadyStatement]] = OrderedDict()

    def put(self, call: str, ready: ReadyStatement) -> None:
        now = time.monotonic()
        with self._lock:
            self._held[call] = (now + self._seconds, ready)
            while self._held:
                oldest = next(iter(self._held))
                if self._held[oldest][0] > now and len(self._held) <= self._most:
                    break
                del self._held[oldest]

    def take(self, call: str) -> ReadyStatement | None:
        with self._lock:
            found = self._held.pop(call, None)
        return None if found is None else found[1]
