"""Time-ordered unique identifiers (ULIDs)."""

from __future__ import annotations

import os
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


class _Clock:
    """Hands out strictly growing ULID values; the lock protects the last one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        fresh = (time.time_ns() // 1_000_000) << _RANDOM_BITS
        fresh |= int.from_bytes(os.urandom(10))
        with self._lock:
            self._last = max(fresh, self._last + 1)
            return self._last


_clock = _Clock()


def new_ulid() -> str:
    """A fresh ULID: 26 uppercase characters, growing within a process."""
    value = _clock.next()
    return "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
