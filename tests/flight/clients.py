"""What the tests of the server say to it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.flight as fl
from adbc_driver_flightsql import DatabaseOptions, dbapi

from omnigraph_flight.protocol.decode_command import decode_command
from omnigraph_flight.protocol.flight_sql_messages import message, wrapped

HEADER = DatabaseOptions.RPC_CALL_HEADER_PREFIX.value


def header(**options: str) -> dict[str, str]:
    """ADBC options that send `x-omnigraph-…` headers with every call."""
    return {f"{HEADER}x-omnigraph-{name}": value for name, value in options.items()}


def rows(client: dbapi.Connection, sql: str, *params: object) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with client.cursor() as cursor:
        cursor.execute(sql, params or None)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def run(client: dbapi.Connection, sql: str, *params: object) -> int:
    """How many rows a statement changed."""
    with client.cursor() as cursor:
        cursor.execute(sql, params or None)
        return int(cursor.rowcount)


def fetched(client: dbapi.Connection, sql: str) -> pa.Table:
    """The rows of a query as Arrow."""
    with client.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


def query(
    client: fl.FlightClient, sql: str, options: fl.FlightCallOptions | None = None
) -> pa.Table:
    """A query by a bare Flight client: two calls, as the protocol has it."""
    descriptor = fl.FlightDescriptor.for_command(wrapped("CommandStatementQuery", query=sql))
    info = client.get_flight_info(descriptor, options)
    return client.do_get(info.endpoints[0].ticket, options).read_all()


def metadata(client: fl.FlightClient, command: str, **fields: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows that answer a metadata command."""
    descriptor = fl.FlightDescriptor.for_command(wrapped(command, **fields))
    ticket = client.get_flight_info(descriptor).endpoints[0].ticket
    found: list[dict[str, Any]] = client.do_get(ticket).read_all().to_pylist()
    return found


def action(client: fl.FlightClient, kind: str, body: bytes) -> bytes:
    """The one result of an action."""
    (result,) = client.do_action(fl.Action(kind, body))
    return bytes(result.body.to_pybytes())


def update(client: fl.FlightClient, sql: str, transaction: bytes | None = None) -> int:
    """An update by a bare client: DoPut without any rows."""
    fields = {} if transaction is None else {"transaction_id": transaction}
    command = wrapped("CommandStatementUpdate", query=sql, **fields)
    writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), pa.schema([]))
    with writer:
        writer.done_writing()
        result = message("DoPutUpdateResult")
        result.ParseFromString(reader.read().to_pybytes())
    return int(result.record_count)


def begin(client: fl.FlightClient) -> bytes:
    """Begin a transaction; its id."""
    begun = action(client, "BeginTransaction", wrapped("ActionBeginTransactionRequest"))
    return bytes(decode_command(begun).body.transaction_id)


def _handle(client: fl.FlightClient, sql: str) -> bytes:
    """The handle of a new prepared statement."""
    request = wrapped("ActionCreatePreparedStatementRequest", query=sql)
    made = decode_command(action(client, "CreatePreparedStatement", request)).body
    return bytes(made.prepared_statement_handle)


def bound_update(client: fl.FlightClient, sql: str, params: pa.RecordBatch) -> int:
    """A prepared update with these sets of parameters; how many rows it changed."""
    _, answer = _bound(client, "CommandPreparedStatementUpdate", sql, params)
    result = message("DoPutUpdateResult")
    result.ParseFromString(answer)
    return int(result.record_count)


def prepared(client: fl.FlightClient, sql: str, params: pa.RecordBatch) -> bytes:
    """The command that runs a prepared query with these sets of parameters bound to it."""
    command, _ = _bound(client, "CommandPreparedStatementQuery", sql, params)
    return command


def _bound(
    client: fl.FlightClient, kind: str, sql: str, params: pa.RecordBatch
) -> tuple[bytes, bytes]:
    """Prepare a text and put parameters: the command, and what the server says to it."""
    command = wrapped(kind, prepared_statement_handle=_handle(client, sql))
    writer, reader = client.do_put(fl.FlightDescriptor.for_command(command), params.schema)
    with writer:
        writer.write_batch(params)
        writer.done_writing()
        return command, reader.read().to_pybytes()
