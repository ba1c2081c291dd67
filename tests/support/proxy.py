"""A proxy in front of an object store that counts, delays and breaks requests.

    with moto() as store, proxied(store, CountRequests()) as proxy:
        lance.write_dataset(table, uri, storage_options=proxy.store.storage_options())

It runs on a thread of its own. Heads and bodies pass through unchanged, the `Host` header included:
the client signs for the proxy's address and the store verifies against the same header.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from support.http_wire import (
    PIECE_BYTES,
    READ_LIMIT,
    Request,
    Response,
    body_pieces,
    read_head,
    read_response,
)
from support.object_stores import ObjectStore
from support.policies import Exchange, Fault, Outcome, Policy, Refuse
from support.processes import LOOPBACK

_IDLE_SECONDS = 2.0  # stores close quiet connections too: Node's default is 5 s, SeaweedFS's 120 s
_BROKEN = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


@dataclass
class _Upstream:
    """A connection to the store, and since when it has had nothing to do."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float | None = None

    @property
    def reused(self) -> bool:
        return self.idle_since is not None

    def usable(self) -> bool:
        stale = time.monotonic() - (self.idle_since or 0.0) > _IDLE_SECONDS
        return not (stale or self.reader.at_eof() or self.writer.is_closing())


class _Pool:
    """Idle connections to the store, the latest used first. Only the proxy's loop touches it."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._idle: list[_Upstream] = []

    async def take(self, *, fresh: bool = False) -> _Upstream:
        while self._idle and not fresh:
            upstream = self._idle.pop()
            if upstream.usable():
                return upstream
            upstream.writer.close()
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=READ_LIMIT)
        return _Upstream(reader, writer)

    def give_back(self, upstream: _Upstream) -> None:
        upstream.idle_since = time.monotonic()
        self._idle.append(upstream)

    def close(self) -> None:
        for upstream in self._idle:
            upstream.writer.close()
        self._idle.clear()


@dataclass
class _Passage:
    """One request on its way through: what has been seen of it so far."""

    request: Request
    policies: tuple[Policy, ...]
    started: float = field(default_factory=time.monotonic)
    store_status: int | None = None
    bytes_up: int = 0
    bytes_down: int = 0
    recorded: bool = False

    async def fault_before(self) -> Fault | None:
        for policy in self.policies:
            if (fault := await policy.before(self.request)) is not None:
                return fault
        return None

    async def fault_after(self, status: int) -> Fault | None:
        for policy in self.policies:
            if (fault := await policy.after(self.request, status)) is not None:
                return fault
        return None

    def record(self, outcome: Outcome) -> None:
        """Tell the policies, once; whatever happens later does not change what was recorded."""
        if self.recorded:
            return
        self.recorded = True
        exchange = Exchange(
            self.request.method,
            self.request.path,
            self.request.query,
            self.store_status,
            outcome,
            self.bytes_up,
            self.bytes_down,
            time.monotonic() - self.started,
        )
        for policy in self.policies:
            policy.finished(exchange)


class _Client:
    """One connection of a client, served request after request until either side ends it."""

    def __init__(
        self, proxy: Proxy, pool: _Pool, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._pool = pool
        self._reader = reader
        self._writer = writer

    async def serve(self) -> None:
        try:
            while (head := await read_head(self._reader)) is not None:
                passage = _Passage(Request.parse(head), self._proxy.policies)
                try:
                    stays = await self._pass(passage)
                finally:
                    passage.record("broken")
                if not stays or passage.request.wants_close:
                    return
        except _BROKEN:
            pass
        finally:
            self._writer.close()

    async def _pass(self, passage: _Passage) -> bool:
        """Take one request through; False when the client's connection must end with it."""
        fault = await passage.fault_before()
        if fault is not None:
            return await self._put_in_the_way(passage, fault, read_body=True)
        if passage.request.expects_continue:
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        upstream, upload, response = await self._ask_store(passage)
        finished = False
        try:
            passage.store_status = response.status
            fault = await passage.fault_after(response.status)
            if fault is None:
                await self._relay(passage, upstream, response)
            else:
                async with aclosing(body_pieces(upstream.reader, response.extent)) as pieces:
                    async for piece in pieces:
                        passage.bytes_down += len(piece)
            # A store may answer before it has read the body; then neither side can go on.
            finished = upload is None or upload.done()
        finally:
            if upload is not None:
                upload.cancel()
            if finished and not response.closes:
                self._pool.give_back(upstream)
            else:
                upstream.writer.close()
        if fault is not None:
            return await self._put_in_the_way(passage, fault, read_body=False) and finished
        return finished and not response.closes

    async def _ask_store(
        self, passage: _Passage
    ) -> tuple[_Upstream, asyncio.Task[None] | None, Response]:
        """Forward the request and wait for the head of the answer.

        A kept connection can turn out closed. Reads are then sent again on a new one; a write is
        not, since sending it twice is a fault nobody asked for, and breaks for the client instead.
        """
        request = passage.request
        repeatable = request.method in ("GET", "HEAD") and request.extent == 0
        fresh = False
        while True:
            upstream = await self._pool.take(fresh=fresh)
            upload: asyncio.Task[None] | None = None
            try:
                upload = await self._send(passage, upstream)
                response = await read_response(upstream.reader, request.method)
                if response is not None:
                    return upstream, upload, response
                problem: Exception = ConnectionResetError("the store closed without an answer")
            except _BROKEN as broken:
                problem = broken
            except BaseException:
                upstream.writer.close()
                if upload is not None:
                    upload.cancel()
                raise
            upstream.writer.close()
            if upload is not None:
                upload.cancel()
            if fresh or not (repeatable and upstream.reused):
                raise problem
            fresh = True

    async def _send(self, passage: _Passage, upstream: _Upstream) -> asyncio.Task[None] | None:
        """Send the request; a body that is large or of unknown length goes up in its own task."""
        request = passage.request
        upstream.writer.write(request.head_without_expect())
        if request.extent == 0:
            return None
        if isinstance(request.extent, int) and request.extent <= PIECE_BYTES:
            upstream.writer.write(await self._reader.readexactly(request.extent))
            passage.bytes_up = request.extent
            return None
        return asyncio.create_task(self._upload(passage, upstream))

    async def _upload(self, passage: _Passage, upstream: _Upstream) -> None:
        try:
            async with aclosing(body_pieces(self._reader, passage.request.extent)) as pieces:
                async for piece in pieces:
                    upstream.writer.write(piece)
                    passage.bytes_up += len(piece)
                    await upstream.writer.drain()
        except _BROKEN:
            # Whichever side broke, the answer cannot be trusted to come; end the wait for it.
            upstream.writer.close()

    async def _relay(self, passage: _Passage, upstream: _Upstream, response: Response) -> None:
        """Pass the answer on, and record the exchange before the client can see its last bytes."""
        held = response.head
        async with aclosing(body_pieces(upstream.reader, response.extent)) as pieces:
            async for piece in pieces:
                passage.bytes_down += len(piece)
                if len(held) + len(piece) > PIECE_BYTES:
                    self._writer.write(held)
                    await self._writer.drain()
                    held = piece
                else:
                    held += piece
        passage.record("answered")
        self._writer.write(held)
        await self._writer.drain()

    async def _put_in_the_way(self, passage: _Passage, fault: Fault, *, read_body: bool) -> bool:
        if not isinstance(fault, Refuse):
            passage.record("dropped")
            return False
        unread = read_body and passage.request.expects_continue
        if read_body and not unread:
            async with aclosing(body_pieces(self._reader, passage.request.extent)) as pieces:
                async for piece in pieces:
                    passage.bytes_up += len(piece)
        body = f"<Error><Code>{fault.reason.replace(' ', '')}</Code></Error>".encode()
        head = (
            f"HTTP/1.1 {fault.status} {fault.reason}\r\n"
            f"Content-Type: application/xml\r\nContent-Length: {len(body)}\r\n"
            f"{'Connection: close' if unread else 'Connection: keep-alive'}\r\n\r\n"
        )
        passage.record("refused")
        self._writer.write(head.encode() + (b"" if passage.request.method == "HEAD" else body))
        await self._writer.drain()
        return not unread


