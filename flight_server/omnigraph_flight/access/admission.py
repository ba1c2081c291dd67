"""How much may run at once: per user and in all. One thread serves each call, so calls wait."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from omnigraph_flight.protocol.flight_status import Busy


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What one server allows."""

    statements: int = 64
    """Statements that run at once."""
    statements_per_user: int = 32
    streams: int = 4096
    """Slices of all running statements; each takes a thread while it is read."""
    streams_per_user: int = 1024
    waiting_per_user: int = 256
    """Calls that wait for their turn, each in a thread; more are refused at once."""
    wait_seconds: float = 30.0
    """How long a statement waits for its turn before it is refused."""
    statement_seconds: float = 600.0
    """How long a statement may run; 0 is for ever."""
    memory_bytes: int = 0
    """The memory of the queries of one graph before they spill to disk; 0 is half of all."""
    statement_bytes: int = 4 * 1024 * 1024
    """The longest text of a statement."""
    result_bytes: int = 0
    """The most that one result may send; 0 is no limit."""
    kept_bytes: int = 16 * 1024**3
    """The most bytes of one stored result, which was run once to be read in slices."""
    kept_bytes_per_graph: int = 64 * 1024**3
    """The most bytes of all stored results of one graph; 0 is no limit."""
    ingest_bytes: int = 0
    """The most that one upload may bring; 0 is no limit."""
    parameter_bytes: int = 256 * 1024 * 1024
    """The most that one set of bound parameters may have: they are in memory."""
    batch_bytes: int = 3 * 1024 * 1024
    """The size to which batches are split: many clients refuse messages over 4 MiB."""
    slices: int = 64
    """Into how many slices a result is offered at most."""


class Admission:
    """Counts what runs. The condition's lock protects the counts.

    A statement takes one slot, in which all its slices are read side by side; a client that reads
    slices more than once takes more slots. A slot reserves streams for all its slices at once: a
    slice that had to wait could be the one that a client must read before the others.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._turn = threading.Condition()
        self._running: Counter[str] = Counter()
        """Slots by user."""
        self._streams: Counter[tuple[str, str]] = Counter()
        """Slices that are read, by user and call."""
        self._reserved: Counter[str] = Counter()
        """Streams that slots have reserved, by user."""
        self._waiting: Counter[str] = Counter()

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        """How many calls wait for a slot."""
        return self._waiting.total()

    @contextmanager
    def turn(self, user: str, call: str) -> Iterator[None]:
        """Take a slot while the block runs."""
        self.enter(user, call)
        try:
            yield
        finally:
            self.leave(user, call)

    def enter(self, user: str, call: str, *, slices: int = 1) -> None:
        """Take a slot, or share one with the other slices; refused after a while."""
        deadline = time.monotonic() + self._limits.wait_seconds
        with self._turn:
            # Another slice of the call may get the slot while this one waits for it.
            while (alone := self._streams[user, call] % slices == 0) and not self._free(
                user, slices
            ):
                self._wait(user, deadline - time.monotonic())
            self._streams[user, call] += 1
            if alone:
                self._running[user] += 1
                self._reserved[user] += slices
                self._turn.notify_all()

    def leave(self, user: str, call: str, *, slices: int = 1) -> None:
        """Give a slot back; one that slices share, with the last of them."""
        with self._turn:
            _count_down(self._streams, (user, call))
            if self._streams[user, call] % slices == 0:
                _count_down(self._running, user)
                _count_down(self._reserved, user, slices)
                self._turn.notify_all()

    def idle(self, timeout: float) -> bool:
        """Wait until nothing runs; false if that took too long."""
        with self._turn:
            return self._turn.wait_for(lambda: not self._running, timeout)

    def _free(self, user: str, slices: int) -> bool:
        limits, reserved = self._limits, self._reserved
        return (
            self._running.total() < limits.statements
            and self._running[user] < limits.statements_per_user
            and (not reserved or reserved.total() + slices <= limits.streams)
            and (user not in reserved or reserved[user] + slices <= limits.streams_per_user)
        )

    def _wait(self, user: str, seconds: float) -> None:
        waiting = self._waiting[user]
        if seconds <= 0 or waiting >= self._limits.waiting_per_user:
            raise Busy(
                f"{user} already runs {self._running[user]} statements with {self._reserved[user]} "
                f"streams, and {waiting} wait; the server runs {self._running.total()}",
                hint="Wait for one of them to finish, then try again.",
            )
        self._waiting[user] += 1
        try:
            self._turn.wait(seconds)
        finally:
            _count_down(self._waiting, user)


def _count_down(counts: Counter[Any], key: Hashable, by: int = 1) -> None:
    """So many less; what is at zero is removed."""
    counts[key] -= by
    if not counts[key]:
        del counts[key]
