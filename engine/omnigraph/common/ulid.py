"""ULIDs: ids that sort by the time at which they were made."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pyarrow as pa

from omnigraph.errors import InvalidInput

_CROCKFORD = np.frombuffer(b"0123456789ABCDEFGHJKMNPQRSTVWXYZ", dtype=np.uint8)


_PAIRS = np.stack([_CROCKFORD.repeat(32), np.tile(_CROCKFORD, 32)], axis=1).view(np.uint16).ravel()
"""Ten bits as two characters."""


_MAX_BATCH = (2**31 - 1) // 26  # what 32-bit offsets can address


class _UlidClock:
    """Deals ranges of 128-bit numbers that only ever grow within a process.

    The lock protects `_next`: the smallest number not handed out yet.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def take(self, count: int) -> int:
        """The first of `count` consecutive numbers."""
        # The top random bit stays 0, so counting on cannot run into the next millisecond.
        fresh = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10)) >> 1
        with self._lock:
            # Within one millisecond, or when the clock went back, go on from the last one.
            same = fresh >> 80 <= (self._next - 1) >> 80 and self._next > 0
            first = self._next if same else fresh
            self._next = first + count
        return first


_clock = _UlidClock()


# A forked child would otherwise deal the same numbers as its parent.
os.register_at_fork(after_in_child=_clock.restart)


def new_ulids(n: int) -> pa.StringArray:
    """`n` ULIDs, each greater than the one before and than all this process made earlier."""
    if n > _MAX_BATCH:
        raise InvalidInput(f"at most {_MAX_BATCH} ids at a time, not {n}")
    first = _clock.take(n)
    text = np.empty((n, 13), dtype=np.uint16)
    # 40 bits are eight characters, and fit a 64-bit lane with room for the carry.
    low = np.uint64(first & (2**40 - 1)) + np.arange(n, dtype=np.uint64)
    middle = np.uint64(first >> 40 & (2**40 - 1)) + (low >> np.uint64(40))
    high = np.uint64(first >> 80) + (middle >> np.uint64(40))
    for numbers, left, right in ((high, 0, 5), (middle, 5, 9), (low, 9, 13)):
        # They only grow: where the last is the first, all are.
        lane = numbers[:1] if n and numbers[0] == numbers[-1] else numbers
        for position, column in enumerate(reversed(range(left, right))):
            text[:, column] = _PAIRS[(lane >> np.uint64(10 * position)) & np.uint64(1023)]
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(26)
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(text))


def new_ulid() -> str:
    return str(new_ulids(1)[0].as_py())
