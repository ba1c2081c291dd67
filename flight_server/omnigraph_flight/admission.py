"""How much may run at once: per user and altogether. One thread serves each call, so calls wait."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from omnigraph_flight.statuses import Busy


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server allows."""

    statements: int = 64
    """Statements that run at once."""
    statements_per_user: int = 32
    wait_seconds: float = 30.0
    """How long a statement waits for its turn before it is refused."""
    statement_seconds: float = 600.0
    """How long a statement may run; 0 is for ever."""
    memory_bytes: int = 0
    """What the queries of one graph hold in memory before they go to disk; 0 is half of all."""
    statement_bytes: int = 4 * 1024 * 1024
    """The longest text of a statement."""
    result_bytes: int = 0
    """The most that one result may send; 0 is no limit."""
    kept_bytes: int = 16 * 1024**3
    """The most that is kept of one result that was run once to be read in slices."""
    ingest_bytes: int = 0
    """The most that one upload may bring; 0 is no limit."""
    batch_bytes: int = 3 * 1024 * 1024
    """The size to which batches are cut: many clients refuse messages over 4 MiB."""
    slices: int = 64
    """Into how many slices a result is offered at most."""


class Admission:
    """Counts what runs. The condition's lock protects the counts."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._turn = threading.Condition()
        self._running: Counter[str] = Counter()

    @property
    def running(self) -> int:
        return self._running.total()

    @contextmanager
    def turn(self, user: str) -> Iterator[None]:
        """Hold a place while the block runs."""
        self.enter(user)
        try:
            yield
        finally:
            self.leave(user)

    def enter(self, user: str) -> None:
        """Take a place, waiting for one; refused after a while."""
        deadline = time.monotonic() + self._limits.wait_seconds
        with self._turn:
            while not self._free(user):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Busy(
                        f"{user} already runs {self._running[user]} statements, the server "
                        f"{self._running.total()}",
                        hint="Wait for one of them to finish, then try again.",
                    )
                self._turn.wait(left)
            self._running[user] += 1

    def leave(self, user: str) -> None:
        """Give a place back."""
        with self._turn:
            self._running[user] -= 1
            if not self._running[user]:
                del self._running[user]
            self._turn.notify_all()

    def idle(self, timeout: float) -> bool:
        """Wait until nothing runs; false if that took too long."""
        with self._turn:
            return self._turn.wait_for(lambda: not self._running, timeout)

    def _free(self, user: str) -> bool:
        return (
            self._running.total() < self._limits.statements
            and self._running[user] < self._limits.statements_per_user
        )
