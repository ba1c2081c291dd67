"""Tickets: everything a server needs to answer a DoGet, sealed, so that any replica can.

A ticket says what to run, at which moment, which slice of the result, for whom and until when:
`length of the header (4 bytes) · header as JSON · parameters or rows as Arrow IPC`, behind a nonce
and encrypted with AES-GCM, which nobody without the key can read or change.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import struct
import time
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import pyarrow as pa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from omnigraph.errors import InvalidInput, NotFound
from omnigraph_flight.protocol.batch_stream import ipc_bytes
from omnigraph_flight.protocol.flight_status import Forbidden

_NONCE = 12
_LENGTH = struct.Struct(">I")

Language = Literal["sql", "gq", "count", "kept", "rows"]
"""What a ticket's text is: a statement, the count of an update, or the name of a stored result
("kept"); rows stand in place of its parameters."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One slice of the result of one statement at one moment, for one user."""

    graph: str
    user: str
    language: Language
    text: str
    catalog: str
    moment: str | None = None
    """Where the catalog is read; none inside a transaction, which reads its own branch."""
    schema: str | None = None
    dialect: str = "postgres"
    index: int = 0
    of: int = 1
    files: tuple[int, int] | None = None
    """Which files of a stored result, as a half-open range."""
    reads: tuple[tuple[str, str | None, str | None], ...] = ()
    """Branch, schema and name of what a stored result was read from: policies are asked again."""
    until: float | None = None
    """When a stored result expires, however often its tickets are renewed."""
    transaction: str | None = None
    """The open transaction whose own writes it must see; then only its server can answer."""
    call: str = field(default_factory=lambda: secrets.token_hex(8))
    """Names the statement among those that run, to cancel it; the same in all its slices."""
    expires: float = 0.0
    """Seconds since the epoch."""
    params: pa.RecordBatch | None = field(default=None, compare=False)

    def slice(self, index: int, of: int) -> Ticket:
        """The same for one of several slices."""
        return replace(self, index=index, of=of)


_HEADER_FIELDS = tuple(each.name for each in fields(Ticket) if each.name != "params")


class TicketKey:
    """Seals tickets and opens those it sealed. Replicas that share a secret share tickets."""

    def __init__(self, secret: bytes | None = None, seconds: float = 3600.0) -> None:
        self._cipher = AESGCM(hashlib.sha256(secret or secrets.token_bytes(32)).digest())
        self.seconds = seconds
        """How long a ticket is valid."""

    def seal(self, ticket: Ticket, now: float | None = None) -> bytes:
        """The ticket as bytes, valid for as long as this key's tickets are."""
        header = {name: getattr(ticket, name) for name in _HEADER_FIELDS}
        expires = (now or time.time()) + self.seconds
        header["expires"] = expires if ticket.until is None else min(expires, ticket.until)
        text = json.dumps(header, separators=(",", ":")).encode()
        params = ticket.params
        rows = b"" if params is None else ipc_bytes(params.schema, [params])
        body = _LENGTH.pack(len(text)) + text + rows
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, body, None)

    def open(self, sealed: bytes, user: str, now: float | None = None) -> Ticket:
        """The ticket of these bytes, for this user, if it is ours and still valid."""
        ticket = self._read(sealed)
        if not hmac.compare_digest(ticket.user.encode(), user.encode()):
            raise Forbidden(
                "this ticket was issued to another user",
                hint="Run the statement again as yourself.",
            )
        if ticket.expires < (now or time.time()):
            raise NotFound("this ticket has expired", hint="Run the statement again.")
        return ticket

    def _read(self, sealed: bytes) -> Ticket:
        try:
            body = self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except (InvalidTag, ValueError) as error:
            raise InvalidInput(
                "this ticket was not issued by this server",
                hint="Use tickets unchanged, on the server that issued them or its replicas.",
            ) from error
        (length,) = _LENGTH.unpack_from(body)
        header: dict[str, Any] = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        header["files"] = header["files"] and tuple(header["files"])
        header["reads"] = tuple(tuple(each) for each in header["reads"])
        rows = body[_LENGTH.size + length :]
        params = pa.ipc.open_stream(rows).read_next_batch() if rows else None
        return Ticket(**header, params=params)
