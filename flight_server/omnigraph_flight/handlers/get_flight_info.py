"""GetFlightInfo and GetSchema: check a statement, pin its moment, and give out tickets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph_flight.access.result_store import StoredResult, buffer_small_result
from omnigraph_flight.handlers.do_put import run_update
from omnigraph_flight.handlers.metadata_commands import is_metadata, schema_of
from omnigraph_flight.handlers.service import Request, StatementRequest
from omnigraph_flight.protocol.batch_stream import require_size
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, decode_command
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Language, Ticket
from omnigraph_flight.sessions.pending_results import ReadyStatement
from omnigraph_flight.sessions.server_statement import (
    GqStatement,
    ServerStatement,
    prepare,
    read,
    schema_of_rows,
)
from omnigraph_flight.sessions.server_transaction import no_such_transaction

SESSION_TRANSACTION = "home"
"""Stands in tickets for the transaction that a session began with the statement BEGIN."""
DEFAULT_SLICES = 8
"""Into how many slices a scan is cut for a client that reads them all and did not say."""
DEFAULT_SLICE_ROWS = 10_000
"""So many rows at least are worth a slice of their own."""
TICKET_BYTES = 64 * 1024
"""Bytes of parameters or rows that a ticket carries at most: it may have many slices."""
STORED_TICKETS = 4
"""How many times the life of a ticket a stored result lives, so that tickets can be renewed."""
LONGEST = 24 * 3600.0
"""How long, in seconds, rows may take to be stored where statements have no time limit."""


def get_flight_info(request: Request, descriptor: fl.FlightDescriptor) -> fl.FlightInfo:
    """How to get the result of a command."""
    command = decode_command(descriptor.command or b"")
    if is_metadata(command):
        endpoint = fl.FlightEndpoint(descriptor.command, [])
        return fl.FlightInfo(schema_of(command), descriptor, [endpoint], -1, -1)
    requested = _requested(request, command)
    lease = request.read_lease(requested)
    with lease.lock, lease.pinned() as snapshot:
        if requested.transaction is not None and requested.transaction.ended:
            raise no_such_transaction()
        statement = prepare(lease.connection, requested.text)
        schema = schema_of_rows(statement)
        ready = ReadyStatement(lease, statement, snapshot)
        slices = _deferred_slices(request, requested, ready)
    if slices:
        result = _Result(_deferred_tickets(request, requested, ready, slices))
    else:
        result = _run_now(request, requested, ready)
    seal = request.service.key.seal
    endpoints = [
        fl.FlightEndpoint(wrapped("TicketStatementQuery", statement_handle=seal(ticket)), [])
        for ticket in result.tickets
    ]
    return fl.FlightInfo(
        schema, descriptor, endpoints, result.rows, result.bytes, ordered=result.ordered
    )


def get_schema(request: Request, descriptor: fl.FlightDescriptor) -> fl.SchemaResult:
    """The schema of a command's result, without running it."""
    command = decode_command(descriptor.command or b"")
    if is_metadata(command):
        return fl.SchemaResult(schema_of(command))
    requested = _requested(request, command)
    with request.reading(requested) as lease:
        return fl.SchemaResult(schema_of_rows(prepare(lease.connection, requested.text)))


def _requested(request: Request, command: FlightSqlCommand) -> StatementRequest:
    if command.name == "CommandStatementQuery":
        return request.statement(command.body)
    if command.name == "CommandPreparedStatementQuery":
        return request.prepared_statement(command.body)
    raise Unsupported(
        f"{command.name} is not supported here", hint="Send statements as SQL or .gq text."
    )


@dataclass(frozen=True, slots=True)
class _Result:
    """Tickets for a result, and how large it is, as far as that is known."""

    tickets: list[Ticket]
    rows: int = -1
    bytes: int = -1
    ordered: bool = False
    """Whether the slices, one after the other, are the result in its order."""


# --------------------------------------------------------------------------- run when read


def _deferred_slices(request: Request, requested: StatementRequest, ready: ReadyStatement) -> int:
    """Into how many slices a statement is cut that run when they are read; 0 if it runs now."""
    statement, slices = ready.statement, request.slices()
    if statement.changes:
        return 0
    if not _is_sliceable(requested, ready):
        return 1 if slices in (None, 1) else 0
    if slices is not None:
        return statement.slices(slices)
    if request.headers.reads_every_slice:
        most = min(DEFAULT_SLICES, request.service.limits.slices)
        return statement.slices(most, rows_each=DEFAULT_SLICE_ROWS)
    return 1


def _is_sliceable(requested: StatementRequest, ready: ReadyStatement) -> bool:
    """Whether each slice of a statement can run by itself, on any replica."""
    params = requested.params
    # Every ticket carries the parameters, the tickets of a stored result do not.
    small = params is None or (params.num_rows == 1 and params.nbytes <= TICKET_BYTES)
    return small and ready.snapshot is not None and ready.statement.is_scan


