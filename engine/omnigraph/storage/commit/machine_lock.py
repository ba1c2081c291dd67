"""The queue of writers on one machine: an advisory lock, for fairness and throughput only."""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from omnigraph.storage.core.layout import is_local

QUEUE_SECONDS = 10.0
"""How long to queue at all: a lock is not given to those who wait in the order they came."""
STALLED_SECONDS = 0.25
"""How long to queue while the lock does not change hands: one that is suspended must not stop the
others, since the compare-and-swap decides."""
PULSE_SECONDS = 0.05
"""How often a holder who takes long shows that it is not suspended."""
_MARK_BYTES = 8


class MachineLock:
    """An advisory file lock on a local root, nothing on object stores; re-entrant.

    Whoever gets it counts up the mark in its file, by which those who wait see that it changed
    hands; so does a holder who takes long and is not suspended. Behind a holder who did not let go
    in time nobody waits a second time.
    """

    def __init__(self, root: str) -> None:
        self._path = Path(root) / "__publish.lock" if is_local(root) else None
        self._depth = 0
        self._descriptor: int | None = None
        self._stalled: bytes | None = None
        """The mark of the holder who did not let go in time."""

    def __enter__(self) -> None:
        self._depth += 1
        if self._path is None or self._depth > 1:
            return
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            self._queue()
        except OSError:
            # Some file systems have no locks, and some roots may not be written: the
            # compare-and-swap decides.
            self._close()

    def _queue(self) -> None:
        """Wait for the lock, as long as it changes hands."""
        mark, since = self._mark(), time.monotonic()
        deadline = since + QUEUE_SECONDS
        while not self._locked():
            time.sleep(random.uniform(0.0005, 0.002))
            seen, at = self._mark(), time.monotonic()
            if seen != mark:
                mark, since = seen, at
            if seen == self._stalled or at > min(since + STALLED_SECONDS, deadline):
                self._stalled = seen
                return
        self._stalled = None
        self._count_up()

    def _count_up(self) -> None:
        count = int.from_bytes(self._mark()) + 1
        os.pwrite(self._file(), (count % (1 << 8 * _MARK_BYTES)).to_bytes(_MARK_BYTES), 0)

    @contextmanager
    def pulsing(self) -> Iterator[None]:
        """Hold the lock for something long; others see that it goes on, unless it is suspended."""
        with self:
            if self._descriptor is None or self._stalled is not None:
                yield
                return
            done = threading.Event()
            pulse = threading.Thread(target=self._pulse, args=(done,), daemon=True)
            pulse.start()
            try:
                yield
            finally:
                done.set()
                pulse.join()

    def _pulse(self, done: threading.Event) -> None:
        while not done.wait(PULSE_SECONDS):
            with suppress(OSError):  # a full disk: the others do not wait then
                self._count_up()

    def _mark(self) -> bytes:
        return os.pread(self._file(), _MARK_BYTES, 0)

    def _file(self) -> int:
        assert self._descriptor is not None
        return self._descriptor

    def _locked(self) -> bool:
        try:
            fcntl.flock(self._file(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._close()

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
