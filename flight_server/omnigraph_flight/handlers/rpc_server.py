"""The Flight server: finds the session of a call and passes it to the handler of its RPC."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Concatenate, Never, ParamSpec, TypeVar

import pyarrow.flight as fl

from omnigraph.errors import OmniGraphError
from omnigraph_flight.handlers.call_headers import CALL_HEADERS, CallHeadersFactory
from omnigraph_flight.handlers.do_action import ACTIONS, do_action
from omnigraph_flight.handlers.do_get import do_get
from omnigraph_flight.handlers.do_put import do_put
from omnigraph_flight.handlers.get_flight_info import get_flight_info, get_schema
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.flight_status import Unsupported, translating_errors

log = logging.getLogger("omnigraph.flight")
Answer = TypeVar("Answer")
Args = ParamSpec("Args")


class Handshake(fl.ServerAuthHandler):  # type: ignore[misc]
    """Answers handshakes, whose outcome is in the headers that `CallHeadersFactory` reads."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:  # noqa: ANN401, ARG002
        outgoing.write(b"")

    def is_valid(self, token: bytes) -> bytes:  # noqa: ARG002
        return b""


def _unsupported(request: Request) -> Never:  # noqa: ARG001
    raise Unsupported(
        "this RPC of Flight is not supported", hint="Send Flight SQL commands, or list actions."
    )


class FlightSqlServer(fl.FlightServerBase):  # type: ignore[misc]
    """Serves graphs over Arrow Flight SQL."""

    def __init__(
        self,
        service: Service,
        location: str,
        *,
        certificate: tuple[bytes, bytes] | None = None,
        client_authority: bytes | None = None,
    ) -> None:
        self.service = service
        super().__init__(
            location,
            auth_handler=Handshake(),
            middleware={CALL_HEADERS: CallHeadersFactory(service.authentication)},
            tls_certificates=[certificate] if certificate else None,
            verify_client=client_authority is not None,
            root_certificates=client_authority,
        )

    def get_flight_info(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.FlightInfo:
        return self._answer("GetFlightInfo", context, get_flight_info, descriptor)

    def get_schema(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.SchemaResult:
        return self._answer("GetSchema", context, get_schema, descriptor)

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> fl.FlightDataStream:
        return self._answer("DoGet", context, do_get, ticket)

    def do_put(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.FlightMetadataWriter,
    ) -> None:
        self._answer("DoPut", context, do_put, descriptor, reader, writer)

    def do_action(self, context: fl.ServerCallContext, action: fl.Action) -> Iterator[bytes]:
        body = action.body.to_pybytes() if action.body is not None else b""
        return iter(self._answer("DoAction", context, do_action, action.type, body))

    def list_flights(
        self,
        context: fl.ServerCallContext,
        criteria: bytes,  # noqa: ARG002
    ) -> Iterator[fl.FlightInfo]:
        return self._answer("ListFlights", context, _unsupported)

    def do_exchange(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,  # noqa: ARG002
        reader: fl.MetadataRecordBatchReader,  # noqa: ARG002
        writer: fl.MetadataRecordBatchWriter,  # noqa: ARG002
    ) -> None:
        self._answer("DoExchange", context, _unsupported)

    def list_actions(self, context: fl.ServerCallContext) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(name, description) for name, (description, _) in sorted(ACTIONS.items())]

    def _answer(
        self,
        method: str,
        context: fl.ServerCallContext,
        handler: Callable[Concatenate[Request, Args], Answer],
        *args: Args.args,
        **kwargs: Args.kwargs,
    ) -> Answer:
        service, began, code = self.service, time.perf_counter(), "ok"
        headers = context.get_middleware(CALL_HEADERS)
        caller = headers.caller
        with translating_errors():
            try:
                session = service.sessions.enter(
                    caller, context.peer(), headers.cookie, headers.new_cookie
                )
                try:
                    return handler(Request(service, headers, session, context), *args, **kwargs)
                finally:
                    session.leave()
            except Exception as error:
                code = error.code if isinstance(error, OmniGraphError) else "internal"
                log.info("refused", extra={"method": method, "code": code, "user": caller.name})
                raise
            finally:
                service.metrics.answered(method, code, time.perf_counter() - began)
