"""Connections for reads, which belong to no session."""

from __future__ import annotations

import threading
from collections import OrderedDict

from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.sessions.connection_lease import ConnectionLease


class IdlePool:
    """Idle connections by user and settings; each remembers the plans it made.

    The lock protects the map and its count.
    """

    def __init__(self, access: GuardedConnections, most: int = 256) -> None:
        self._access = access
        self._most = most
        self._lock = threading.Lock()
        self._idle: OrderedDict[tuple[str, Settings], list[ConnectionLease]] = OrderedDict()
        self._count = 0

    def lease(self, caller: Caller, settings: Settings) -> ConnectionLease:
        """An idle connection, or a new one: reads run side by side."""
        key = (caller.name, settings)
        with self._lock:
            leases = self._idle.get(key)
            if leases:
                self._count -= 1
                lease = leases.pop()
                if not leases:
                    del self._idle[key]
                return lease
        return ConnectionLease(self._access.connect(caller, settings), settings, pooled=True)

    def release(self, caller: Caller, lease: ConnectionLease) -> None:
        """Make a connection available to the next read, unless it belongs to a session."""
        if not lease.pooled:
            return
        key = (caller.name, lease.settings)
        with self._lock:
            self._idle.setdefault(key, []).append(lease)
            self._idle.move_to_end(key)
            self._count += 1
            while self._count > self._most:
                self._count -= len(self._idle.popitem(last=False)[1])
