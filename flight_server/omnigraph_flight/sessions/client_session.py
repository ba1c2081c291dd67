"""What one client has chosen, its connections and its open transactions."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.access.result_store import StoredResult
from omnigraph_flight.access.session_settings import (
    DEFAULT_BRANCH,
    DEFAULT_SCHEMA,
    OPTIONS,
    Settings,
    option_name,
)
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.server_transaction import ServerTransaction, no_such_transaction
from omnigraph_sql import find_schema

_COOKIES_RETAINED = 8


class ClientSession:
    """The session of one client.

    The lock protects its maps and counts; the lock of each lease, that connection; the lock of the
    registry, the cookies.
    """

    def __init__(self, key: str, caller: Caller, access: GuardedConnections) -> None:
        self.key = key
        self.caller = caller
        self.cookies: deque[str] = deque(maxlen=_COOKIES_RETAINED)
        self.options: dict[str, str] = {}
        self.transactions: dict[str, ServerTransaction] = {}
        self._access = access
        self._lock = threading.Lock()
        self._leases: dict[str, ConnectionLease] = {}
        """The connection of statements outside transactions, by graph."""
        self._stored_results: list[tuple[str, StoredResult]] = []
        """Results whose tickets only this session has, and their graphs."""
        self._running_calls = 0
        self._last_used = time.monotonic()

    # ------------------------------------------------------------------ idleness

    def enter(self) -> None:
        """A call of the session begins; until it leaves, the session is not idle."""
        with self._lock:
            self._running_calls += 1

    def leave(self) -> None:
        with self._lock:
            self._running_calls -= 1
            self._last_used = time.monotonic()

    def touch(self) -> None:
        """Another session has used one of its transactions."""
        with self._lock:
            self._last_used = time.monotonic()

    def idle_since(self, moment: float) -> bool:
        """Whether nothing has run in it since then."""
        with self._lock:
            return not self._running_calls and self._last_used < moment

    # ------------------------------------------------------------------ options

    def settings(self, call_options: Mapping[str, str]) -> Settings:
        """What was chosen in this session, else with the headers of the call."""
        chosen = {**call_options, **self.options}
        return Settings(
            graph=chosen.get("graph") or self._access.graphs.default,
            catalog=chosen.get("catalog") or DEFAULT_BRANCH,
            schema=chosen.get("schema"),
            dialect=chosen.get("dialect") or "postgres",
        )

    def slices(self, call_options: Mapping[str, str], most: int) -> int | None:
        """Into how many slices the client asks for results; none if it does not say."""
        count = self.options.get("slices") or call_options.get("slices")
        if count is None:
            return None
        if not count.isdecimal() or not int(count):
            raise InvalidInput(
                f"{count!r} is not a number of slices", hint=f"Ask for 1 to {most} slices."
            )
        return min(int(count), most)

    def set_option(self, name: str, value: str | None, call_options: Mapping[str, str]) -> None:
        """Set an option, or go back to its default."""
        option = option_name(name)
        if option is None:
            raise NotFound(
                f"there is no session option {name!r}", hint=f"There are {', '.join(OPTIONS)}."
            )
        before = self.options
        self.options = {key: old for key, old in before.items() if key != option}
        if value:
            self.options[option] = value
        try:
            self.slices(call_options, 1)
            if option == "schema" and value:
                self.options[option] = self._schema(self.settings(call_options), value)
            settings = self.settings(call_options)
            if option == "graph":
                self._move_transactions(settings)
            for lease in self._leases_on(settings):
                with lease.lock:
                    lease.apply(settings)
        except BaseException:
            self.options = before
            raise

    def adopt(self, lease: ConnectionLease) -> None:
        """Take over what a statement such as USE has changed about its connection."""
        connection, before = lease.connection, lease.settings
        known = (before.catalog, before.schema or DEFAULT_SCHEMA, before.dialect)
        now = (connection.catalog, connection.schema, connection.dialect)
        changed = {
            option: value
            for option, value, old in zip(("catalog", "schema", "dialect"), now, known, strict=True)
            if value != old
        }
        self.options |= changed
        lease.settings = replace(before, **changed)

    def _schema(self, settings: Settings, name: str) -> str:
        """A schema that a client chooses, as it is called; one that is not there is refused."""
        lease = self._leases_on(settings)[-1]  # the newest transaction may have just created it
        with lease.lock:
            return find_schema(lease.connection, name)

    def _move_transactions(self, settings: Settings) -> None:
        """Begin transactions again on the graph that was chosen, if they have written nothing."""
        with self._lock:
            elsewhere = [
                each
                for each in self.transactions.values()
                if each.lease.settings.graph != settings.graph
            ]
        for transaction in elsewhere:
            left = transaction.lease
            with left.lock:
                if left.connection.has_written:
                    raise InvalidInput(
                        f"the open transaction has written to the graph {left.settings.graph}",
                        hint="Commit it or roll it back first.",
                    )
                transaction.lease = self._begin(settings)
                left.connection.close()

    # ------------------------------------------------------------------ connections

    def lease(self, settings: Settings) -> ConnectionLease:
        """The connection on which this session's statements outside transactions run."""
        with self._lock:
            lease = self._leases.get(settings.graph)
        if lease is None:
            lease = self._connect(settings)
            with self._lock:
                lease = self._leases.setdefault(settings.graph, lease)
        return lease

    def _leases_on(self, settings: Settings) -> list[ConnectionLease]:
        """The connections to a graph: the session's own, then those of its transactions."""
        own = self.lease(settings)
        with self._lock:
            leases = [each.lease for each in self.transactions.values()]
        return [own, *(lease for lease in leases if lease.settings.graph == settings.graph)]

    def _connect(self, settings: Settings) -> ConnectionLease:
        return ConnectionLease(self._access.connect(self.caller, settings), settings)

    def _begin(self, settings: Settings) -> ConnectionLease:
        lease = self._connect(settings)
        lease.connection.begin()
        return lease

    # ------------------------------------------------------------------ transactions

    def begin(self, settings: Settings) -> ServerTransaction:
        """Open a transaction on a connection of its own."""
        lease = self._begin(settings)
        transaction = ServerTransaction(secrets.token_hex(16), self.caller.name, lease)
        with self._lock:
            self.transactions[transaction.id] = transaction
        return transaction

    def newest_transaction(self) -> ServerTransaction | None:
        """The transaction of an upload that does not say to which it belongs."""
        with self._lock:
            return next(reversed(self.transactions.values()), None)

    def transaction_after(self, moment: float) -> ServerTransaction | None:
        """The one that followed a transaction that ended then; none if none is open."""
        with self._lock:
            transactions = list(self.transactions.values())
        if not transactions:
            return None
        if len(transactions) > 1 or transactions[0].began < moment:
            raise no_such_transaction()
        return transactions[0]

    def remove_transaction(self, transaction: ServerTransaction) -> None:
        with self._lock:
            self.transactions.pop(transaction.id, None)

    # ------------------------------------------------------------------ the end

    def delete_at_end(self, graph: str, result: StoredResult) -> None:
        """Delete a stored result when the session ends, if it has not expired by then."""
        now = time.time()
        with self._lock:
            live = [each for each in self._stored_results if each[1].until >= now]
            self._stored_results = [*live, (graph, result)]

    def close(self) -> None:
        """Roll back open transactions, close the connections, delete stored results."""
        with self._lock:
            transactions = list(self.transactions.values())
            leases = [*(each.lease for each in transactions), *self._leases.values()]
            self.transactions.clear()
            self._leases.clear()
            stored, self._stored_results = self._stored_results, []
        for transaction in transactions:
            transaction.ended = True
        for lease in leases:
            lease.connection.cancel()
            with lease.lock:
                lease.connection.close()
        for graph in {graph for graph, _ in stored}:
            names = [result.name for of, result in stored if of == graph]
            self._access.graphs.results(graph).delete(*names)
