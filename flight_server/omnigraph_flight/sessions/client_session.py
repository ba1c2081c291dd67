"""What one client has chosen, its connections and its open transactions."""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.guarded_connect import GuardedConnections
from omnigraph_flight.access.result_store import StoredResult
from omnigraph_flight.access.session_settings import DEFAULT_BRANCH, DEFAULT_SCHEMA, Settings
from omnigraph_flight.sessions.connection_lease import ConnectionLease
from omnigraph_flight.sessions.server_transaction import ServerTransaction, no_such_transaction
from omnigraph_sql import find_schema

_COOKIES_KEPT = 8


OPTIONS = ("graph", "catalog", "schema", "dialect", "slices")


_ALIASES = {"branch": "catalog", "database": "graph", "db_schema": "schema"}


class ClientSession:
    """One client's. The lock protects its maps; each connection has its own."""

    def __init__(self, key: str, caller: Caller, access: GuardedConnections) -> None:
        self.key = key
        self.caller = caller
        self.options: dict[str, str] = {}
        self.transactions: dict[str, ServerTransaction] = {}
        self._kept: list[tuple[str, StoredResult]] = []
        """Results that nobody else knows of, and their graphs."""
        self.cookies: deque[str] = deque(maxlen=_COOKIES_KEPT)
        self._used = time.monotonic()
        self._calls = 0
        self._access = access
        self._lock = threading.Lock()
        self._homes: dict[str, ConnectionLease] = {}

    def enter(self) -> None:
        """A call of the session begins; until it leaves, the session is not idle."""
        with self._lock:
            self._calls += 1

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            self._used = time.monotonic()

    def idle_since(self, moment: float) -> bool:
        """Whether nothing has run in it since then."""
        with self._lock:
            return not self._calls and self._used < moment

    def touch(self) -> None:
        """Somebody has come by."""
        self._used = time.monotonic()

    def settings(self, headers: Mapping[str, str]) -> Settings:
        """What was chosen in this session, else what the call's headers ask for."""
        chosen = {**headers, **self.options}
        return Settings(
            graph=chosen.get("graph") or self._access.graphs.default,
            catalog=chosen.get("catalog") or DEFAULT_BRANCH,
            schema=chosen.get("schema"),
            dialect=chosen.get("dialect") or "postgres",
        )

    def slices(self, headers: Mapping[str, str], most: int) -> int | None:
        """Into how many slices the client asks for results; none if it does not say."""
        wanted = self.options.get("slices") or headers.get("slices")
        if wanted is None:
            return None
        if not wanted.isdecimal() or not int(wanted):
            raise InvalidInput(
                f"{wanted!r} is no number of slices", hint=f"Ask for 1 to {most} slices."
            )
        return min(int(wanted), most)

    def choose(self, name: str, value: str | None, headers: Mapping[str, str]) -> None:
        """Set an option, or go back to its default."""
        option = _ALIASES.get(name, name)
        if option not in OPTIONS:
            raise NotFound(
                f"there is no session option {name!r}", hint=f"There are {', '.join(OPTIONS)}."
            )
        wanted = {**self.options}
        wanted.pop(option, None)
        if value:
            wanted[option] = value
        before, self.options = self.options, wanted
        try:
            self.slices(headers, 1)
            if option == "schema" and value:
                wanted[option] = self._schema(self.settings(headers), value)
            settings = self.settings(headers)
            if option == "graph":
                self._bring_transactions(settings)
            for place in self._places(settings):
                with place.lock:
                    place.follow(settings)
        except BaseException:
            self.options = before
            raise

    def _schema(self, settings: Settings, name: str) -> str:
        """A schema that a client chooses, as it is called; one that is not there is refused."""
        place = self._places(settings)[-1]  # the newest transaction may have just made it
        with place.lock:
            return find_schema(place.connection, name)

    def _bring_transactions(self, settings: Settings) -> None:
        """Begin transactions again on the graph that was chosen; they have written to no other."""
        with self._lock:
            elsewhere = [
                each
                for each in self.transactions.values()
                if each.place.settings.graph != settings.graph
            ]
        for transaction in elsewhere:
            left = transaction.place
            with left.lock:
                if left.connection.has_written:
                    raise InvalidInput(
                        f"the open transaction writes to the graph {left.settings.graph}",
                        hint="Commit it or roll it back first.",
                    )
                transaction.place = self._beginning(settings)
                left.connection.close()

    def _beginning(self, settings: Settings) -> ConnectionLease:
        place = ConnectionLease(self._access.connect(self.caller, settings), settings)
        place.connection.begin()
        return place

    def _places(self, settings: Settings) -> list[ConnectionLease]:
        """Where this session's statements on a graph run: at home, and in its transactions."""
        home = self.home(settings)
        with self._lock:
            open_ = [each.place for each in self.transactions.values()]
        return [home, *(place for place in open_ if place.settings.graph == settings.graph)]

    def home(self, settings: Settings) -> ConnectionLease:
        """The connection on which this session's own statements run."""
        with self._lock:
            place = self._homes.get(settings.graph)
        if place is None:
            place = ConnectionLease(self._access.connect(self.caller, settings), settings)
            with self._lock:
                place = self._homes.setdefault(settings.graph, place)
        return place

    def adopt(self, place: ConnectionLease) -> None:
        """Take over what a statement such as USE has changed about its connection."""
        connection, settings = place.connection, place.settings
        if connection.catalog != settings.catalog:
            self.options["catalog"] = connection.catalog
        if connection.schema != (settings.schema or DEFAULT_SCHEMA):
            self.options["schema"] = connection.schema
        if connection.dialect != settings.dialect:
            self.options["dialect"] = connection.dialect
        schema = settings.schema
        if connection.schema != (schema or DEFAULT_SCHEMA):
            schema = connection.schema
        place.settings = Settings(settings.graph, connection.catalog, schema, connection.dialect)

    def begin(self, settings: Settings) -> ServerTransaction:
        """Open a transaction on a connection of its own."""
        place = self._beginning(settings)
        transaction = ServerTransaction(secrets.token_hex(16), self.caller.name, place)
        with self._lock:
            self.transactions[transaction.id] = transaction
        return transaction

    def newest_transaction(self) -> ServerTransaction | None:
        """The transaction of what does not say to which it belongs."""
        with self._lock:
            return next(reversed(self.transactions.values()), None)

    def transaction_after(self, moment: float) -> ServerTransaction | None:
        """The one that followed a transaction that ended then; none if none is open."""
        with self._lock:
            open_ = list(self.transactions.values())
        if not open_:
            return None
        if len(open_) > 1 or open_[0].began < moment:
            raise no_such_transaction()
        return open_[0]

    def keep(self, graph: str, result: StoredResult) -> None:
        """Delete a result when the session ends, if it is not over by then."""
        now = time.time()
        with self._lock:
            self._kept = [each for each in self._kept if each[1].until >= now]
            self._kept.append((graph, result))

    def ended(self, transaction: ServerTransaction) -> None:
        with self._lock:
            self.transactions.pop(transaction.id, None)

    @property
    def busy(self) -> bool:
        with self._lock:
            return bool(self.transactions) or any(
                place.connection.in_transaction for place in self._homes.values()
            )

    def close(self) -> None:
        """Roll back what is open and let go of the connections."""
        with self._lock:
            transactions = list(self.transactions.values())
            places = [t.place for t in transactions] + list(self._homes.values())
            self.transactions.clear()
            self._homes.clear()
            kept, self._kept = self._kept, []
        for transaction in transactions:
            transaction.over = True
        for place in places:
            place.connection.cancel()
            with place.lock:
                place.connection.close()
        for graph in {graph for graph, _ in kept}:
            names = [result.name for of, result in kept if of == graph]
            self._access.graphs.results(graph).drop(*names)


def chosen_by_headers(headers: Mapping[str, list[str]]) -> dict[str, str]:
    """Options that a client asks for with each call: `x-omnigraph-branch` and its like."""
    chosen: dict[str, str] = {}
    for name, values in headers.items():
        if values and name.lower().startswith("x-omnigraph-"):
            option = name.lower().removeprefix("x-omnigraph-")
            option = _ALIASES.get(option, option)
            if option not in OPTIONS:
                raise InvalidInput(
                    f"there is no option {name!r}",
                    hint="There are x-omnigraph-graph, -branch, -schema, -dialect and -slices.",
                )
            chosen[option] = str(values[0])
    return chosen
