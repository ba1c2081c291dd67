"""Sessions: what a client has chosen, its connections, and its open transactions.

Flight has no connections of its own. A session is found by its cookie, else by the login it came
with, else by the network peer; since nobody says when a client is gone, it ends by idleness.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from omnigraph.errors import NotFound
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.sessions.client_session import ClientSession
from omnigraph_flight.sessions.server_transaction import ServerTransaction, no_such_transaction

COOKIE = "arrow_flight_session_id"


class SessionRegistry:
    """All sessions of a server. The lock protects the maps."""

    def __init__(
        self,
        access: GuardedConnections,
        idle_seconds: float = 1800.0,
        on_end: Callable[[str], None] = lambda key: None,
    ) -> None:
        self._access = access
        self._idle = idle_seconds
        self._on_end = on_end
        self._lock = threading.Lock()
        self._sessions: dict[str, ClientSession] = {}
        self._by_cookie: dict[str, ClientSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def of(self, caller: Caller, peer: str, cookie: str | None, fresh: str | None) -> ClientSession:
        """The session of a call, which has entered it and must leave it again.

        `fresh` is the cookie that the answer gives the client.
        """
        with self._lock:
            session = self._by_cookie.get(cookie) if cookie else None
            if session is None or session.caller.name != caller.name:
                key = f"{caller.name} {caller.login or peer}"
                session = self._sessions.get(key)
                if session is None:
                    session = self._sessions[key] = ClientSession(key, caller, self._access)
            if fresh:
                self._remember(session, fresh)
            session.enter()
        return session

    def transaction(self, id_: bytes, caller: Caller) -> ServerTransaction:
        """An open transaction of the caller, whichever session it was begun in."""
        wanted = id_.decode(errors="replace")
        with self._lock:
            for session in self._sessions.values():
                found = session.transactions.get(wanted)
                if found is not None and found.user == caller.name:
                    session.touch()
                    return found
        raise no_such_transaction()

    def ended(self, transaction: ServerTransaction) -> None:
        """Forget a transaction that was committed or rolled back."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.ended(transaction)

    def savepoint(self, id_: bytes, caller: Caller) -> tuple[ServerTransaction, str]:
        """The transaction of a savepoint, and the savepoint's id."""
        wanted = id_.decode(errors="replace")
        transaction = self.transaction(wanted.partition("/")[0].encode(), caller)
        if wanted not in transaction.savepoints:
            raise NotFound("there is no such savepoint", hint="It has been released.")
        return transaction, wanted

    def close(self, session: ClientSession) -> None:
        """End a session; its open transactions are rolled back."""
        with self._lock:
            self._forget(session)
        session.close()

    def expire(self, on_error: Callable[[Exception], None]) -> int:
        """End the sessions that nobody has used for a while; how many there were."""
        limit = time.monotonic() - self._idle
        with self._lock:
            idle = [each for each in self._sessions.values() if each.idle_since(limit)]
            for session in idle:
                self._forget(session)
        _close(idle, on_error)
        for session in idle:
            self._on_end(session.key)
        return len(idle)

    def close_all(self, on_error: Callable[[Exception], None]) -> None:
        """End all of them, also those in which something runs."""
        with self._lock:
            every = list(self._sessions.values())
            for session in every:
                self._forget(session)
        _close(every, on_error)

    def _remember(self, session: ClientSession, cookie: str) -> None:
        if len(session.cookies) == session.cookies.maxlen:
            self._by_cookie.pop(session.cookies[0], None)
        session.cookies.append(cookie)
        self._by_cookie[cookie] = session

    def _forget(self, session: ClientSession) -> None:
        self._sessions.pop(session.key, None)
        for cookie in session.cookies:
            self._by_cookie.pop(cookie, None)


def _close(sessions: Iterable[ClientSession], on_error: Callable[[Exception], None]) -> None:
    for session in sessions:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001 - the others must end, too
            on_error(error)
