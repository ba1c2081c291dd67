"""Statements that were checked for a ticket which is about to come back."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from omnigraph import Snapshot
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.server_statement import ServerStatement

PENDING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ReadyStatement:
    """A statement that is checked, the connection it runs on, and the moment it reads."""

    lease: ConnectionLease
    statement: ServerStatement
    snapshot: Snapshot | None
    """None inside a transaction, which reads its own branch."""


class PendingResults:
    """Checked statements by call, for a while. The lock protects the map, which is in order."""

    def __init__(self, seconds: float = PENDING_SECONDS, most: int = 1000) -> None:
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._pending: OrderedDict[str, tuple[float, ReadyStatement]] = OrderedDict()
        """When each expires, and the statement."""

    def put(self, call: str, ready: ReadyStatement) -> None:
        now = time.monotonic()
        with self._lock:
            self._pending[call] = (now + self._seconds, ready)
            while self._pending:
                oldest = next(iter(self._pending))
                if self._pending[oldest][0] > now and len(self._pending) <= self._most:
                    break
                del self._pending[oldest]

    def take(self, call: str) -> ReadyStatement | None:
        with self._lock:
            _, ready = self._pending.pop(call, (0.0, None))
        return ready
