"""DoGet: open a ticket, run its slice of the statement, stream the batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph_flight.access.policies import Resource
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.handlers.get_flight_info import SESSION_TRANSACTION
from omnigraph_flight.handlers.metadata_commands import answer, is_metadata
from omnigraph_flight.handlers.service import Request
from omnigraph_flight.protocol.batch_stream import BatchStream, require_size
from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Ticket
from omnigraph_flight.sessions.pending_results import ReadyStatement
from omnigraph_flight.sessions.server_statement import counted, prepare, read
from omnigraph_flight.sessions.server_transaction import no_such_transaction


def do_get(request: Request, flight_ticket: fl.Ticket) -> fl.FlightDataStream:
    """The rows a ticket stands for."""
    command = decode_command(flight_ticket.ticket)
    if is_metadata(command):
        return fl.RecordBatchStream(answer(request, command))
    if command.name != "TicketStatementQuery":
        raise Unsupported(
            f"{command.name} is a command, not a ticket",
            hint="Ask for one with GetFlightInfo first.",
        )
    ticket = request.service.key.open(command.body.statement_handle, request.caller.name)
    if ticket.language == "count":
        return fl.RecordBatchStream(counted(int(ticket.text)))
    if ticket.language == "rows" and ticket.params is not None:
        request.service.metrics.sent(ticket.params.num_rows, ticket.params.nbytes)
        return fl.RecordBatchStream(pa.Table.from_batches([ticket.params]))
    return _stream(request, ticket)


@dataclass(frozen=True, slots=True)
class _RowSource:
    """Where rows come from: how to begin, how to stop, and what to do at the end."""

    begin: Callable[[], pa.Table | pa.RecordBatchReader]
    """A table where all rows are there at once."""
    stop: Callable[[], None] = lambda: None
    release: Callable[[], None] = lambda: None


def _stored_rows(request: Request, ticket: Ticket) -> _RowSource:
    """The rows of a stored result, if this server's policies permit to read them, too."""
    require, caller = request.service.policies.require, request.caller
    require(caller, "connect", Resource(ticket.graph))
    for branch, schema, name in ticket.reads:
        require(caller, "read", Resource(ticket.graph, branch, schema, name))
    results = request.service.graphs.results(ticket.graph)
    first, end = ticket.files or (0, 0)
    return _RowSource(lambda: results.read(ticket.text, first, end))


def _statement_rows(request: Request, ticket: Ticket) -> _RowSource:
    """The rows of a statement that runs now."""
    ready = _ready(request, ticket)
    lease = ready.lease

    def begin() -> pa.Table | pa.RecordBatchReader:
        with lease.lock, lease.pinned(ready.snapshot):
            if ready.snapshot is None and not lease.connection.in_transaction:
                raise no_such_transaction()
            row = ready.statement.single_row(ticket.params) if ticket.of == 1 else None
            if row is not None:
                return row
            return read(ready.statement, ticket.params, ticket.index, ticket.of)

    return _RowSource(begin, lease.connection.cancel, lambda: request.release(lease))


def _stream(request: Request, ticket: Ticket) -> fl.FlightDataStream:
    service, user = request.service, request.caller.name
    stored = ticket.language == "kept"
    source = _stored_rows(request, ticket) if stored else _statement_rows(request, ticket)
    service.admission.enter(user, ticket.call, slices=ticket.of)
    try:
        timer = request.timer("read", ticket.graph)
        call = service.calls.begin(ticket.call, user, request.context, source.stop)
    except BaseException:
        service.admission.leave(user, ticket.call, slices=ticket.of)
        raise

    request.session.enter()  # until the last batch, which is after this call

    def ended(rows: int, size: int, error: BaseException | None = None) -> Exception | None:
        request.session.leave()
        service.calls.end(call)
        service.admission.leave(user, ticket.call, slices=ticket.of)
        source.release()
        service.metrics.sent(rows, size)
        timer.end(call.error or error)
        return call.error

    try:
        rows = source.begin()
    except BaseException as error:  # noqa: BLE001 - raised again, after everything is given back
        raise ended(0, 0, error) or error from None
    if isinstance(rows, pa.Table):
        if (stopped := ended(rows.num_rows, rows.nbytes)) is not None:
            raise stopped
        require_size(rows.nbytes, service.limits.result_bytes)
        return fl.RecordBatchStream(rows)
    batches = BatchStream(
        rows,
        stopped=lambda: call.error,
        most_bytes=service.limits.batch_bytes,
        most_in_all=service.limits.result_bytes,
        ended=ended,
    )
    return fl.GeneratorStream(rows.schema, batches)


def _ready(request: Request, ticket: Ticket) -> ReadyStatement:
    """The statement of a ticket: still pending, or checked again at the ticket's moment."""
    service = request.service
    pending = service.pending.take(ticket.call)
    if pending is not None and (
        ticket.transaction is None or pending.lease.connection.in_transaction
    ):
        return pending
    settings = Settings(ticket.graph, ticket.catalog, ticket.schema, ticket.dialect)
    if ticket.transaction is None:
        lease = service.idle.lease(request.caller, settings)
    elif ticket.transaction == SESSION_TRANSACTION:
        lease = request.session.lease(settings)
    else:
        lease = service.sessions.transaction(ticket.transaction.encode(), request.caller).lease
    moment = ticket.moment and lease.connection.graph.snapshot(ticket.moment)
    with lease.lock, lease.pinned(moment or None) as snapshot:
        return ReadyStatement(lease, prepare(lease.connection, ticket.text), snapshot)
