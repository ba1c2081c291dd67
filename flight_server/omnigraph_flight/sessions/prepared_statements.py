"""What a server keeps between calls: prepared statements, statements about to run, connections."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.errors import NotFound
from omnigraph.storage.refs.snapshot import Snapshot
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.sessions.server_statement import Statement
from omnigraph_flight.sessions.session_registry import Place

WAITING_SECONDS = 60.0


@dataclass
class Prepared:
    """A prepared statement that a client holds a handle of."""

    text: str
    user: str
    settings: Settings
    transaction: bytes | None
    """The transaction it was prepared in."""
    outlived: float | None = None
    """When that has ended, if it has: clients run it again in the transaction that follows."""
    params: pa.RecordBatch | None = None
    session: str = ""


class Kept:
    """Things by handle, the longest unused given up first. The lock protects them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._things: OrderedDict[bytes, Prepared] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def put(self, handle: bytes, thing: Prepared) -> None:
        with self._lock:
            self._things[handle] = thing
            while len(self._things) > self._most:
                self._things.popitem(last=False)

    def get(self, handle: bytes, caller: Caller) -> Prepared:
        with self._lock:
            found = self._things.get(handle)
            if found is not None and found.user == caller.name:
                self._things.move_to_end(handle)
                return found
        raise NotFound(
            "there is no such prepared statement", hint="It was closed: prepare it again."
        )

    def drop(self, handle: bytes) -> None:
        with self._lock:
            self._things.pop(handle, None)

    def outlive(self, transaction: bytes) -> None:
        """A transaction has ended, and its statements go on without it."""
        now = time.monotonic()
        with self._lock:
            for each in self._things.values():
                if each.transaction == transaction:
                    each.transaction, each.outlived = None, now

    def forget_parameters(self, session: str) -> None:
        """Let go of what was bound in a session that is over; its statements stay prepared."""
        with self._lock:
            for each in self._things.values():
                if each.session == session:
                    each.params = None

    def drop_session(self, key: str) -> None:
        with self._lock:
            for handle in [h for h, p in self._things.items() if p.session == key]:
                del self._things[handle]


@dataclass(frozen=True, slots=True)
class Ready:
    """A statement that is checked, where it runs, and the moment it reads."""

    place: Place
    statement: Statement
    snapshot: Snapshot | None
    """None inside a transaction, which reads its own branch."""


class Waiting:
    """Statements that were prepared for a ticket which is about to come back. Has its own lock."""

    def __init__(self, seconds: float = WAITING_SECONDS, most: int = 1000) -> None:
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, Ready]] = OrderedDict()

    def put(self, call: str, ready: Ready) -> None:
        now = time.monotonic()
        with self._lock:
            self._held[call] = (now + self._seconds, ready)
            while self._held:
                oldest = next(iter(self._held))
                if self._held[oldest][0] > now and len(self._held) <= self._most:
                    break
                del self._held[oldest]

    def take(self, call: str) -> Ready | None:
        with self._lock:
            found = self._held.pop(call, None)
        return None if found is None else found[1]


class Idle:
    """Connections that nobody uses just now; each remembers the plans it made. Has its own lock."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._places: OrderedDict[tuple[str, Settings], list[Place]] = OrderedDict()
        self._count = 0

    def take(self, user: str, settings: Settings) -> Place | None:
        with self._lock:
            found = self._places.get((user, settings))
            if not found:
                return None
            self._count -= 1
            place = found.pop()
            if not found:
                del self._places[user, settings]
            return place

    def give(self, user: str, place: Place) -> None:
        with self._lock:
            key = (user, place.settings)
            self._places.setdefault(key, []).append(place)
            self._places.move_to_end(key)
            self._count += 1
            while self._count > self._most:
                self._count -= len(self._places.popitem(last=False)[1])
