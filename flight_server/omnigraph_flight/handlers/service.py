"""What the handlers of all calls share, and what they know about one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from omnigraph.errors import ResourceLimit
from omnigraph_flight.access.admission import Admission, ServerLimits
from omnigraph_flight.access.authentication import Authentication, Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.access.policies import Policies
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.handlers.metrics import Metrics, StatementKind, StatementTimer
from omnigraph_flight.handlers.running_calls import Calls
from omnigraph_flight.protocol.tickets import TicketKey
from omnigraph_flight.sessions.client_session import ClientSession
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.idle_pool import IdlePool
from omnigraph_flight.sessions.pending_results import PendingResults
from omnigraph_flight.sessions.prepared_statements import PreparedStatement, PreparedStatements
from omnigraph_flight.sessions.server_transaction import ServerTransaction
from omnigraph_flight.sessions.session_registry import SessionRegistry

PREPARED_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Request:
    """One call: who made it, in which session, with which options in its headers."""

    caller: Caller
    session: ClientSession
    headers: Mapping[str, str]
    context: Any
    """Flight's own view of the call."""
    reads_every_slice: bool = False
    """Some clients read only the first slice of a result and believe that it is all."""

    @property
    def settings(self) -> Settings:
        return self.session.settings(self.headers)

    def slices(self, most: int) -> int | None:
        """Into how many slices the client asks for results; none if it does not say."""
        return self.session.slices(self.headers, most)


@dataclass
class Service:
    """The parts of one server."""

    graphs: Graphs
    authentication: Authentication
    policies: Policies
    limits: ServerLimits
    key: TicketKey
    metrics: Metrics
    idle_seconds: float = 1800.0
    access: GuardedConnections = field(init=False)
    sessions: SessionRegistry = field(init=False)
    admission: Admission = field(init=False)
    calls: Calls = field(init=False)
    prepared: PreparedStatements = field(init=False)
    waiting: PendingResults = field(init=False)
    idle: IdlePool = field(init=False)

    def __post_init__(self) -> None:
        self.access = GuardedConnections(self.graphs, self.policies)
        self.prepared = PreparedStatements(PREPARED_KEPT)
        self.sessions = SessionRegistry(
            self.access, self.idle_seconds, self.prepared.forget_parameters
        )
        self.admission = Admission(self.limits)
        self.calls = Calls(self.limits.statement_seconds)
        self.waiting = PendingResults()
        self.idle = IdlePool()

    def observe(self) -> None:
        """Bring the gauges up to date."""
        self.metrics.running.set(len(self.calls))
        self.metrics.sessions.set(len(self.sessions))
        self.metrics.prepared.set(len(self.prepared))

    def measured(self, kind: StatementKind, graph: str, user: str) -> StatementTimer:
        """Count a statement from now to its end."""
        return StatementTimer(self.metrics, kind, graph, self.graphs.graph(graph), user)

    def require_short(self, text: str) -> str:
        """A statement's text, unless it is longer than texts may be."""
        if len(text) > self.limits.statement_bytes:
            raise ResourceLimit("the length of a statement", self.limits.statement_bytes, len(text))
        return text

    def reading_place(self, request: Request, settings: Settings) -> ConnectionLease:
        """Where a read runs: a connection of its own, so that reads run side by side."""
        user = request.caller.name
        found = self.idle.take(user, settings)
        return found or ConnectionLease(
            self.access.connect(request.caller, settings), settings, shared=True
        )

    def done(self, request: Request, place: ConnectionLease) -> None:
        """Keep the connection of a read for the next one."""
        if place.shared:
            self.idle.give(request.caller.name, place)

    def transaction(self, request: Request, id_: bytes | None) -> ServerTransaction | None:
        return self.sessions.transaction(id_, request.caller) if id_ else None

    def transaction_of(
        self, request: Request, prepared: PreparedStatement
    ) -> ServerTransaction | None:
        """Where a prepared statement runs: its own transaction, or the one after that."""
        if prepared.outlived is not None:
            return request.session.transaction_after(prepared.outlived)
        return self.transaction(request, prepared.transaction)

    def settings_of(self, request: Request, prepared: PreparedStatement) -> Settings:
        """What its session says now; what it was prepared with, if that session is another."""
        here = prepared.session == request.session.key
        return request.settings if here else prepared.settings

    def place_of(
        self,
        request: Request,
        transaction: ServerTransaction | None,
        settings: Settings | None = None,
    ) -> ConnectionLease:
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
        self,
        request: Request,
        transaction: ServerTransaction | None,
        settings: Settings | None = None,
    ) -> Iterator[ConnectionLease]:
        """Where a statement that changes something runs, held for the length of the block."""
        if transaction is not None:
            with transaction.leased() as place:
                try:
                    with self._adopted(request, place):
                        yield place
                finally:
                    transaction.go_on()
            return
        wanted = settings or request.settings
        home = request.session.home(wanted)
        with home.lock:
            home.move(wanted)
            with self._adopted(request, home):
                yield home

    @contextmanager
    def _adopted(self, request: Request, place: ConnectionLease) -> Iterator[None]:
        """A block whose USE and SET hold for the session from then on, unless it fails."""
        try:
            yield
        except BaseException:
            place.go_back()
            raise
        finally:
            request.session.adopt(place)
