"""DoPut: run updates, bind parameters, take uploads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph.errors import InvalidInput, ResourceLimit
from omnigraph.tables import align
from omnigraph_flight.handlers.running_calls import cancelled
from omnigraph_flight.handlers.service import Request, StatementRequest
from omnigraph_flight.protocol.decode_command import decode_command, optional
from omnigraph_flight.protocol.flight_sql_messages import encoded
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.sessions.server_statement import prepare, run_text, update
from omnigraph_sql import IngestMode

_MODES: dict[tuple[int, int], IngestMode] = {
    (1, 1): "create",
    (2, 2): "append",
    (1, 3): "replace",
    (1, 2): "create_append",
}
"""What to do if a table is missing (1 create, 2 fail) and if it exists (1 fail, 2 append,
3 replace)."""


def do_put(
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
            count = run_update(request, request.statement(body))
        case "CommandPreparedStatementUpdate":
            requested = request.prepared_statement(body)
            params = _parameters(request, reader)
            count = run_update(
                request, requested if params is None else replace(requested, params=params)
            )
        case "CommandPreparedStatementQuery":
            handle = body.prepared_statement_handle
            prepared = request.service.prepared.get(handle, request.caller)
            prepared.params = _parameters(request, reader)
            writer.write(encoded("DoPutPreparedStatementResult", prepared_statement_handle=handle))
            return
        case "CommandStatementIngest":
            count = _ingest(request, body, reader)
        case other:
            raise Unsupported(
                f"DoPut does not support {other}", hint="Put updates, parameters or rows."
            )
    writer.write(encoded("DoPutUpdateResult", record_count=count))


def run_update(request: Request, requested: StatementRequest) -> int:
    """Run a statement that changes something, once; how many rows it changed."""
    with request.writing("update", requested) as lease:
        if requested.params is None:
            count = run_text(lease.connection, requested.text)
        else:
            count = update(prepare(lease.connection, requested.text), requested.params)
    request.service.metrics.changed(count)
    return count


def _ingest(request: Request, body: Any, reader: fl.MetadataRecordBatchReader) -> int:  # noqa: ANN401
    options, limits = body.table_definition_options, request.service.limits
    mode = _MODES.get((options.if_not_exist, options.if_exists))
    if mode is None:
        raise InvalidInput(
            "an upload must say what to do if the table is missing and if it exists",
            hint="Create, append, replace, or create and append.",
        )
    # Some clients never say which transaction an upload is part of: it is their open one.
    transaction = request.transaction(body) or request.session.newest_transaction()
    requested = StatementRequest("", request.settings, transaction)
    with request.writing("upload", requested) as lease:
        count: int = lease.connection.ingest(
            body.table,
            _received(request, reader, limits.ingest_bytes, "an upload"),
            mode,
            schema=optional(body, "schema") or None,
            catalog=optional(body, "catalog") or None,
            temporary=body.temporary,
        )
    request.service.metrics.rows_received.inc(count)
    return count


def _received(
    request: Request, reader: fl.MetadataRecordBatchReader, most: int, what: str
) -> pa.RecordBatchReader:
    """What a client sends as it arrives, up to so many bytes; 0 is no limit."""

    def batches() -> Iterator[pa.RecordBatch]:
        size = 0
        for chunk in reader:
            if chunk.data is None:
                continue
            size += chunk.data.nbytes
            request.service.metrics.bytes_received.inc(chunk.data.nbytes)
            if most and size > most:
                raise ResourceLimit(f"the size of {what} in bytes", most, size)
            yield align(chunk.data)
        _require_complete(request)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _require_complete(request: Request) -> None:
    """Refuse an upload that the client broke off: it looks as if it had come to its end."""
    if request.context.is_cancelled():
        raise cancelled()


def _parameters(request: Request, reader: fl.MetadataRecordBatchReader) -> pa.RecordBatch | None:
    """The bound parameters, one set per row; none if the client sent none."""
    try:
        schema = reader.schema
    except pa.ArrowException:
        _require_complete(request)
        return None  # a client that has nothing to bind sends no schema at all
    if not schema.names:
        return None
    most = request.service.limits.parameter_bytes
    table = _received(request, reader, most, "parameters").read_all().combine_chunks()
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema)
    return pa.RecordBatch.from_arrays(
        [_of_one_type(column) for column in table.to_batches()[0].columns], names=schema.names
    )


def _of_one_type(values: pa.Array) -> pa.Array:
    """Some clients send each parameter as a union of all types there are."""
    return pa.array(values.to_pylist()) if pa.types.is_union(values.type) else values
