"""GetFlightInfo and GetSchema: check a statement, pin its moment, and give out tickets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph_flight.access.result_store import StoredResult, buffer_small_result
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.handlers.do_put import run_update
from omnigraph_flight.handlers.metadata_commands import is_metadata, schema_of
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.batch_stream import require_size
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, decode_command, optional
from omnigraph_flight.protocol.flight_sql_messages import wrapped
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Language, Ticket
from omnigraph_flight.sessions.pending_results import ReadyStatement
from omnigraph_flight.sessions.server_statement import ServerStatement, prepare
from omnigraph_flight.sessions.server_transaction import ServerTransaction, no_such_transaction

HOME = "home"
"""Stands in tickets for the transaction that a session began with the statement BEGIN."""
UNASKED_SLICES = 8
"""Into how many slices a scan is cut for a client that reads them all and did not say."""
UNASKED_ROWS = 10_000
"""So many rows at least are worth a slice of their own."""
TICKET_BYTES = 64 * 1024
"""Bytes of parameters or rows that a ticket carries at most: it may have many slices."""
KEPT_TICKETS = 4
"""How many times the life of a ticket a kept result lives, so that its tickets can be renewed."""

LONGEST = 24 * 3600.0
"""How long, in seconds, rows may take to be kept where no limit is set for statements."""


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement as a client asks for it, prepared before or not."""

    text: str
    settings: Settings
    transaction: ServerTransaction | None
    params: pa.RecordBatch | None


def flight_info(
    service: Service, request: Request, descriptor: fl.FlightDescriptor
) -> fl.FlightInfo:
    """How to get the result of a command."""
    command = decode_command(descriptor.command or b"")
    if is_metadata(command):
        endpoint = fl.FlightEndpoint(descriptor.command, [])
        return fl.FlightInfo(schema_of(command), descriptor, [endpoint], -1, -1)
    asked = _asked(service, request, command)
    place = service.place_of(request, asked.transaction, asked.settings)
    with place.lock, place.pinned() as snapshot:
        if asked.transaction is not None and asked.transaction.over:
            raise no_such_transaction()
        statement = prepare(place.connection, asked.text)
        schema = statement.result_schema
        ready = ReadyStatement(place, statement, snapshot)
        cut = _cut(service, request, asked, ready)
    answer = _answer(service, request, asked, ready, cut)
    endpoints = [
        fl.FlightEndpoint(
            wrapped("TicketStatementQuery", statement_handle=service.key.seal(ticket)), []
        )
        for ticket in answer.tickets
    ]
    return fl.FlightInfo(
        schema, descriptor, endpoints, answer.rows, answer.bytes, ordered=answer.ordered
    )


def result_schema(
    service: Service, request: Request, descriptor: fl.FlightDescriptor
) -> fl.SchemaResult:
    """The schema of a command's result, without running it."""
    command = decode_command(descriptor.command or b"")
    if is_metadata(command):
        return fl.SchemaResult(schema_of(command))
    asked = _asked(service, request, command)
    place = service.place_of(request, asked.transaction, asked.settings)
    with place.lock:
        statement = prepare(place.connection, asked.text)
        schema = statement.result_schema
    service.done(request, place)
    return fl.SchemaResult(schema)


