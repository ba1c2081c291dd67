"""ADBC connections, pooled between the nodes of a run.

dbt opens and closes a connection for every node and thread; an ADBC connection costs several round
trips, so closing one only returns it to the pool. The lock protects the idle lists.
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
    """The address of the graph's server, and the credentials for it."""

    uri: str
    credentials: OmniGraphCredentials


class Handle:
    """One ADBC connection on one branch, as dbt uses it."""

    def __init__(self, pool: Pool, branch: str, connection: Any) -> None:  # noqa: ANN401
        self.branch = branch
        self._pool = pool
        self._connection = connection
        self._cursor: Any = None
        self.on_cancel: Callable[[], object] | None = None
        """Cancels work that is not a statement of this connection."""
        self.closed = False

    def cursor(self) -> Any:  # noqa: ANN401
        """A new cursor; closes the one before."""
        self._close_cursor()
        self._cursor = self._connection.cursor()
        return self._cursor

    def cancel(self) -> None:
        """Cancel what runs; from any thread."""
        if self.on_cancel is not None:
            self.on_cancel()
        if self._cursor is not None:
            self._cursor.adbc_cancel()

    def commit(self) -> None:
        """Every statement is a commit of the branch already."""

    def rollback(self) -> None:
        """A statement that failed has changed nothing."""

    def close(self) -> None:
        """Return the connection to the pool, for the next node."""
        if not self.closed:
            self.closed = True
            self._close_cursor()
            self._pool.give_back(self.branch, self._connection)
            restore_interrupts()

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

    def endpoint(self) -> Endpoint:
        """Where others, such as Spark, connect to the same graph."""
        return Endpoint(self._environment.address(), self._credentials)

    def give_back(self, branch: str, connection: Any) -> None:  # noqa: ANN401
        with self._lock:
            self._idle.setdefault(branch, []).append(connection)

    def close(self) -> None:
        """Close idle connections, and the server if this process started it."""
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


def restore_interrupts() -> None:
    """Let Ctrl-C interrupt a wait of the main thread again.

    Importing ADBC, and calling it in the main thread, leaves Python's handler such that system
    calls are restarted after a signal: an interrupt would take effect only after the run.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGINT, handler)


def connection_options(credentials: OmniGraphCredentials, branch: str) -> dict[str, str]:
    """The options of the driver: credentials, graph and branch."""
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
    certificates = credentials.root_certificates()
    if certificates is not None:
        options[DatabaseOptions.TLS_ROOT_CERTS.value] = certificates
    if credentials.tls_skip_verify:
        options[DatabaseOptions.TLS_SKIP_VERIFY.value] = "true"
    return options


def server_message(error: Exception) -> str:
    """The server's message, without what the driver puts around it."""
    text = str(error)
    _, prefix, rest = text.partition("[FlightSQL] ")
    message, suffix, _ = rest.rpartition(". Detail: ")
    return message if suffix else rest if prefix else text