class Proxy:
    """A running proxy. `store` is the store behind it, reached through it; `policies` are what it
    does to requests that begin from now on, and may be replaced at any time."""

    def __init__(self, upstream: ObjectStore, policies: tuple[Policy, ...]) -> None:
        self.store = upstream
        self.policies = policies
        self._upstream = upstream
        self._stopping = asyncio.Event()
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="store-proxy", daemon=True)

    def use(self, *policies: Policy) -> None:
        self.policies = policies

    def start(self) -> None:
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise RuntimeError("the proxy did not start") from self._failure

    def stop(self) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as failure:
            self._failure = failure
        finally:
            self._started.set()

    async def _serve(self) -> None:
        address = urlsplit(self._upstream.endpoint)
        pool = _Pool(address.hostname or LOOPBACK, address.port or 80)
        clients: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(_Client(self, pool, reader, writer).serve())
            clients.add(task)
            task.add_done_callback(clients.discard)

        server = await asyncio.start_server(accept, LOOPBACK, 0, limit=READ_LIMIT, backlog=512)
        port = server.sockets[0].getsockname()[1]
        self.store = replace(self._upstream, endpoint=f"http://{LOOPBACK}:{port}")
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._stopping.wait()
        server.close()
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        pool.close()
        await asyncio.sleep(0)  # lets the closed transports report that they are gone


@contextmanager
def proxied(store: ObjectStore, *policies: Policy) -> Iterator[Proxy]:
    """Put a proxy in front of `store` for the length of the block."""
    proxy = Proxy(store, policies)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()
