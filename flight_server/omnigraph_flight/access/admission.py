"""How much may run at once: per user and altogether. One thread serves each call, so calls wait."""

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
    """Slices that the statements which run have together; each takes a thread while it is read."""
    streams_per_user: int = 1024
    waiting_per_user: int = 256
    """Calls that wait for their turn, each of them in a thread; what is more is refused at once."""
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
    kept_bytes_per_graph: int = 64 * 1024**3
    """The most that all results that are kept of one graph take in its store; 0 is no limit."""
    ingest_bytes: int = 0
    """The most that one upload may bring; 0 is no limit."""
    parameter_bytes: int = 256 * 1024 * 1024
    """The most that one set of bound parameters may bring: they are held in memory."""
    batch_bytes: int = 3 * 1024 * 1024
    """The size to which batches are cut: many clients refuse messages over 4 MiB."""
    slices: int = 64
    """Into how many slices a result is offered at most."""


class Admission:
    """Counts what runs. The condition's lock protects the counts.

    A statement has one place, in which all its slices are read side by side; whoever reads slices
    more than once needs more places. A place takes room for all its slices at once: a slice that
    had to wait could be the one that a client must read before it goes on with the others.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._turn = threading.Condition()
        self._running: Counter[str] = Counter()
        """Places by user."""
        self._streams: Counter[tuple[str, str]] = Counter()
        """Slices that are read, by user and call."""
        self._room: Counter[str] = Counter()
        """Slices for which places have room, by user."""
        self._waiting: Counter[str] = Counter()

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return self._waiting.total()

    @contextmanager
    def turn(self, user: str, call: str) -> Iterator[None]:
        """Hold a place while the block runs."""
        self.enter(user, call)
        try:
            yield
        finally:
            self.leave(user, call)

    def enter(self, user: str, call: str, *, slices: int = 1) -> None:
        """Take a place, or part of one for one of so many slices; refused after a while."""
        deadline = time.monotonic() + self._limits.wait_seconds
        with self._turn:
            # Another slice of the call may get the place while this one waits for it.
            while (alone := self._streams[user, call] % slices == 0) and not self._free(
                user, slices
            ):
                self._wait(user, deadline - time.monotonic())
            self._streams[user, call] += 1
            if alone:
                self._running[user] += 1
                self._room[user] += slices
                self._turn.notify_all()

    def leave(self, user: str, call: str, *, slices: int = 1) -> None:
        """Give a place back; one that slices share, with the last of them."""
        with self._turn:
            _count_down(self._streams, (user, call))
            if self._streams[user, call] % slices == 0:
                _count_down(self._running, user)
                _count_down(self._room, user, slices)
                self._turn.notify_all()

    def idle(self, timeout: float) -> bool:
        """Wait until nothing runs; false if that took too long."""
        with self._turn:
            return self._turn.wait_for(lambda: not self._running, timeout)

    def _free(self, user: str, slices: int) -> bool:
        limits, room = self._limits, self._room
        return (
            self._running.total() < limits.statements
            and self._running[user] < limits.statements_per_user
            and (not room or room.total() + slices <= limits.streams)
            and (user not in room or room[user] + slices <= limits.streams_per_user)
        )

    def _wait(self, user: str, seconds: float) -> None:
        waiting = self._waiting[user]
        if seconds <= 0 or waiting >= self._limits.waiting_per_user:
            raise Busy(
                f"{user} already runs {self._running[user]} statements with {self._room[user]} "
                f"streams, and {waiting} wait; the server runs {self._running.total()}",
                hint="Wait for one of them to finish, then try again.",
            )
        self._waiting[user] += 1
        try:
            self._turn.wait(seconds)
        finally:
            _count_down(self._waiting, user)


def _count_down(counts: Counter[Any], key: Hashable, by: int = 1) -> None:
    """So many less; what is at zero is forgotten."""
    counts[key] -= by
    if not counts[key]:
        del counts[key]
