"""Sessions: what a client has chosen, its connections, and its open transactions.

Flight has no connections of its own. A session is found by its cookie, else by the login it came
with, else by the network peer; since nobody says when a client is gone, it ends by idleness.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import omnigraph_sql
from omnigraph.errors import InvalidInput, NotFound, OmniGraphError
from omnigraph.storage.refs.snapshot import Snapshot
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.guarded_connect import Access
from omnigraph_flight.access.result_store import KeptResult
from omnigraph_flight.access.session_settings import DEFAULT_BRANCH, DEFAULT_SCHEMA, Settings
from omnigraph_sql.catalog.find_relation import Name
from omnigraph_sql.session.set_options import found_schema

COOKIE = "arrow_flight_session_id"
_COOKIES_KEPT = 8


OPTIONS = ("graph", "catalog", "schema", "dialect", "slices")
_ALIASES = {"branch": "catalog", "database": "graph", "db_schema": "schema"}


class Place:
    """A connection of the SQL facade and the lock that lets one thread at a time use it."""

    def __init__(
        self, connection: omnigraph_sql.Connection, settings: Settings, *, shared: bool = False
    ) -> None:
        self.connection = connection
        self.settings = settings
        self.shared = shared
        """Whether it belongs to no session and serves one read after the other."""
        self.lock = threading.RLock()

    @contextmanager
    def pinned(self, snapshot: Snapshot | None = None) -> Iterator[Snapshot | None]:
        """A block in which the catalog is read at one moment, the newest unless told.

        None inside a transaction, which reads its own branch.
        """
        connection = self.connection
        if connection.in_transaction:
            yield None
            return
        found = snapshot or connection.graph.snapshot(connection.catalog)
        with connection.pinned(connection.catalog, found):
            yield found

    def move(self, settings: Settings) -> None:
        """Go where the settings of a call say, unless a transaction stays where it is."""
        if settings != self.settings and not self.connection.in_transaction:
            self.follow(settings)

    def follow(self, settings: Settings) -> None:
        """Go where the settings say, also inside a transaction."""
        connection = self.connection
        dialect = connection.dialect
        connection.dialect = settings.dialect
        try:
            if connection.catalog != settings.catalog:
                connection.check_out(settings.catalog)
        except BaseException:
            connection.dialect = dialect
            raise
        connection.schema = settings.schema or DEFAULT_SCHEMA
        self.settings = settings

    def go_back(self) -> None:
        """Go where it was before a text that failed, unless its transaction writes elsewhere."""
        if not self.connection.has_written:
            with suppress(OmniGraphError):  # its branch may be gone; then it stays where it is
                self.follow(self.settings)


@dataclass
class Transaction:
    """An open transaction: a connection of its own, on a branch of its own."""

    id: str
    user: str
    place: Place
    savepoints: dict[str, str] = field(default_factory=dict)
    """Names by the ids that were given out."""
    began: float = field(default_factory=time.monotonic)
    over: bool = False
    """Whether it was ended; whoever waited for its connection comes too late."""

    @contextmanager
    def held(self) -> Iterator[Place]:
        """A block in which nobody else uses its connection; refused if it is over."""
        while True:
            place = self.place
            with place.lock:
                if self.over:
                    raise no_such_transaction()
                if place is self.place:  # which may have gone to another graph meanwhile
                    yield place
                    return

    def go_on(self) -> None:
        """Begin again, if a statement such as COMMIT has ended it: its client still names it."""
        if not self.place.connection.in_transaction:
            self.savepoints.clear()
            self.place.connection.begin()


def no_such_transaction() -> NotFound:
    return NotFound(
        "there is no such open transaction",
        hint="It has ended, or its session was idle for too long: begin a new one.",
    )


class Session:
    """One client's. The lock protects its maps; each connection has its own."""

    def __init__(self, key: str, caller: Caller, access: Access) -> None:
        self.key = key
        self.caller = caller
        self.options: dict[str, str] = {}
        self.transactions: dict[str, Transaction] = {}
        self._kept: list[tuple[str, KeptResult]] = []
        """Results that nobody else knows of, and their graphs."""
        self.cookies: deque[str] = deque(maxlen=_COOKIES_KEPT)
        self._used = time.monotonic()
        self._calls = 0
        self._access = access
        self._lock = threading.Lock()
        self._homes: dict[str, Place] = {}

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
            return found_schema(place.connection, Name(name))

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

    def _beginning(self, settings: Settings) -> Place:
        place = Place(self._access.connect(self.caller, settings), settings)
        place.connection.begin()
        return place

    def _places(self, settings: Settings) -> list[Place]:
        """Where this session's statements on a graph run: at home, and in its transactions."""
        home = self.home(settings)
        with self._lock:
            open_ = [each.place for each in self.transactions.values()]
        return [home, *(place for place in open_ if place.settings.graph == settings.graph)]

    def home(self, settings: Settings) -> Place:
        """The connection on which this session's own statements run."""
        with self._lock:
            place = self._homes.get(settings.graph)
        if place is None:
            place = Place(self._access.connect(self.caller, settings), settings)
            with self._lock:
                place = self._homes.setdefault(settings.graph, place)
        return place

    def adopt(self, place: Place) -> None:
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

    def begin(self, settings: Settings) -> Transaction:
        """Open a transaction on a connection of its own."""
        place = self._beginning(settings)
        transaction = Transaction(secrets.token_hex(16), self.caller.name, place)
        with self._lock:
            self.transactions[transaction.id] = transaction
        return transaction

    def newest_transaction(self) -> Transaction | None:
        """The transaction of what does not say to which it belongs."""
        with self._lock:
            return next(reversed(self.transactions.values()), None)

    def transaction_after(self, moment: float) -> Transaction | None:
        """The one that followed a transaction that ended then; none if none is open."""
        with self._lock:
            open_ = list(self.transactions.values())
        if not open_:
            return None
        if len(open_) > 1 or open_[0].began < moment:
            raise no_such_transaction()
        return open_[0]

    def keep(self, graph: str, result: KeptResult) -> None:
        """Delete a result when the session ends, if it is not over by then."""
        now = time.time()
        with self._lock:
            self._kept = [each for each in self._kept if each[1].until >= now]
            self._kept.append((graph, result))

    def ended(self, transaction: Transaction) -> None:
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


