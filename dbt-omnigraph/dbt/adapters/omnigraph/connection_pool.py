"""ADBC connections, kept open between the nodes of a run.

dbt opens and closes a connection for every node and thread; an ADBC connection costs several round
trips, so closing one only puts it back. The lock protects the idle lists.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import adbc_driver_flightsql.dbapi as flightsql
from adbc_driver_flightsql import DatabaseOptions

from dbt.adapters.omnigraph.credentials import OmniGraphCredentials
from dbt.adapters.omnigraph.environments import Environment, environment_for

BRANCH_HEADER = "x-omnigraph-branch"
GRAPH_HEADER = "x-omnigraph-graph"


@dataclass(frozen=True)
class Endpoint:
    """Where the graph answers, and what one has to say there."""

    uri: str
    credentials: OmniGraphCredentials


class Handle:
    """One ADBC connection on one branch, as dbt has it in its hands."""

    def __init__(self, pool: Pool, branch: str, connection: Any) -> None:  # noqa: ANN401
        self.branch = branch
        self._pool = pool
        self._connection = connection
        self._cursor: Any = None
        self.on_cancel: Callable[[], object] | None = None
        """Stops work that is not a statement of this connection."""
        self.closed = False

    def cursor(self) -> Any:  # noqa: ANN401
        """A cursor; the one before is done with."""
        self._close_cursor()
        self._cursor = self._connection.cursor()
        return self._cursor

    def cancel(self) -> None:
        """Stop what runs; from any thread."""
        if self.on_cancel is not None:
            self.on_cancel()
        if self._cursor is not None:
            self._cursor.adbc_cancel()

    def commit(self) -> None:
        """Every statement is a commit of the branch already."""

    def rollback(self) -> None:
        """A statement that failed has left nothing."""

    def close(self) -> None:
        """Put the connection back for the next node."""
        if not self.closed:
            self.closed = True
            self._close_cursor()
            self._pool.put_back(self.branch, self._connection)
            hear_interrupts()

    def _close_cursor(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None


class Pool:
    """The connections of one invocation."""

    def __init__(self, credentials: OmniGraphCredentials) -> None:
        self._credentials = credentials
        self._environment: Environment = environment_for(credentials)
        self._idle: dict[str, list[Any]] = {}
        self._lock = threading.Lock()

    def open(self, branch: str) -> Handle:
        """A connection whose statements run on that branch."""
        with self._lock:
            idle = self._idle.get(branch)
            connection = idle.pop() if idle else None
        return Handle(self, branch, connection or self._connect(branch))

    def place(self) -> Endpoint:
        """Where others find the graph that these connections are of."""
        return Endpoint(self._environment.address(), self._credentials)

    def put_back(self, branch: str, connection: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._idle.setdefault(branch, []).append(connection)

    def close(self) -> None:
        """Close what is idle, and the server if it is ours."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()
        self._environment.close()

    def _connect(self, branch: str) -> Any:  # noqa: ANN401
        return flightsql.connect(
            self._environment.address(),
            db_kwargs=connection_options(self._credentials, branch),
            autocommit=True,
        )


def hear_interrupts() -> None:
    """Let Ctrl-C interrupt a wait of the main thread again.

    Importing ADBC, and calling it in the main thread, leaves Python's handler such that system
    calls are restarted after a signal: an interrupt would be heard only when everything has run.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def connection_options(credentials: OmniGraphCredentials, branch: str) -> dict[str, str]:
    """What the driver is told: who we are, which graph and which branch."""
    header = DatabaseOptions.RPC_CALL_HEADER_PREFIX.value
    options = {
        header + BRANCH_HEADER: branch,
        DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true",
    }
    if credentials.graph:
        options[header + GRAPH_HEADER] = credentials.graph
    if credentials.token:
        options[DatabaseOptions.AUTHORIZATION_HEADER.value] = f"Bearer {credentials.token}"
    if credentials.username:
        options["username"] = credentials.username
        options["password"] = credentials.password or ""
    trusted = credentials.root_certificates()
    if trusted is not None:
        options[DatabaseOptions.TLS_ROOT_CERTS.value] = trusted
    if credentials.tls_skip_verify:
        options[DatabaseOptions.TLS_SKIP_VERIFY.value] = "true"
    return options


def server_message(error: Exception) -> str:
    """The server's own words, without the driver's frame around them."""
    text = str(error)
    _, framed, rest = text.partition("[FlightSQL] ")
    words, detailed, _ = rest.rpartition(". Detail: ")
    return words if detailed else rest if framed else text
