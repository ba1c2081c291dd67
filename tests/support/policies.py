"""What a proxy does to requests, as small policies that can be combined.

A policy sees a request before it is forwarded and again when the store has answered, and may put a
fault in the way at either moment; it is told about every finished exchange. Several are asked in
the order given and the first fault wins. All of them run on the proxy's own thread.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

from support.http_wire import Request

Match = Callable[[Request], bool]
Moment = Literal["before", "after"]
Outcome = Literal["answered", "refused", "dropped", "broken"]

_KINDS = frozenset({"_versions", "_transactions", "data", "_deletions", "_indices", "_refs"})


@dataclass(frozen=True)
class Refuse:
    """Answer with this status instead of the store's answer."""

    status: int
    reason: str


@dataclass(frozen=True)
class Drop:
    """Close the connection without an answer."""


Fault = Refuse | Drop


@dataclass(frozen=True)
class Exchange:
    """One request and what came of it.

    `store_status` is what the store said, None when it was not asked or did not answer.
    `outcome` is what the client saw: the store's answer, a refusal made up by a policy, a dropped
    connection, or one that broke by itself. Bytes are those of the bodies.
    """

    method: str
    path: str
    query: str
    store_status: int | None
    outcome: Outcome
    bytes_up: int
    bytes_down: int
    seconds: float

    @property
    def operation(self) -> str:
        """The method, except that listings, which S3 sends as GET, are told apart."""
        listing = self.method == "GET" and "list-type=" in self.query
        return "LIST" if listing else self.method

    @property
    def kind(self) -> str:
        """The part of a Lance dataset it touched, such as `_versions`, or `other`."""
        prefix = parse_qs(self.query).get("prefix", [""])[0]
        folders = (prefix or self.path.strip("/").partition("/")[2]).split("/")[:-1]
        return next((each for each in reversed(folders) if each in _KINDS), "other")


def is_graph_commit(request: Request) -> bool:
    """The conditional PUT that publishes a version of the graph's manifest table."""
    return request.method == "PUT" and "/__manifest/_versions/" in request.path


def is_any_commit(request: Request) -> bool:
    """The conditional PUT that publishes a version of any Lance table."""
    return request.method == "PUT" and "/_versions/" in request.path


def is_any(_: Request) -> bool:
    return True


class Policy:
    """Does nothing; the base of those that do something."""

    async def before(self, request: Request) -> Fault | None:
        return None

    async def after(self, request: Request, status: int) -> Fault | None:
        return None

    def finished(self, exchange: Exchange) -> None:
        return None


class CountRequests(Policy):
    """Remembers every exchange. An exchange is recorded before the client can see its end, so a
    count taken after a call returned includes all that the call waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects the list, written by the proxy, read by the test
        self._requests: list[Exchange] = []

    def finished(self, exchange: Exchange) -> None:
        with self._lock:
            self._requests.append(exchange)

    @property
    def requests(self) -> list[Exchange]:
        with self._lock:
            return list(self._requests)

    def reset(self) -> None:
        with self._lock:
            self._requests.clear()

    def by_method(self) -> Counter[str]:
        return Counter(each.method for each in self.requests)

    def by_operation(self) -> Counter[str]:
        return Counter(each.operation for each in self.requests)

    def by_kind(self) -> Counter[tuple[str, str]]:
        """How often each operation touched each kind of key: `{("PUT", "_versions"): 1, …}`."""
        return Counter((each.operation, each.kind) for each in self.requests)

    def bytes_up(self) -> int:
        return sum(each.bytes_up for each in self.requests)

    def bytes_down(self) -> int:
        return sum(each.bytes_down for each in self.requests)


class _Chance(Policy):
    """A fault put on a share of the matching requests, the same ones for the same seed and order.

    `limit` ends it after so many faults: `p=1.0, limit=1` breaks exactly the first match. `hits`
    keeps the requests it fell on.
    """

    fault: Fault

    def __init__(
        self,
        p: float,
        match: Match = is_graph_commit,
        *,
        when: Moment,
        seed: int = 0,
        limit: int | None = None,
    ) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"p is a probability between 0 and 1, not {p}")
        self.hits: list[Request] = []
        self._p = p
        self._match = match
        self._when = when
        self._random = random.Random(seed)
        self._limit = limit

    async def before(self, request: Request) -> Fault | None:
        return self._draw(request) if self._when == "before" else None

    async def after(self, request: Request, status: int) -> Fault | None:
        return self._draw(request) if self._when == "after" else None

    def _draw(self, request: Request) -> Fault | None:
        if not self._match(request):
            return None
        chosen = self._random.random() < self._p
        if not chosen or (self._limit is not None and len(self.hits) >= self._limit):
            return None
        self.hits.append(request)
        return self.fault


class DropResponses(_Chance):
    """Closes the connection without an answer.

    `after` the store has done the work: the client cannot know whether its write happened.
    `before` it is forwarded: the store never heard of it.
    """

    fault = Drop()

    def __init__(
        self,
        p: float,
        match: Match = is_graph_commit,
        when: Moment = "after",
        seed: int = 0,
        limit: int | None = None,
    ) -> None:
        super().__init__(p, match, when=when, seed=seed, limit=limit)


class Fail503(_Chance):
    """Answers `503 Slow Down`: without asking the store, or `after` it has done the work."""

    fault = Refuse(503, "Slow Down")

    def __init__(
        self,
        p: float,
        match: Match = is_graph_commit,
        when: Moment = "before",
        seed: int = 0,
        limit: int | None = None,
    ) -> None:
        super().__init__(p, match, when=when, seed=seed, limit=limit)


class Latency(Policy):
    """Holds every matching request back for `low` to `high` seconds before it is forwarded."""

    def __init__(self, low: float, high: float, match: Match = is_any, seed: int = 0) -> None:
        self._low = low
        self._high = high
        self._match = match
        self._random = random.Random(seed)

    async def before(self, request: Request) -> Fault | None:
        if self._match(request):
            await asyncio.sleep(self._random.uniform(self._low, self._high))
        return None


class Hold(Policy):
    """Holds the first matching request back until it is released; the others pass."""

    def __init__(self, match: Match = is_graph_commit) -> None:
        self.held = threading.Event()
        self.exchange: Exchange | None = None
        self._match = match
        self._path: str | None = None
        self._released = threading.Event()

    def release(self) -> None:
        self._released.set()

    async def before(self, request: Request) -> Fault | None:
        if self._path is None and self._match(request):
            self._path = request.path
            self.held.set()
            while not self._released.is_set():
                await asyncio.sleep(0.01)
        return None

    def finished(self, exchange: Exchange) -> None:
        if exchange.path == self._path and self.exchange is None:
            self.exchange = exchange