class Sessions:
    """All sessions of a server. The lock protects the maps."""

    def __init__(
        self,
        access: Access,
        idle_seconds: float = 1800.0,
        on_end: Callable[[str], None] = lambda key: None,
    ) -> None:
        self._access = access
        self._idle = idle_seconds
        self._on_end = on_end
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._by_cookie: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def of(self, caller: Caller, peer: str, cookie: str | None, fresh: str | None) -> Session:
        """The session of a call, which has entered it and must leave it again.

        `fresh` is the cookie that the answer gives the client.
        """
        with self._lock:
            session = self._by_cookie.get(cookie) if cookie else None
            if session is None or session.caller.name != caller.name:
                key = f"{caller.name} {caller.login or peer}"
                session = self._sessions.get(key)
                if session is None:
                    session = self._sessions[key] = Session(key, caller, self._access)
            if fresh:
                self._remember(session, fresh)
            session.enter()
        return session

    def transaction(self, id_: bytes, caller: Caller) -> Transaction:
        """An open transaction of the caller, whichever session it was begun in."""
        wanted = id_.decode(errors="replace")
        with self._lock:
            for session in self._sessions.values():
                found = session.transactions.get(wanted)
                if found is not None and found.user == caller.name:
                    session.touch()
                    return found
        raise no_such_transaction()

    def ended(self, transaction: Transaction) -> None:
        """Forget a transaction that was committed or rolled back."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.ended(transaction)

    def savepoint(self, id_: bytes, caller: Caller) -> tuple[Transaction, str]:
        """The transaction of a savepoint, and the savepoint's id."""
        wanted = id_.decode(errors="replace")
        transaction = self.transaction(wanted.partition("/")[0].encode(), caller)
        if wanted not in transaction.savepoints:
            raise NotFound("there is no such savepoint", hint="It has been released.")
        return transaction, wanted

    def close(self, session: Session) -> None:
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

    def _remember(self, session: Session, cookie: str) -> None:
        if len(session.cookies) == session.cookies.maxlen:
            self._by_cookie.pop(session.cookies[0], None)
        session.cookies.append(cookie)
        self._by_cookie[cookie] = session

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.key, None)
        for cookie in session.cookies:
            self._by_cookie.pop(cookie, None)


def _close(sessions: Iterable[Session], on_error: Callable[[Exception], None]) -> None:
    for session in sessions:
        try:
            session.close()
        except Exception as error:  # noqa: BLE001 - the others must end, too
            on_error(error)


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
