"""What the headers of a call say: who calls, in which session, with which options."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie

import pyarrow.flight as fl

from omnigraph_flight.access.authentication import Authentication, Caller
from omnigraph_flight.protocol.flight_status import translating_errors
from omnigraph_flight.sessions.client_session import chosen_by_headers
from omnigraph_flight.sessions.session_registry import COOKIE

CALL_HEADERS = "omnigraph"


_ADBC = "ADBC Flight SQL Driver"
"""How the driver names itself; it reads all endpoints of a result, in their order."""


class CallHeaders(fl.ServerMiddleware):  # type: ignore[misc]
    """What the headers of one call say."""

    def __init__(
        self,
        caller: Caller | None,
        headers: dict[str, str],
        cookie: str | None,
        answer: dict[str, str],
        fresh: str | None,
        reads_every_slice: bool = False,
    ) -> None:
        self.caller = caller
        self.headers = headers
        self.cookie = cookie
        self.fresh = fresh
        self.reads_every_slice = reads_every_slice
        self._answer = answer

    def sending_headers(self) -> dict[str, str]:
        return self._answer


class CallHeadersFactory(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    """Looks at the headers of every call before anything else does."""

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication

    def start_call(self, info: fl.CallInfo, headers: dict[str, list[str]]) -> CallHeaders:
        with translating_errors():
            if info.method == fl.FlightMethod.HANDSHAKE:
                token = self._authentication.log_in(headers)
                return CallHeaders(None, {}, None, {"authorization": f"Bearer {token}"}, None)
            caller = self._authentication.caller(headers)
            cookie = _cookie(headers)
            fresh = None if cookie else secrets.token_urlsafe(16)
            answer = {"set-cookie": f"{COOKIE}={fresh}"} if fresh else {}
            chosen, thorough = chosen_by_headers(headers), _reads_every_slice(headers)
            return CallHeaders(caller, chosen, cookie, answer, fresh, thorough)


def _reads_every_slice(headers: dict[str, list[str]]) -> bool:
    return any(agent.startswith(_ADBC) for agent in headers.get("user-agent", ()))


def _cookie(headers: dict[str, list[str]]) -> str | None:
    for text in headers.get("cookie", ()):
        try:
            found = SimpleCookie(text).get(COOKIE)
        except CookieError:
            continue
        if found is not None:
            return found.value
    return None
