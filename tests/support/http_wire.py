"""HTTP/1.1 as a proxy needs it: heads parsed, bodies passed on in pieces without being understood.

Bytes are relayed as they came, so whatever the client signed stays signed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from urllib.parse import unquote

PIECE_BYTES = 64 * 1024
# Room for a few pieces, and far more than any head takes.
READ_LIMIT = 4 * PIECE_BYTES


class Framing(Enum):
    """How the end of a body is told when no length is given."""

    CHUNKED = "chunked"
    UNTIL_CLOSE = "until close"


Extent = int | Framing


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _extent(headers: dict[str, str], otherwise: Extent) -> Extent:
    if headers.get("transfer-encoding", "").lower().endswith("chunked"):
        return Framing.CHUNKED
    if "content-length" in headers:
        return int(headers["content-length"])
    return otherwise


@dataclass(frozen=True)
class Request:
    """The head of one request. `path` is decoded and without its query."""

    method: str
    target: str
    headers: dict[str, str]
    head: bytes

    @classmethod
    def parse(cls, head: bytes) -> Request:
        line = head[: head.index(b"\r\n")].decode("latin-1")
        method, target, _ = line.split(" ", 2)
        return cls(method, target, _headers(head), head)

    @cached_property
    def path(self) -> str:
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def extent(self) -> Extent:
        return _extent(self.headers, otherwise=0)

    @property
    def expects_continue(self) -> bool:
        return self.headers.get("expect", "").lower() == "100-continue"

    @property
    def wants_close(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"

    def head_without_expect(self) -> bytes:
        """The head for a peer that is not asked to say `100 Continue`; `Expect` is never signed."""
        if not self.expects_continue:
            return self.head
        lines = self.head.split(b"\r\n")
        return b"\r\n".join(line for line in lines if not line.lower().startswith(b"expect:"))


@dataclass(frozen=True)
class Response:
    """The head of one response, with what its body's extent depends on."""

    status: int
    headers: dict[str, str]
    head: bytes
    extent: Extent
    closes: bool

    @classmethod
    def parse(cls, head: bytes, method: str) -> Response:
        line = head[: head.index(b"\r\n")].decode("latin-1")
        version, status_text, *_ = line.split(" ", 2)
        status = int(status_text)
        headers = _headers(head)
        bodiless = method == "HEAD" or status < 200 or status in (204, 304)
        extent = 0 if bodiless else _extent(headers, otherwise=Framing.UNTIL_CLOSE)
        connection = headers.get("connection", "").lower()
        stays = connection != "close" if version == "HTTP/1.1" else connection == "keep-alive"
        return cls(status, headers, head, extent, not stays or extent is Framing.UNTIL_CLOSE)


async def read_head(reader: asyncio.StreamReader) -> bytes | None:
    """The next head, or None when the peer closed in good order before one began."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as broken:
        if broken.partial:
            raise ConnectionResetError("closed in the middle of a head") from broken
        return None


async def read_response(reader: asyncio.StreamReader, method: str) -> Response | None:
    """The next final response; interim ones (1xx) are passed over."""
    while (head := await read_head(reader)) is not None:
        response = Response.parse(head, method)
        if response.status >= 200:
            return response
    return None


async def body_pieces(reader: asyncio.StreamReader, extent: Extent) -> AsyncGenerator[bytes, None]:
    """The body as it stands on the wire. Of a chunked one, the last piece ends the message."""
    if extent is Framing.CHUNKED:
        async for piece in _chunked_pieces(reader):
            yield piece
    elif extent is Framing.UNTIL_CLOSE:
        while piece := await reader.read(PIECE_BYTES):
            yield piece
    else:
        async for piece in _counted_pieces(reader, extent):
            yield piece


async def _counted_pieces(reader: asyncio.StreamReader, count: int) -> AsyncGenerator[bytes, None]:
    while count > 0:
        piece = await reader.read(min(count, PIECE_BYTES))
        if not piece:
            raise ConnectionResetError("closed in the middle of a body")
        count -= len(piece)
        yield piece


async def _chunked_pieces(reader: asyncio.StreamReader) -> AsyncGenerator[bytes, None]:
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if size == 0:
            ending = line
            while (trailer := await reader.readuntil(b"\r\n")) != b"\r\n":
                ending += trailer
            yield ending + b"\r\n"
            return
        yield line
        async for piece in _counted_pieces(reader, size + 2):
            yield piece
