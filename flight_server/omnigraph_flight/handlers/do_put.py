"""DoPut: run updates, bind parameters, take uploads."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph.errors import InvalidInput, ResourceLimit
from omnigraph.tables import align
from omnigraph_flight.access.session_settings import Settings
from omnigraph_flight.handlers.running_calls import cancelled
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, decode_command, optional
from omnigraph_flight.protocol.flight_sql_messages import encoded
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.sessions.server_statement import prepare, run_text
from omnigraph_flight.sessions.server_transaction import ServerTransaction
from omnigraph_sql import IngestMode

_MODES: dict[tuple[int, int], IngestMode] = {
    (1, 1): "create",
    (2, 2): "append",
    (1, 3): "replace",
    (1, 2): "create_append",
}
"""What to do if a table is missing (1 create, 2 fail) and if it is there (1 fail, 2 append,
3 replace)."""


def do_put(
    service: Service,
    request: Request,
    descriptor: fl.FlightDescriptor,
    reader: fl.MetadataRecordBatchReader,
    writer: fl.FlightMetadataWriter,
) -> None:
    """Run what was put; the answer is a count."""
    command = decode_command(descriptor.command or b"")
    body = command.body
    match command.name:
        case "CommandStatementUpdate":
            transaction = service.transaction(request, optional(body, "transaction_id"))
            text = service.require_short(body.query)
            count = run_update(service, request, transaction, request.settings, text, None)
        case "CommandPreparedStatementUpdate":
            prepared = service.prepared.get(body.prepared_statement_handle, request.caller)
            params = _parameters(service, request, reader)
            count = run_update(
                service,
                request,
                service.transaction_of(request, prepared),
                service.settings_of(request, prepared),
                prepared.text,
                prepared.params if params is None else params,
            )
        case "CommandPreparedStatementQuery":
            prepared = service.prepared.get(body.prepared_statement_handle, request.caller)
            prepared.params = _parameters(service, request, reader)
            writer.write(
                encoded(
                    "DoPutPreparedStatementResult",
                    prepared_statement_handle=body.prepared_statement_handle,
                )
            )
            return
        case "CommandStatementIngest":
            count = _ingest(service, request, command, reader)
        case other:
            raise Unsupported(f"{other} cannot be put", hint="Put updates, parameters or rows.")
    writer.write(encoded("DoPutUpdateResult", record_count=count))


def run_update(
    service: Service,
    request: Request,
    transaction: ServerTransaction | None,
    settings: Settings,
    text: str,
    params: pa.RecordBatch | None,
) -> int:
    """Run a statement that changes something, once; how many rows it changed."""
    user, call = request.caller.name, secrets.token_hex(8)
    with (
        service.admission.turn(user, call),
        service.writing_place(request, transaction, settings) as place,
        service.measured("update", settings.graph, user),
        service.calls.running(call, user, request.context, place.connection.cancel),
    ):
        if params is None:
            count = run_text(place.connection, text)
        else:
            statement = prepare(place.connection, text)
            count = statement.update(params)
    service.metrics.changed(count)
    return count


def _ingest(
    service: Service,
    request: Request,
    command: FlightSqlCommand,
    reader: fl.MetadataRecordBatchReader,
) -> int:
    body, user, call = command.body, request.caller.name, secrets.token_hex(8)
    options = body.table_definition_options
    mode = _MODES.get((options.if_not_exist, options.if_exists))
    if mode is None:
        raise InvalidInput(
            "an upload says what to do if the table is missing and if it is there",
            hint="Create, append, replace, or create and append.",
        )
    # Some clients never say which transaction an upload is part of: it is their open one.
    transaction = service.transaction(request, optional(body, "transaction_id"))
    transaction = transaction or request.session.newest_transaction()
    settings = request.settings
    catalog, schema = optional(body, "catalog") or None, optional(body, "schema") or None
    with (
        service.admission.turn(user, call),
        service.writing_place(request, transaction, settings) as place,
        service.measured("upload", settings.graph, user),
        service.calls.running(call, user, request.context, place.connection.cancel),
    ):
        count: int = place.connection.ingest(
            body.table,
            _incoming(service, request, reader, service.limits.ingest_bytes, "an upload"),
            mode,
            schema=schema,
            catalog=catalog,
            temporary=body.temporary,
        )
    service.metrics.rows_received.inc(count)
    return count


def _incoming(
    service: Service,
    request: Request,
    reader: fl.MetadataRecordBatchReader,
    most: int,
    what: str,
) -> pa.RecordBatchReader:
    """What a client sends as it arrives, up to so many bytes; 0 is no limit."""

    def batches() -> Iterator[pa.RecordBatch]:
        size = 0
        for chunk in reader:
            if chunk.data is None:
                continue
            size += chunk.data.nbytes
            service.metrics.bytes_received.inc(chunk.data.nbytes)
            if most and size > most:
                raise ResourceLimit(f"the size of {what} in bytes", most, size)
            yield align(chunk.data)
        _require_whole(request)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _require_whole(request: Request) -> None:
    """Refuse what a client has broken off: it looks as if it had come to its end."""
    if request.context.is_cancelled():
        raise cancelled()


def _parameters(
    service: Service, request: Request, reader: fl.MetadataRecordBatchReader
) -> pa.RecordBatch | None:
    """The bound parameters, one set per row; none if the client sent none."""
    try:
        schema = reader.schema
    except pa.ArrowException:
        _require_whole(request)
        return None  # a client that has nothing to bind sends no schema at all
    if not schema.names:
        return None
    most = service.limits.parameter_bytes
    table = _incoming(service, request, reader, most, "parameters").read_all().combine_chunks()
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema)
    return pa.RecordBatch.from_arrays(
        [_of_one_type(column) for column in table.to_batches()[0].columns], names=schema.names
    )


def _of_one_type(values: pa.Array) -> pa.Array:
    """Some clients send each parameter as a union of all types there are."""
    return pa.array(values.to_pylist()) if pa.types.is_union(values.type) else values
