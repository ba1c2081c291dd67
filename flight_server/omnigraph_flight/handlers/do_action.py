"""DoAction: prepared statements, transactions, savepoints, sessions, cancelling, renewing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, OmniGraphError
from omnigraph_flight.access.session_settings import DEFAULT_SCHEMA
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.decode_command import decode, decode_command, optional
from omnigraph_flight.protocol.flight_sql_messages import encoded, message, wrapped
from omnigraph_flight.protocol.flight_status import Unsupported
from omnigraph_flight.protocol.tickets import Ticket
from omnigraph_flight.sessions.prepared_statements import PreparedStatement
from omnigraph_flight.sessions.server_statement import prepare

_COMMIT, _ROLL_BACK = 1, 2
_RELEASE, _ROLL_BACK_TO = 1, 2
_CANCELLED, _NOT_CANCELLABLE = 1, 3
_CLOSED = 1
_INVALID_NAME, _INVALID_VALUE = 1, 2

ActionHandler = Callable[[Service, Request, bytes], list[bytes]]


def do_action(service: Service, request: Request, kind: str, body: bytes) -> list[bytes]:
    """Do one of the actions below; the bodies of its results."""
    found = ACTIONS.get(kind)
    if found is None:
        raise Unsupported(
            f"there is no action {kind[:100]!r}", hint=f"There are {', '.join(sorted(ACTIONS))}."
        )
    return found[1](service, request, body)


# --------------------------------------------------------------------------- prepared statements


def _create_prepared(service: Service, request: Request, body: bytes) -> list[bytes]:
    asked = decode_command(body).body
    text = service.require_short(asked.query)
    id_ = optional(asked, "transaction_id") or None
    place = service.place_of(request, service.transaction(request, id_))
    settings = request.settings
    with place.lock:
        statement = prepare(place.connection, text)
        rows = b"" if statement.is_update else _schema_bytes(statement.result_schema)
        parameters = _schema_bytes(statement.parameter_schema)
    service.done(request, place)
    handle = secrets.token_bytes(16)
    prepared = PreparedStatement(
        text, request.caller.name, settings, id_, session=request.session.key
    )
    service.prepared.put(handle, prepared)
    return [
        wrapped(
            "ActionCreatePreparedStatementResult",
            prepared_statement_handle=handle,
            dataset_schema=rows,
            parameter_schema=parameters,
            is_update=statement.is_update,
        )
    ]


def _close_prepared(service: Service, request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001
    service.prepared.drop(decode_command(body).body.prepared_statement_handle)
    return []


def _schema_bytes(schema: pa.Schema) -> bytes:
    return bytes(schema.serialize().to_pybytes())


def _no_substrait(service: Service, request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001
    raise Unsupported("this server takes no Substrait plans", hint="Send SQL or .gq text.")


# --------------------------------------------------------------------------- transactions


def _begin_transaction(service: Service, request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001
    if body:  # it says nothing, but what is sent must be sound
        decode_command(body)
    transaction = request.session.begin(request.settings)
    return [wrapped("ActionBeginTransactionResult", transaction_id=transaction.id.encode())]


def _end_transaction(service: Service, request: Request, body: bytes) -> list[bytes]:
    asked = decode_command(body).body
    transaction = service.sessions.transaction(asked.transaction_id, request.caller)
    if asked.action not in (_COMMIT, _ROLL_BACK):
        raise InvalidInput("a transaction ends with a commit or a rollback", hint="Say which.")
    with transaction.leased() as place:
        try:
            if asked.action == _COMMIT:
                place.connection.commit()
            else:
                place.connection.rollback()
        finally:
            if not place.connection.in_transaction:
                transaction.over = True
                service.sessions.ended(transaction)
                service.prepared.outlive(asked.transaction_id)
    return []


def _begin_savepoint(service: Service, request: Request, body: bytes) -> list[bytes]:
    asked = decode_command(body).body
    transaction = service.sessions.transaction(asked.transaction_id, request.caller)
    id_ = f"{transaction.id}/{secrets.token_hex(8)}"
    with transaction.leased() as place:
        # One name, in any case, may be given twice, but an id means one savepoint.
        taken = {name.casefold() for name in transaction.savepoints.values()}
        name = id_ if asked.name.casefold() in taken else asked.name
        place.connection.savepoint(name)
        transaction.savepoints[id_] = name
    return [wrapped("ActionBeginSavepointResult", savepoint_id=id_.encode())]


def _end_savepoint(service: Service, request: Request, body: bytes) -> list[bytes]:
    asked = decode_command(body).body
    transaction, id_ = service.sessions.savepoint(asked.savepoint_id, request.caller)
    name = transaction.savepoints[id_]
    if asked.action not in (_RELEASE, _ROLL_BACK_TO):
        raise InvalidInput("a savepoint is released or rolled back to", hint="Say which.")
    with transaction.leased() as place:
        if asked.action == _RELEASE:
            place.connection.release(name)
            del transaction.savepoints[id_]
        else:
            place.connection.rollback_to(name)
            later = list(transaction.savepoints)
            for each in later[later.index(id_) + 1 :]:
                del transaction.savepoints[each]
    return []


# --------------------------------------------------------------------------- sessions


def _set_options(service: Service, request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001
    asked = decode("SetSessionOptionsRequest", body)
    result = message("SetSessionOptionsResult")
    for name, value in asked.session_options.items():
        try:
            request.session.choose(name, _text(value), request.headers)
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
        raise InvalidInput("session options here are texts")
    return str(value.string_value)


def _get_options(service: Service, request: Request, body: bytes) -> list[bytes]:  # noqa: ARG001
    decode("GetSessionOptionsRequest", body)
    settings = request.settings
    result = message("GetSessionOptionsResult")
    shown = {
        "graph": settings.graph,
        "catalog": settings.catalog,
        "branch": settings.catalog,
        "schema": settings.schema or DEFAULT_SCHEMA,
        "dialect": settings.dialect,
    }
    for name, value in shown.items():
        result.session_options[name].string_value = value
    return [bytes(result.SerializeToString())]


def _close_session(service: Service, request: Request, body: bytes) -> list[bytes]:
    decode("CloseSessionRequest", body)
    service.sessions.close(request.session)
    service.prepared.drop_session(request.session.key)
    return [encoded("CloseSessionResult", status=_CLOSED)]


# --------------------------------------------------------------------------- running statements


def _cancel_info(service: Service, request: Request, body: bytes) -> list[bytes]:
    asked = decode("CancelFlightInfoRequest", body)
    return [encoded("CancelFlightInfoResult", status=_cancel(service, request, asked.info))]


def _cancel_query(service: Service, request: Request, body: bytes) -> list[bytes]:
    info = decode("FlightInfo", decode_command(body).body.info)
    return [wrapped("ActionCancelQueryResult", result=_cancel(service, request, info))]


def _cancel(service: Service, request: Request, info: Any) -> int:  # noqa: ANN401
    tickets: dict[str, Ticket] = {}
    for endpoint in info.endpoint:
        command = decode_command(endpoint.ticket.ticket)
        if command.name == "TicketStatementQuery":
            ticket = _opened(service, request, command.body.statement_handle)
            tickets[ticket.call] = ticket
    for call, ticket in tickets.items():
        service.waiting.take(call)
        service.calls.cancel(call, request.caller.name)
        if ticket.language == "kept":
            service.graphs.results(ticket.graph).drop(ticket.text)
    return _CANCELLED if tickets else _NOT_CANCELLABLE


def _renew(service: Service, request: Request, body: bytes) -> list[bytes]:
    endpoint = decode("RenewFlightEndpointRequest", body).endpoint
    command = decode_command(endpoint.ticket.ticket)
    if command.name == "TicketStatementQuery":
        renewed = service.key.seal(_opened(service, request, command.body.statement_handle))
        endpoint.ticket.ticket = wrapped("TicketStatementQuery", statement_handle=renewed)
    return [bytes(endpoint.SerializeToString())]


def _opened(service: Service, request: Request, handle: bytes) -> Ticket:
    return service.key.open(handle, request.caller.name)


ACTIONS: dict[str, tuple[str, ActionHandler]] = {
    "CreatePreparedStatement": ("Check a statement and keep it.", _create_prepared),
    "CreatePreparedSubstraitPlan": ("Not supported.", _no_substrait),
    "ClosePreparedStatement": ("Let go of a prepared statement.", _close_prepared),
    "BeginTransaction": ("Begin a transaction.", _begin_transaction),
    "EndTransaction": ("Commit or roll back a transaction.", _end_transaction),
    "BeginSavepoint": ("Set a savepoint in a transaction.", _begin_savepoint),
    "EndSavepoint": ("Release a savepoint, or roll back to it.", _end_savepoint),
    "CancelQuery": ("Cancel a running query.", _cancel_query),
    "CancelFlightInfo": ("Cancel a running query.", _cancel_info),
    "RenewFlightEndpoint": ("Make a ticket good for longer.", _renew),
    "SetSessionOptions": ("Choose graph, catalog, schema or dialect.", _set_options),
    "GetSessionOptions": ("What is chosen.", _get_options),
    "CloseSession": ("End the session; open transactions are rolled back.", _close_session),
}