def _asked(service: Service, request: Request, command: FlightSqlCommand) -> StatementRequest:
    body = command.body
    if command.name == "CommandStatementQuery":
        return StatementRequest(
            service.require_short(body.query),
            request.settings,
            service.transaction(request, optional(body, "transaction_id")),
            None,
        )
    if command.name == "CommandPreparedStatementQuery":
        prepared = service.prepared.get(body.prepared_statement_handle, request.caller)
        settings = service.settings_of(request, prepared)
        transaction = service.transaction_of(request, prepared)
        return StatementRequest(prepared.text, settings, transaction, prepared.params)
    raise Unsupported(
        f"{command.name} cannot be asked for here",
        hint="Send statements as SQL or .gq text.",
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """Tickets for a result, and how large it is, as far as that is known."""

    tickets: list[Ticket]
    rows: int = -1
    bytes: int = -1
    ordered: bool = False
    """Whether the slices, one after the other, are the result in its order."""


def _answer(
    service: Service, request: Request, asked: StatementRequest, ready: ReadyStatement, cut: int
) -> _Answer:
    """Tickets for slices that run when they come back; what cannot wait or be cut runs now."""
    if cut:
        return _Answer(_tickets(service, request, asked, ready, cut))
    wanted = request.slices(service.limits.slices) or 1
    if not ready.statement.changes:
        return _run_once(service, request, asked, ready, wanted)
    # A client that takes every statement for a query.
    service.done(request, ready.place)
    if ready.statement.is_update:
        return _count_once(service, request, asked)
    return _change_once(service, request, asked, wanted)


def _cut(service: Service, request: Request, asked: StatementRequest, ready: ReadyStatement) -> int:
    """Into how many slices a statement is cut that run when they are read; 0 if it runs now."""
    most, statement = service.limits.slices, ready.statement
    said = request.slices(most)
    if statement.changes:
        return 0
    if not _is_cut(asked, ready):
        return 1 if said in (None, 1) else 0
    if said is not None:
        return statement.slices(said)
    if request.reads_every_slice:
        return statement.slices(min(UNASKED_SLICES, most), rows_each=UNASKED_ROWS)
    return 1


def _is_cut(asked: StatementRequest, ready: ReadyStatement) -> bool:
    """Whether each slice of a statement can run by itself, on any replica."""
    params = asked.params
    # Every ticket carries the parameters, the tickets of a kept result do not.
    small = params is None or (params.num_rows == 1 and params.nbytes <= TICKET_BYTES)
    return small and ready.snapshot is not None and ready.statement.is_scan


def _tickets(
    service: Service, request: Request, asked: StatementRequest, ready: ReadyStatement, of: int
) -> list[Ticket]:
    """Tickets for so many slices of a statement that runs when they come back."""
    statement, snapshot = ready.statement, ready.snapshot
    within = None if snapshot else asked.transaction.id if asked.transaction else HOME
    moment = f"{snapshot.branch}@{snapshot.commit}" if snapshot else None
    first = _ticket(request, asked, statement.language, asked.text, moment, within)
    service.waiting.put(first.call, ready)
    return [first] if of == 1 else [first.slice(index, of) for index in range(of)]


def _run_once(
    service: Service, request: Request, asked: StatementRequest, ready: ReadyStatement, wanted: int
) -> _Answer:
    """Run a query now and keep its rows; tickets for slices of them."""
    user, place = request.caller.name, ready.place
    first = _ticket(request, asked, "kept", "")
    try:
        with (
            service.admission.turn(user, first.call),
            service.measured("read", asked.settings.graph, user),
            service.calls.running(first.call, user, request.context, place.connection.cancel),
        ):
            with place.lock, place.pinned(ready.snapshot):
                rows = ready.statement.read(asked.params, 0, 1)
            kept = _keep(service, asked, first, rows, wanted)
            return _kept(replace(first, reads=_reads(ready.statement)), kept, wanted)
    finally:
        service.done(request, place)


def _change_once(
    service: Service, request: Request, asked: StatementRequest, wanted: int
) -> _Answer:
    """Run a statement that gives the rows it changes: however often they are read, it ran once.

    It is committed when its rows are kept: one that is told to have failed changed nothing.
    """
    user, settings = request.caller.name, asked.settings
    first = _ticket(request, asked, "kept", "")
    with (
        service.admission.turn(user, first.call),
        service.writing_place(request, asked.transaction, settings) as place,
        service.measured("update", settings.graph, user),
        service.calls.running(first.call, user, request.context, place.connection.cancel),
    ):
        statement, kept = prepare(place.connection, asked.text), None
        try:
            with place.connection.one_publish(statement.target):
                few, rows = buffer_small_result(statement.read(asked.params, 0, 1), TICKET_BYTES)
                if few is not None and wanted == 1:
                    answer = _carried(service, first, few)
                else:
                    kept = _keep(service, asked, first, rows, wanted)
                    answer = _kept(first, kept, wanted)
        except BaseException:
            if kept is not None:
                service.graphs.results(settings.graph).drop(kept.name)
            raise
    if kept is not None and wanted == 1:  # slices may be for others, who read them later
        request.session.keep(settings.graph, kept)
    service.metrics.changed(answer.rows)
    return answer


def _carried(service: Service, first: Ticket, few: pa.RecordBatch) -> _Answer:
    """A ticket that carries its rows."""
    require_size(few.nbytes, service.limits.result_bytes)
    ticket = replace(first, language="rows", params=few)
    return _Answer([ticket], few.num_rows, few.nbytes, ordered=True)


def _count_once(service: Service, request: Request, asked: StatementRequest) -> _Answer:
    """Run an update; its ticket is its count."""
    count = run_update(
        service, request, asked.transaction, asked.settings, asked.text, asked.params
    )
    return _Answer([_ticket(request, replace(asked, params=None), "count", str(count))])


def _keep(
    service: Service,
    asked: StatementRequest,
    first: Ticket,
    rows: pa.RecordBatchReader,
    wanted: int,
) -> StoredResult:
    """Keep rows in files."""
    limits = service.limits
    return service.graphs.results(asked.settings.graph).keep(
        first.call,
        rows,
        slices=wanted,
        seconds=KEPT_TICKETS * service.key.seconds,
        longest=limits.statement_seconds or LONGEST,
        most_bytes=min(filter(None, (limits.result_bytes, limits.kept_bytes)), default=0),
        most_in_all=limits.kept_bytes_per_graph,
    )


def _reads(statement: ServerStatement) -> tuple[tuple[str, str | None, str | None], ...]:
    """What the rows of a statement come from."""
    read = (touch for touch in statement.touched if touch.action == "read")
    return tuple((touch.branch, touch.schema, touch.name) for touch in read)


def _kept(first: Ticket, kept: StoredResult, wanted: int) -> _Answer:
    """Tickets for slices of kept rows."""
    cut = kept.slices(wanted)
    first = replace(first, text=kept.name, until=kept.until, params=None)
    tickets = [replace(first.slice(i, len(cut)), files=files) for i, files in enumerate(cut)]
    return _Answer(tickets, kept.rows, kept.bytes, ordered=True)


def _ticket(
    request: Request,
    asked: StatementRequest,
    language: Language,
    text: str,
    moment: str | None = None,
    transaction: str | None = None,
) -> Ticket:
    settings = asked.settings
    return Ticket(
        graph=settings.graph,
        user=request.caller.name,
        language=language,
        text=text,
        catalog=settings.catalog,
        moment=moment,
        schema=settings.schema,
        dialect=settings.dialect,
        transaction=transaction,
        params=asked.params,
    )
