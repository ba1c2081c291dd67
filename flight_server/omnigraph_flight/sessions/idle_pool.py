"""Connections that nobody uses just now."""

from __future__ import annotations

import threading
from collections import OrderedDict

from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.sessions.connection_lease import ConnectionLease


class IdlePool:
    """Connections that nobody uses just now; each remembers the plans it made. Has its own lock."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[tuple[str, Settings], list[ConnectionLease]] = OrderedDict()
        self._count = 0

    def take(self, user: str, settings: Settings) -> ConnectionLease | None:
        with self._lock:
            found = self._places.get((user, settings))
            if not found:
                return None
            self._count -= 1
            place = found.pop()
            if not found:
                del self._places[user, settings]
            return place

    def give(self, user: str, place: ConnectionLease) -> None:
        with self._lock:
            key = (user, place.settings)
            self._places.setdefault(key, []).append(place)
            self._places.move_to_end(key)
            self._count += 1
            while self._count > self._most:
                self._count -= len(self._places.popitem(last=False)[1])
