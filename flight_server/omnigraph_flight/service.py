"""What the handlers of all calls share, and what they know about one call."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.errors import NotFound, ResourceLimit
from omnigraph_flight.admission import Admission, Limits
from omnigraph_flight.authentication import Authentication, Caller
from omnigraph_flight.calls import Calls
from omnigraph_flight.graphs import Graphs
from omnigraph_flight.metrics import Metrics
from omnigraph_flight.policies import Policies
from omnigraph_flight.sessions import Place, Session, Sessions, Settings, Transaction, connected
from omnigraph_flight.statements import Statement
from omnigraph_flight.tickets import TicketKey

PREPARED_KEPT = 10_000
WAITING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Request:
    """One call: who made it, in which session, with which options in its headers."""

    caller: Caller
    session: Session
    headers: Mapping[str, str]
    context: Any
    """Flight's own view of the call."""

    @property
    def settings(self) -> Settings:
        return self.session.settings(self.headers)

    def slices(self, most: int) -> int:
        """Into how many slices the client wants results at most."""
        return self.session.slices(self.headers, most)


@dataclass
class Prepared:
    """A prepared statement that a client holds a handle of."""

    text: str
    user: str
    settings: Settings
    transaction: bytes | None
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

    def drop_session(self, key: str) -> None:
        with self._lock:
            for handle in [h for h, p in self._things.items() if p.session == key]:
                del self._things[handle]


class Waiting:
    """Statements that were prepared for a ticket which is about to come back. Has its own lock."""

    def __init__(self, seconds: float = WAITING_SECONDS, most: int = 1000) -> None:
        self._seconds = seconds
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, Place, Statement]] = OrderedDict()

    def put(self, call: str, place: Place, statement: Statement) -> None:
        now = time.monotonic()
        with self._lock:
            self._held[call] = (now + self._seconds, place, statement)
            while self._held:
                oldest = next(iter(self._held))
                if self._held[oldest][0] > now and len(self._held) <= self._most:
                    break
                del self._held[oldest]

    def take(self, call: str) -> tuple[Place, Statement] | None:
        with self._lock:
            found = self._held.pop(call, None)
        return None if found is None else found[1:]


@dataclass
class Service:
    """The parts of one server."""

    graphs: Graphs
    authentication: Authentication
    policies: Policies
    limits: Limits
    key: TicketKey
    metrics: Metrics
    idle_seconds: float = 1800.0
    sessions: Sessions = field(init=False)
    admission: Admission = field(init=False)
    calls: Calls = field(init=False)
    prepared: Kept = field(init=False)
    waiting: Waiting = field(init=False)

    def __post_init__(self) -> None:
        self.sessions = Sessions(self.graphs, self.idle_seconds)
        self.admission = Admission(self.limits)
        self.calls = Calls(self.limits.statement_seconds)
        self.prepared = Kept(PREPARED_KEPT)
        self.waiting = Waiting()

    def observe(self) -> None:
        """Bring the gauges up to date."""
        self.metrics.running.set(len(self.calls))
        self.metrics.sessions.set(len(self.sessions))
        self.metrics.prepared.set(len(self.prepared))

    def require_short(self, text: str) -> str:
        """A statement's text, unless it is longer than texts may be."""
        if len(text) > self.limits.statement_bytes:
            raise ResourceLimit("the length of a statement", self.limits.statement_bytes, len(text))
        return text

    def reading_place(self, request: Request, settings: Settings) -> Place:
        """Where a read runs: a connection of its own, so that reads run side by side."""
        return Place(connected(self.graphs, request.caller.name, settings), settings)

    def transaction(self, request: Request, id_: bytes | None) -> Transaction | None:
        return self.sessions.transaction(id_, request.caller) if id_ else None

    def place_of(
        self, request: Request, transaction: Transaction | None, settings: Settings | None = None
    ) -> Place:
        """Where a read of this call runs: in its transaction, else on a connection of its own."""
        if transaction is not None:
            return transaction.place
        settings = settings or request.settings
        home = request.session.home(settings)
        if home.connection.in_transaction:
            return home
        return self.reading_place(request, settings)

    @contextmanager
    def writing_place(
        self, request: Request, transaction: Transaction | None, settings: Settings | None = None
    ) -> Iterator[Place]:
        """Where a statement that changes something runs, held for the length of the block."""
        if transaction is not None:
            with transaction.place.lock:
                yield transaction.place
            return
        wanted = settings or request.settings
        home = request.session.home(wanted)
        with home.lock:
            home.move(wanted)
            yield home
            request.session.adopt(home)
