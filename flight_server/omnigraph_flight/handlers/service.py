"""The parts of a server that all handlers share, and one call as handlers see it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.errors import ResourceLimit
from omnigraph_flight.access.admission import Admission
from omnigraph_flight.access.authentication import Authentication, Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.access.open_graphs import Graphs
from omnigraph_flight.access.policies import Policies
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.config import Config
from omnigraph_flight.handlers.call_headers import CallHeaders
from omnigraph_flight.handlers.metrics import Metrics, StatementKind, StatementTimer
from omnigraph_flight.handlers.running_calls import Calls
from omnigraph_flight.protocol.decode_command import optional
from omnigraph_flight.protocol.tickets import TicketKey
from omnigraph_flight.sessions.client_session import ClientSession
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.idle_pool import IdlePool
from omnigraph_flight.sessions.pending_results import PendingResults
from omnigraph_flight.sessions.prepared_statements import PreparedStatements
from omnigraph_flight.sessions.server_transaction import ServerTransaction
from omnigraph_flight.sessions.session_registry import SessionRegistry

PREPARED_RETAINED = 10_000


class Service:
    """The parts of one server."""

    def __init__(self, graphs: Graphs, config: Config) -> None:
        limits, secret = config.limits, config.ticket_key
        self.graphs = graphs
        self.authentication = Authentication(config.users)
        self.policies = Policies(config.policies)
        access = GuardedConnections(graphs, self.policies)
        self.limits = limits
        self.key = TicketKey(
            None if secret is None else hashlib.sha256(secret.encode()).digest(),
            config.ticket_seconds,
        )
        self.metrics = Metrics(graphs)
        self.prepared = PreparedStatements(PREPARED_RETAINED)
        self.sessions = SessionRegistry(
            access, config.session_seconds, self.prepared.forget_parameters
        )
        self.admission = Admission(limits)
        self.calls = Calls(limits.statement_seconds)
        self.pending = PendingResults()
        self.idle = IdlePool(access)

    def observe(self) -> None:
        """Bring the gauges up to date."""
        self.metrics.running.set(len(self.calls))
        self.metrics.sessions.set(len(self.sessions))
        self.metrics.prepared.set(len(self.prepared))


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement as a client sends it, prepared before or not."""

    text: str
    settings: Settings
    transaction: ServerTransaction | None
    params: pa.RecordBatch | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call: the server that answers it, what its headers say, and its session."""

    service: Service
    headers: CallHeaders
    session: ClientSession
    context: Any
    """Flight's own view of the call."""

    @property
    def caller(self) -> Caller:
        return self.headers.caller

    @property
    def settings(self) -> Settings:
        return self.session.settings(self.headers.options)

    def slices(self) -> int | None:
        """Into how many slices the client asks for results; none if it does not say."""
        return self.session.slices(self.headers.options, self.service.limits.slices)

    # ------------------------------------------------------------------ what it asks for

    def statement(self, body: Any) -> StatementRequest:  # noqa: ANN401
        """The statement that a message carries as text."""
        text, most = body.query, self.service.limits.statement_bytes
        if len(text) > most:
            raise ResourceLimit("the length of a statement", most, len(text))
        return StatementRequest(text, self.settings, self.transaction(body))

    def prepared_statement(self, body: Any) -> StatementRequest:  # noqa: ANN401
        """The statement of which a message carries the handle.

        It runs with the settings of its session as they are now, or those it was prepared with, if
        this is another session; in its own transaction, or the one after that.
        """
        prepared = self.service.prepared.get(body.prepared_statement_handle, self.caller)
        same_session = prepared.session == self.session.key
        settings = self.settings if same_session else prepared.settings
        if prepared.transaction_ended is not None:
            transaction = self.session.transaction_after(prepared.transaction_ended)
        else:
            transaction = self._transaction(prepared.transaction)
        return StatementRequest(prepared.text, settings, transaction, prepared.params)

    def transaction(self, body: Any) -> ServerTransaction | None:  # noqa: ANN401
        """The open transaction that a message names, if it names one."""
        return self._transaction(optional(body, "transaction_id"))

    def _transaction(self, id_: bytes | None) -> ServerTransaction | None:
        return self.service.sessions.transaction(id_, self.caller) if id_ else None

    # ------------------------------------------------------------------ connections

    def read_lease(self, requested: StatementRequest) -> ConnectionLease:
        """The connection of a read: that of its transaction, else an idle one."""
        if requested.transaction is not None:
            return requested.transaction.lease
        own = self.session.lease(requested.settings)
        if own.connection.in_transaction:
            return own
        return self.service.idle.lease(self.caller, requested.settings)

    def release(self, lease: ConnectionLease) -> None:
        """Make the connection of a read available to the next one."""
        self.service.idle.release(self.caller, lease)

    @contextmanager
    def reading(self, requested: StatementRequest | None = None) -> Iterator[ConnectionLease]:
        """A block that looks something up; its connection is released if it succeeds."""
        lease = self.read_lease(requested or StatementRequest("", self.settings, None))
        with lease.lock:
            yield lease
        self.release(lease)

    @contextmanager
    def running(
        self, kind: StatementKind, graph: str, call: str, lease: ConnectionLease
    ) -> Iterator[None]:
        """A block in which a statement runs that is measured and can be cancelled."""
        user = self.caller.name
        with (
            self.timer(kind, graph),
            self.service.calls.running(call, user, self.context, lease.connection.cancel),
        ):
            yield

    def timer(self, kind: StatementKind, graph: str) -> StatementTimer:
        """Count a statement from now to its end."""
        service = self.service
        return StatementTimer(
            service.metrics, kind, graph, service.graphs.graph(graph), self.caller.name
        )

    @contextmanager
    def writing(
        self, kind: StatementKind, requested: StatementRequest, call: str | None = None
    ) -> Iterator[ConnectionLease]:
        """A block in which a statement that changes something runs, on its connection alone."""
        call = call or secrets.token_hex(8)
        with (
            self.service.admission.turn(self.caller.name, call),
            self._write_lease(requested) as lease,
            self.running(kind, requested.settings.graph, call, lease),
        ):
            yield lease

    @contextmanager
    def _write_lease(self, requested: StatementRequest) -> Iterator[ConnectionLease]:
        if requested.transaction is not None:
            with requested.transaction.locked() as lease:
                try:
                    with self._adopting(lease):
                        yield lease
                finally:
                    requested.transaction.begin_if_ended()
            return
        lease = self.session.lease(requested.settings)
        with lease.lock:
            lease.apply_outside_transaction(requested.settings)
            with self._adopting(lease):
                yield lease

    @contextmanager
    def _adopting(self, lease: ConnectionLease) -> Iterator[None]:
        """A block whose USE and SET hold for the session from then on, unless it fails."""
        try:
            yield
        except BaseException:
            lease.restore()
            raise
        finally:
            self.session.adopt(lease)
