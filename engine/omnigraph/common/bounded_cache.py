"""Bounded caches. Everything cached is immutable, so nothing is ever invalidated."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Least-recently-used values up to a total weight. The lock protects the map and its weight."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0
        self.hits = self.misses = 0
        """How often something was found, and how often not."""

    def get(self, key: K) -> V | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        with self._lock:
            old = self._entries.pop(key, None)
            self._weight += weight - (old[1] if old else 0)
            self._entries[key] = (value, weight)
            while self._weight > self._capacity and len(self._entries) > 1:
                _, (_, dropped) = self._entries.popitem(last=False)
                self._weight -= dropped

    def drop(self, key: K) -> None:
        with self._lock:
            _, weight = self._entries.pop(key, (None, 0))
            self._weight -= weight
