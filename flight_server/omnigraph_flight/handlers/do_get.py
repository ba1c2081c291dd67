"""DoGet: open a ticket, run its slice of the statement, stream the batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph_flight.access.policies import Resource
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.handlers.get_flight_info import HOME
from omnigraph_flight.handlers.metadata_commands import (
    answer,
    fixed_answer,
    is_metadata,
    needs_connection,
)
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.batch_stream import BatchStream, require_size
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, decode_command
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Ticket
from omnigraph_flight.sessions.pending_results import ReadyStatement
from omnigraph_flight.sessions.server_statement import counted, prepare
from omnigraph_flight.sessions.server_transaction import no_such_transaction


def do_get(service: Service, request: Request, ticket: fl.Ticket) -> fl.FlightDataStream:
    """The rows a ticket stands for."""
    command = decode_command(ticket.ticket)
    if is_metadata(command):
        return fl.RecordBatchStream(_metadata(service, request, command))
    if command.name != "TicketStatementQuery":
        raise Unsupported(
            f"{command.name} is no ticket", hint="Ask for one with GetFlightInfo first."
        )
    opened = service.key.open(command.body.statement_handle, request.caller.name)
    if opened.language == "count":
        return fl.RecordBatchStream(counted(int(opened.text)))
    if opened.language == "rows" and opened.params is not None:
        service.metrics.sent(opened.params.num_rows, opened.params.nbytes)
        return fl.RecordBatchStream(pa.Table.from_batches([opened.params]))
    return _stream(service, request, opened)


def _metadata(service: Service, request: Request, command: FlightSqlCommand) -> pa.Table:
    if not needs_connection(command):
        return fixed_answer(command)
    place = service.place_of(request, None)
    with place.lock:
        found = answer(command, place.connection)
    service.done(request, place)
    return found


@dataclass(frozen=True, slots=True)
class _Source:
    """Where rows come from: how to begin, how to stop, and what to do at the end."""

    begin: Callable[[], pa.Table | pa.RecordBatchReader]
    """A table where all rows are there at once."""
    stop: Callable[[], None]
    done: Callable[[], None]


def _source(service: Service, request: Request, ticket: Ticket) -> _Source:
    if ticket.language == "kept":
        _require_readable(service, request, ticket)
        kept = service.graphs.results(ticket.graph)
        first, end = ticket.files or (0, 0)
        return _Source(lambda: kept.read(ticket.text, first, end), _nothing, _nothing)
    ready = _ready(service, request, ticket)
    place = ready.place

    def begin() -> pa.Table | pa.RecordBatchReader:
        with place.lock, place.pinned(ready.snapshot):
            if ready.snapshot is None and not place.connection.in_transaction:
                raise no_such_transaction()
            row = ready.statement.single_row(ticket.params) if ticket.of == 1 else None
            if row is not None:
                return row
            return ready.statement.read(ticket.params, ticket.index, ticket.of)

    return _Source(begin, place.connection.cancel, lambda: service.done(request, place))


def _require_readable(service: Service, request: Request, ticket: Ticket) -> None:
    """Ask this server's policies about rows that perhaps another one has kept."""
    require, caller = service.policies.require, request.caller
    require(caller, "connect", Resource(ticket.graph))
    for branch, schema, name in ticket.reads:
        require(caller, "read", Resource(ticket.graph, branch, schema, name))


def _nothing() -> None:
    """A kept result ends with its last file, or between two batches."""


def _stream(service: Service, request: Request, ticket: Ticket) -> fl.FlightDataStream:
    user = request.caller.name
    source = _source(service, request, ticket)
    service.admission.enter(user, ticket.call, slices=ticket.of)
    try:
        measured = service.measured("read", ticket.graph, user)
        call = service.calls.begin(ticket.call, user, request.context, source.stop)
    except BaseException:
        service.admission.leave(user, ticket.call, slices=ticket.of)
        raise

    request.session.enter()  # until the last batch, which is after this call

    def ended(rows: int, size: int, error: BaseException | None = None) -> Exception | None:
        request.session.leave()
        service.calls.end(call)
        service.admission.leave(user, ticket.call, slices=ticket.of)
        source.done()
        service.metrics.sent(rows, size)
        measured.end(call.error or error)
        return call.error

    try:
        rows = source.begin()
    except BaseException as error:  # noqa: BLE001 - raised again, after its place is given back
        raise ended(0, 0, error) or error from None
    if isinstance(rows, pa.Table):
        if (stopped := ended(rows.num_rows, rows.nbytes)) is not None:
            raise stopped
        require_size(rows.nbytes, service.limits.result_bytes)
        return fl.RecordBatchStream(rows)
    return fl.GeneratorStream(
        rows.schema,
        BatchStream(
            rows,
            stopped=lambda: call.error,
            most_bytes=service.limits.batch_bytes,
            most_in_all=service.limits.result_bytes,
            ended=ended,
        ),
    )


def _ready(service: Service, request: Request, ticket: Ticket) -> ReadyStatement:
    """The statement of a ticket: still at hand, or checked again at the ticket's moment."""
    waiting = service.waiting.take(ticket.call)
    if waiting is not None and (
        ticket.transaction is None or waiting.place.connection.in_transaction
    ):
        return waiting
    settings = Settings(ticket.graph, ticket.catalog, ticket.schema, ticket.dialect)
    if ticket.transaction is None:
        place = service.reading_place(request, settings)
    elif ticket.transaction == HOME:
        place = request.session.home(settings)
    else:
        place = service.sessions.transaction(ticket.transaction.encode(), request.caller).place
    moment = ticket.moment and place.connection.graph.snapshot(ticket.moment)
    with place.lock, place.pinned(moment or None) as snapshot:
        return ReadyStatement(place, prepare(place.connection, ticket.text), snapshot)
