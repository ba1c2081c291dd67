"""What the headers of a call say: who calls, in which session (cookies), with which options."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

import pyarrow.flight as fl

from omnigraph.errors import InvalidInput
from omnigraph_flight.access.authentication import Authentication, Caller
from omnigraph_flight.access.session_settings import option_name
from omnigraph_flight.protocol.flight_status import translating_errors

CALL_HEADERS = "omnigraph"
COOKIE = "arrow_flight_session_id"
_OPTION_PREFIX = "x-omnigraph-"
_ADBC = "ADBC Flight SQL Driver"
"""How the driver names itself; it reads all endpoints of a result, in their order."""


class _ResponseHeaders(fl.ServerMiddleware):  # type: ignore[misc]
    def __init__(self, headers: dict[str, str]) -> None:
        self._response_headers = headers

    def sending_headers(self) -> dict[str, str]:
        return self._response_headers


class CallHeaders(_ResponseHeaders):
    """What the headers of one call say; its answer gives a cookie to a client that sent none."""

    def __init__(self, caller: Caller, headers: Mapping[str, list[str]]) -> None:
        self.caller = caller
        self.cookie = _session_cookie(headers)
        self.new_cookie = None if self.cookie else secrets.token_urlsafe(16)
        self.options = _session_options(headers)
        self.reads_every_slice = any(
            agent.startswith(_ADBC) for agent in headers.get("user-agent", ())
        )
        """Other clients may read the first slice of a result and take it for all of it."""
        super().__init__({"set-cookie": f"{COOKIE}={self.new_cookie}"} if self.new_cookie else {})


class CallHeadersFactory(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    """Authenticates every call before anything else is done for it."""

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication

    def start_call(self, info: fl.CallInfo, headers: dict[str, list[str]]) -> _ResponseHeaders:
        with translating_errors():
            if info.method == fl.FlightMethod.HANDSHAKE:
                token = self._authentication.log_in(headers)
                return _ResponseHeaders({"authorization": f"Bearer {token}"})
            return CallHeaders(self._authentication.caller(headers), headers)


def _session_cookie(headers: Mapping[str, list[str]]) -> str | None:
    for text in headers.get("cookie", ()):
        try:
            cookie = SimpleCookie(text).get(COOKIE)
        except CookieError:
            continue
        if cookie is not None:
            return cookie.value
    return None


def _session_options(headers: Mapping[str, list[str]]) -> dict[str, str]:
    """Session options that a client sends with each call: `x-omnigraph-branch` and its like."""
    options: dict[str, str] = {}
    for name, values in headers.items():
        if values and name.lower().startswith(_OPTION_PREFIX):
            option = option_name(name.lower().removeprefix(_OPTION_PREFIX))
            if option is None:
                raise InvalidInput(
                    f"there is no option {name!r}",
                    hint="There are x-omnigraph-graph, -branch, -schema, -dialect and -slices.",
                )
            options[option] = str(values[0])
    return options
