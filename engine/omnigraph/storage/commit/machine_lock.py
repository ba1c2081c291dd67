"""The queue of writers on one machine: an advisory lock, for fairness and throughput only."""

from __future__ import annotations

import fcntl
import os
import random
import time
from pathlib import Path

from omnigraph.storage.core.layout import is_local

QUEUE_SECONDS = 10.0
"""How long to queue behind another process: one that is suspended must not stop the others."""


class MachineLock:
    """An advisory file lock on a local root, nothing on object stores; re-entrant."""

    def __init__(self, root: str) -> None:
        self._path = Path(root) / "__publish.lock" if is_local(root) else None
        self._depth = 0
        self._descriptor: int | None = None

    def __enter__(self) -> None:
        self._depth += 1
        if self._path is None or self._depth > 1:
            return
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            deadline = time.monotonic() + QUEUE_SECONDS
            while not self._locked() and time.monotonic() < deadline:
                time.sleep(random.uniform(0.0005, 0.002))
        except OSError:
            # Some file systems have no locks, and some roots may not be written: the
            # compare-and-swap decides.
            self._close()

    def _locked(self) -> bool:
        assert self._descriptor is not None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
