"""The Flight server: a call finds its caller and session, then goes to the handler of its kind."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Never, TypeVar

import pyarrow.flight as fl

from omnigraph.errors import OmniGraphError
from omnigraph_flight.handlers.call_headers import CALL_HEADERS, CallHeadersFactory
from omnigraph_flight.handlers.do_action import ACTIONS, do_action
from omnigraph_flight.handlers.do_get import do_get
from omnigraph_flight.handlers.do_put import do_put
from omnigraph_flight.handlers.get_flight_info import flight_info, result_schema
from omnigraph_flight.handlers.service import Request, Service
from omnigraph_flight.protocol.flight_status import Unsupported, translating_errors

log = logging.getLogger("omnigraph.flight")
Answer = TypeVar("Answer")


class Handshake(fl.ServerAuthHandler):  # type: ignore[misc]
    """Answers handshakes, whose outcome is in the headers that `CallHeadersFactory` reads."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:  # noqa: ANN401, ARG002
        outgoing.write(b"")

    def is_valid(self, token: bytes) -> bytes:  # noqa: ARG002
        return b""


def _not_spoken(request: Request) -> Never:  # noqa: ARG001
    raise Unsupported(
        "this part of Flight is not served here", hint="Send Flight SQL commands, or list actions."
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
        return self._answer(
            "GetFlightInfo", context, lambda r: flight_info(self.service, r, descriptor)
        )

    def get_schema(
        self, context: fl.ServerCallContext, descriptor: fl.FlightDescriptor
    ) -> fl.SchemaResult:
        return self._answer(
            "GetSchema", context, lambda r: result_schema(self.service, r, descriptor)
        )

    def do_get(self, context: fl.ServerCallContext, ticket: fl.Ticket) -> fl.FlightDataStream:
        return self._answer("DoGet", context, lambda r: do_get(self.service, r, ticket))

    def do_put(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,
        reader: fl.MetadataRecordBatchReader,
        writer: fl.FlightMetadataWriter,
    ) -> None:
        self._answer(
            "DoPut", context, lambda r: do_put(self.service, r, descriptor, reader, writer)
        )

    def do_action(self, context: fl.ServerCallContext, action: fl.Action) -> Iterator[bytes]:
        body = action.body.to_pybytes() if action.body is not None else b""
        return iter(
            self._answer(
                "DoAction", context, lambda r: do_action(self.service, r, action.type, body)
            )
        )

    def list_flights(
        self,
        context: fl.ServerCallContext,
        criteria: bytes,  # noqa: ARG002
    ) -> Iterator[fl.FlightInfo]:
        return self._answer("ListFlights", context, _not_spoken)

    def do_exchange(
        self,
        context: fl.ServerCallContext,
        descriptor: fl.FlightDescriptor,  # noqa: ARG002
        reader: fl.MetadataRecordBatchReader,  # noqa: ARG002
        writer: fl.MetadataRecordBatchWriter,  # noqa: ARG002
    ) -> None:
        self._answer("DoExchange", context, _not_spoken)

    def list_actions(self, context: fl.ServerCallContext) -> list[tuple[str, str]]:  # noqa: ARG002
        return [(name, description) for name, (description, _) in sorted(ACTIONS.items())]

    def _answer(
        self, method: str, context: fl.ServerCallContext, handle: Callable[[Request], Answer]
    ) -> Answer:
        service, began = self.service, time.perf_counter()
        entrance = context.get_middleware(CALL_HEADERS)
        user, code = entrance.caller.name, "ok"
        with translating_errors():
            try:
                session = service.sessions.of(
                    entrance.caller, context.peer(), entrance.cookie, entrance.fresh
                )
                try:
                    return handle(
                        Request(
                            entrance.caller,
                            session,
                            entrance.headers,
                            context,
                            entrance.reads_every_slice,
                        )
                    )
                finally:
                    session.leave()
            except Exception as error:
                code = error.code if isinstance(error, OmniGraphError) else "internal"
                log.info("refused", extra={"method": method, "code": code, "user": user})
                raise
            finally:
                service.metrics.answered(method, code, time.perf_counter() - began)
