"""DoAction: prepared statements, transactions, savepoints, sessions, cancelling, renewing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, OmniGraphError
from omnigraph_flight.access.session_settings import DEFAULT_SCHEMA
from omnigraph_flight.handlers.service import Request
from omnigraph_flight.protocol.decode_command import decode, decode_command
from omnigraph_flight.protocol.flight_sql_messages import encoded, message, wrapped
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Ticket
from omnigraph_flight.sessions.prepared_statements import PreparedStatement
from omnigraph_flight.sessions.server_statement import prepare, schema_of_rows

_COMMIT, _ROLL_BACK = 1, 2
_RELEASE, _ROLL_BACK_TO = 1, 2
_CANCELLED, _NOT_CANCELLABLE = 1, 3
_CLOSED = 1
_INVALID_NAME, _INVALID_VALUE = 1, 2

ActionHandler = Callable[[Request, bytes], list[bytes]]


def do_action(request: Request, kind: str, body: bytes) -> list[bytes]:
    """Do one of the actions below; the bodies of its results."""
    if kind not in ACTIONS:
        raise Unsupported(
            f"there is no action {kind[:100]!r}", hint=f"There are {', '.join(sorted(ACTIONS))}."
        )
    _, handle = ACTIONS[kind]
    return handle(request, body)


# --------------------------------------------------------------------------- prepared statements


def _create_prepared(request: Request, body: bytes) -> list[bytes]:
    requested = request.statement(decode_command(body).body)
    with request.reading(requested) as lease:
        statement = prepare(lease.connection, requested.text)
        rows = b"" if statement.is_update else _schema_bytes(schema_of_rows(statement))
        parameters = _schema_bytes(statement.parameter_schema)
    handle, transaction = secrets.token_bytes(16), requested.transaction
    prepared = PreparedStatement(
        requested.text,
        request.caller.name,
        requested.settings,
        request.session.key,
        transaction.id.encode() if transaction else None,
    )
    request.service.prepared.put(handle, prepared)
    return [
        wrapped(
            "ActionCreatePreparedStatementResult",
            prepared_statement_handle=handle,
            dataset_schema=rows,
            parameter_schema=parameters,
            is_update=statement.is_update,
        )
    ]


def _close_prepared(request: Request, body: bytes) -> list[bytes]:
    request.service.prepared.drop(decode_command(body).body.prepared_statement_handle)
    return []


def _schema_bytes(schema: pa.Schema) -> bytes:
    return bytes(schema.serialize().to_pybytes())


def _refuse_substrait(request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001  # noqa: ARG001
    raise Unsupported("Substrait plans are not supported", hint="Send SQL or .gq text.")


# --------------------------------------------------------------------------- transactions


def _begin_transaction(request: Request, body: bytes) -> list[bytes]:
    if body:  # the message has no fields, but its bytes must be valid
        decode_command(body)
    transaction = request.session.begin(request.settings)
    return [wrapped("ActionBeginTransactionResult", transaction_id=transaction.id.encode())]


def _end_transaction(request: Request, body: bytes) -> list[bytes]:
    message_body, service = decode_command(body).body, request.service
    transaction = service.sessions.transaction(message_body.transaction_id, request.caller)
    if message_body.action not in (_COMMIT, _ROLL_BACK):
        raise InvalidInput("the action must be COMMIT or ROLLBACK", hint="Say which.")
    with transaction.locked() as lease:
        try:
            if message_body.action == _COMMIT:
                lease.connection.commit()
            else:
                lease.connection.rollback()
        finally:
            if not lease.connection.in_transaction:
                transaction.ended = True
                service.sessions.remove_transaction(transaction)
                service.prepared.end_transaction(message_body.transaction_id)
    return []


def _begin_savepoint(request: Request, body: bytes) -> list[bytes]:
    message_body = decode_command(body).body
    transaction = request.service.sessions.transaction(message_body.transaction_id, request.caller)
    id_ = f"{transaction.id}/{secrets.token_hex(8)}"
    with transaction.locked() as lease:
        # One name, in any case, may be given twice, but an id means one savepoint.
        used = {name.casefold() for name in transaction.savepoints.values()}
        name = id_ if message_body.name.casefold() in used else message_body.name
        lease.connection.savepoint(name)
        transaction.savepoints[id_] = name
    return [wrapped("ActionBeginSavepointResult", savepoint_id=id_.encode())]


def _end_savepoint(request: Request, body: bytes) -> list[bytes]:
    message_body, sessions = decode_command(body).body, request.service.sessions
    transaction, id_ = sessions.savepoint(message_body.savepoint_id, request.caller)
    name = transaction.savepoints[id_]
    if message_body.action not in (_RELEASE, _ROLL_BACK_TO):
        raise InvalidInput("the action must be RELEASE or ROLLBACK", hint="Say which.")
    with transaction.locked() as lease:
        if message_body.action == _RELEASE:
            lease.connection.release(name)
            del transaction.savepoints[id_]
        else:
            lease.connection.rollback_to(name)
            ids = list(transaction.savepoints)
            for later in ids[ids.index(id_) + 1 :]:
                del transaction.savepoints[later]
    return []


# --------------------------------------------------------------------------- sessions


def _set_options(request: Request, body: bytes) -> list[bytes]:
    result = message("SetSessionOptionsResult")
    for name, value in decode("SetSessionOptionsRequest", body).session_options.items():
        try:
            request.session.set_option(name, _text(value), request.headers.options)
        except NotFound as error:
            # A missing option and a missing branch are both "not found".
            unknown = "session option" in error.message
            result.errors[name].value = _INVALID_NAME if unknown else _INVALID_VALUE
        except OmniGraphError:
            result.errors[name].value = _INVALID_VALUE
    return [bytes(result.SerializeToString())]


def _text(value: Any) -> str | None:  # noqa: ANN401
    kind = value.WhichOneof("option_value")
    if kind is None:
        return None
    if kind != "string_value":
        raise InvalidInput("the values of session options are strings")
    return str(value.string_value)


def _get_options(request: Request, body: bytes) -> list[bytes]:
    decode("GetSessionOptionsRequest", body)
    settings = request.settings
    result = message("GetSessionOptionsResult")
    options = {
        "graph": settings.graph,
        "catalog": settings.catalog,
        "branch": settings.catalog,
        "schema": settings.schema or DEFAULT_SCHEMA,
        "dialect": settings.dialect,
    }
    for name, value in options.items():
        result.session_options[name].string_value = value
    return [bytes(result.SerializeToString())]


def _close_session(request: Request, body: bytes) -> list[bytes]:
    decode("CloseSessionRequest", body)
    request.service.sessions.close(request.session)
    request.service.prepared.drop_session(request.session.key)
    return [encoded("CloseSessionResult", status=_CLOSED)]


# --------------------------------------------------------------------------- running statements


def _cancel_info(request: Request, body: bytes) -> list[bytes]:
    info = decode("CancelFlightInfoRequest", body).info
    return [encoded("CancelFlightInfoResult", status=_cancel(request, info))]


def _cancel_query(request: Request, body: bytes) -> list[bytes]:
    info = decode("FlightInfo", decode_command(body).body.info)
    return [wrapped("ActionCancelQueryResult", result=_cancel(request, info))]


def _cancel(request: Request, info: Any) -> int:  # noqa: ANN401
    service = request.service
    opened = (_ticket(request, endpoint) for endpoint in info.endpoint)
    tickets = {ticket.call: ticket for ticket in opened if ticket is not None}
    for call, ticket in tickets.items():
        service.pending.take(call)
        service.calls.cancel(call, request.caller.name)
        if ticket.language == "kept":
            service.graphs.results(ticket.graph).delete(ticket.text)
    return _CANCELLED if tickets else _NOT_CANCELLABLE


def _renew(request: Request, body: bytes) -> list[bytes]:
    endpoint = decode("RenewFlightEndpointRequest", body).endpoint
    ticket = _ticket(request, endpoint)
    if ticket is not None:
        renewed = request.service.key.seal(ticket)
        endpoint.ticket.ticket = wrapped("TicketStatementQuery", statement_handle=renewed)
    return [bytes(endpoint.SerializeToString())]


def _ticket(request: Request, endpoint: Any) -> Ticket | None:  # noqa: ANN401
    """The ticket of an endpoint; none if it is that of a metadata command."""
    command = decode_command(endpoint.ticket.ticket)
    if command.name != "TicketStatementQuery":
        return None
    return request.service.key.open(command.body.statement_handle, request.caller.name)


ACTIONS: dict[str, tuple[str, ActionHandler]] = {
    "CreatePreparedStatement": ("Check a statement and return a handle.", _create_prepared),
    "CreatePreparedSubstraitPlan": ("Not supported.", _refuse_substrait),
    "ClosePreparedStatement": ("Close a prepared statement.", _close_prepared),
    "BeginTransaction": ("Begin a transaction.", _begin_transaction),
    "EndTransaction": ("Commit or roll back a transaction.", _end_transaction),
    "BeginSavepoint": ("Set a savepoint in a transaction.", _begin_savepoint),
    "EndSavepoint": ("Release a savepoint, or roll back to it.", _end_savepoint),
    "CancelQuery": ("Cancel a running query.", _cancel_query),
    "CancelFlightInfo": ("Cancel a running query.", _cancel_info),
    "RenewFlightEndpoint": ("Renew a ticket.", _renew),
    "SetSessionOptions": ("Set graph, catalog, schema, dialect or slices.", _set_options),
    "GetSessionOptions": ("The session options.", _get_options),
    "CloseSession": ("End the session; open transactions are rolled back.", _close_session),
}