def _deferred_tickets(
    request: Request, requested: StatementRequest, ready: ReadyStatement, slices: int
) -> list[Ticket]:
    """Tickets for so many slices of a statement that runs when they come back."""
    language: Language = "gq" if isinstance(ready.statement, GqStatement) else "sql"
    transaction, snapshot = requested.transaction, ready.snapshot
    if snapshot is not None:
        reads_at = {"moment": f"{snapshot.branch}@{snapshot.commit}"}
    else:
        reads_at = {"transaction": transaction.id if transaction else SESSION_TRANSACTION}
    ticket = _ticket(request, requested, language, requested.text, **reads_at)
    request.service.pending.put(ticket.call, ready)
    return [ticket] if slices == 1 else [ticket.slice(index, slices) for index in range(slices)]


# --------------------------------------------------------------------------- run now


def _run_now(request: Request, requested: StatementRequest, ready: ReadyStatement) -> _Result:
    """Run what cannot wait, or be cut into slices, and store its rows."""
    slices = request.slices() or 1
    if not ready.statement.changes:
        return _run_query(request, requested, ready, slices)
    # A client that takes every statement for a query.
    request.release(ready.lease)
    if not ready.statement.is_update:
        return _run_returning(request, requested, slices)
    count = run_update(request, requested)
    return _Result([_ticket(request, replace(requested, params=None), "count", str(count))])


def _run_query(
    request: Request, requested: StatementRequest, ready: ReadyStatement, slices: int
) -> _Result:
    """Run a query and store its rows; tickets for slices of them."""
    service, lease = request.service, ready.lease
    ticket = _ticket(request, requested, "kept", "")
    try:
        with (
            service.admission.turn(request.caller.name, ticket.call),
            request.running("read", requested.settings.graph, ticket.call, lease),
        ):
            with lease.lock, lease.pinned(ready.snapshot):
                rows = read(ready.statement, requested.params)
            stored = _store(request, ticket, rows, slices)
            return _stored_result(replace(ticket, reads=_reads(ready.statement)), stored, slices)
    finally:
        request.release(lease)


def _run_returning(request: Request, requested: StatementRequest, slices: int) -> _Result:
    """Run a statement that gives the rows it changes: however often they are read, it ran once.

    It is committed when its rows are stored: one that is reported as failed changed nothing.
    """
    ticket, graph = _ticket(request, requested, "kept", ""), requested.settings.graph
    with request.writing("update", requested, ticket.call) as lease:
        statement, stored = prepare(lease.connection, requested.text), None
        try:
            with lease.connection.one_publish(statement.target):
                few, rows = buffer_small_result(read(statement, requested.params), TICKET_BYTES)
                if few is not None and slices == 1:
                    require_size(few.nbytes, request.service.limits.result_bytes)
                    carrying = replace(ticket, language="rows", params=few)
                    result = _Result([carrying], few.num_rows, few.nbytes, ordered=True)
                else:
                    stored = _store(request, ticket, rows, slices)
                    result = _stored_result(ticket, stored, slices)
        except BaseException:
            if stored is not None:
                request.service.graphs.results(graph).delete(stored.name)
            raise
    if stored is not None and slices == 1:  # slices may be for others, who read them later
        request.session.delete_at_end(graph, stored)
    request.service.metrics.changed(result.rows)
    return result


def _store(
    request: Request, ticket: Ticket, rows: pa.RecordBatchReader, slices: int
) -> StoredResult:
    """Write the rows of a ticket's statement into files."""
    service, limits = request.service, request.service.limits
    return service.graphs.results(ticket.graph).store(
        ticket.call,
        rows,
        slices=slices,
        seconds=STORED_TICKETS * service.key.seconds,
        longest=limits.statement_seconds or LONGEST,
        most_bytes=min(filter(None, (limits.result_bytes, limits.kept_bytes)), default=0),
        most_in_all=limits.kept_bytes_per_graph,
    )


def _reads(statement: ServerStatement) -> tuple[tuple[str, str | None, str | None], ...]:
    """What the rows of a statement come from."""
    read = (access for access in statement.touched if access.action == "read")
    return tuple((access.branch, access.schema, access.name) for access in read)


def _stored_result(ticket: Ticket, stored: StoredResult, slices: int) -> _Result:
    """Tickets for slices of a stored result."""
    parts = stored.slices(slices)
    ticket = replace(ticket, text=stored.name, until=stored.until, params=None)
    tickets = [replace(ticket.slice(i, len(parts)), files=files) for i, files in enumerate(parts)]
    return _Result(tickets, stored.rows, stored.bytes, ordered=True)


def _ticket(
    request: Request,
    requested: StatementRequest,
    language: Language,
    text: str,
    moment: str | None = None,
    transaction: str | None = None,
) -> Ticket:
    at = requested.settings
    return Ticket(
        graph=at.graph,
        user=request.caller.name,
        language=language,
        text=text,
        catalog=at.catalog,
        moment=moment,
        schema=at.schema,
        dialect=at.dialect,
        transaction=transaction,
        params=requested.params,
    )
