"""All sessions of a server.

Flight has no connections of its own. A session is found by its cookie, else by the login it came
with, else by the network peer; since no client says when it leaves, a session ends by idleness.
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


class SessionRegistry:
    """Sessions by key and by cookie. The lock protects both maps and the cookies of sessions."""

    def __init__(
        self, access: GuardedConnections, idle_seconds: float, on_end: Callable[[str], None]
    ) -> None:
        self._access = access
        self._idle_seconds = idle_seconds
        self._on_end = on_end
        self._lock = threading.Lock()
        self._sessions: dict[str, ClientSession] = {}
        self._by_cookie: dict[str, ClientSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def enter(
        self, caller: Caller, peer: str, cookie: str | None, new_cookie: str | None
    ) -> ClientSession:
        """The session of a call, which must leave it again; found by a new cookie from now on."""
        with self._lock:
            session = self._by_cookie.get(cookie) if cookie else None
            if session is None or session.caller.name != caller.name:
                key = f"{caller.name} {caller.login or peer}"
                session = self._sessions.get(key)
                if session is None:
                    session = self._sessions[key] = ClientSession(key, caller, self._access)
            if new_cookie:
                self._add_cookie(session, new_cookie)
            session.enter()
        return session

    def transaction(self, id_: bytes, caller: Caller) -> ServerTransaction:
        """An open transaction of the caller, whichever session it was begun in."""
        name = id_.decode(errors="replace")
        with self._lock:
            for session in self._sessions.values():
                transaction = session.transactions.get(name)
                if transaction is not None and transaction.user == caller.name:
                    session.touch()
                    return transaction
        raise no_such_transaction()

    def remove_transaction(self, transaction: ServerTransaction) -> None:
        """Forget a transaction that was committed or rolled back."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.remove_transaction(transaction)

    def savepoint(self, id_: bytes, caller: Caller) -> tuple[ServerTransaction, str]:
        """The transaction of a savepoint, and the savepoint's id."""
        name = id_.decode(errors="replace")
        transaction = self.transaction(name.partition("/")[0].encode(), caller)
        if name not in transaction.savepoints:
            raise NotFound("there is no such savepoint", hint="It has been released.")
        return transaction, name

    def close(self, session: ClientSession) -> None:
        """End a session; its open transactions are rolled back."""
        with self._lock:
            self._remove(session)
        session.close()

    def expire(self, on_error: Callable[[Exception], None]) -> int:
        """End the sessions that were idle for too long; how many there were."""
        limit = time.monotonic() - self._idle_seconds
        with self._lock:
            idle = [each for each in self._sessions.values() if each.idle_since(limit)]
            for session in idle:
                self._remove(session)
        _close(idle, on_error)
        for session in idle:
            self._on_end(session.key)
        return len(idle)

    def close_all(self, on_error: Callable[[Exception], None]) -> None:
        """End all sessions, also those in which a statement runs."""
        with self._lock:
            every = list(self._sessions.values())
            for session in every:
                self._remove(session)
        _close(every, on_error)

    def _add_cookie(self, session: ClientSession, cookie: str) -> None:
        if len(session.cookies) == session.cookies.maxlen:
            self._by_cookie.pop(session.cookies[0], None)
        session.cookies.append(cookie)
        self._by_cookie[cookie] = session

    def _remove(self, session: ClientSession) -> None:
        self._sessions.pop(session.key, None)
        for cookie in session.cookies:
            self._by_cookie.pop(cookie, None)


def _close(sessions: Iterable[ClientSession], on_error: Callable[[Exception], None]) -> None:
    for session in sessions:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001 - the others must end, too
            on_error(error)
