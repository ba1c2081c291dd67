"""Tickets: everything a server needs to answer a DoGet, sealed, so that any replica can.

A ticket says what to run, at which moment, which slice of the result, for whom and until when:
`length of the facts (4 bytes) · facts as JSON · parameters or rows as Arrow IPC`, behind a nonce
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
from omnigraph_flight.protocol.flight_status import Forbidden

_NONCE = 12
_LENGTH = struct.Struct(">I")

Language = Literal["sql", "gq", "count", "kept", "rows"]
"""What a ticket's text is: a statement, the count of an update, or the name of a kept result; rows
stand in place of its parameters."""


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
    """Which files of a kept result, first and behind the last."""
    reads: tuple[tuple[str, str | None, str | None], ...] = ()
    """Branch, schema and name of what a kept result was read from: policies are asked again."""
    until: float | None = None
    """When a kept result ends, however often its tickets are renewed."""
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


_FACTS = tuple(each.name for each in fields(Ticket) if each.name != "params")


class TicketKey:
    """Seals tickets and opens those it sealed. Replicas that share a secret share tickets."""

    def __init__(self, secret: bytes | None = None, seconds: float = 3600.0) -> None:
        self._cipher = AESGCM(hashlib.sha256(secret or secrets.token_bytes(32)).digest())
        self.seconds = seconds
        """How long a ticket is good for."""

    def seal(self, ticket: Ticket, now: float | None = None) -> bytes:
        """The ticket as bytes, good for as long as this key's tickets are."""
        facts = {name: getattr(ticket, name) for name in _FACTS}
        expires = (now or time.time()) + self.seconds
        facts["expires"] = expires if ticket.until is None else min(expires, ticket.until)
        text = json.dumps(facts, separators=(",", ":")).encode()
        body = _LENGTH.pack(len(text)) + text + _ipc(ticket.params)
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._cipher.encrypt(nonce, body, None)

    def open(self, sealed: bytes, user: str, now: float | None = None) -> Ticket:
        """The ticket of these bytes, for this user, if it is ours and still good."""
        ticket = self._read(sealed)
        if not hmac.compare_digest(ticket.user.encode(), user.encode()):
            raise Forbidden(
                "this ticket was given to another user",
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
                "this ticket is not one of this server's",
                hint="Use tickets as they come, on the server that gave them or its replicas.",
            ) from error
        (length,) = _LENGTH.unpack_from(body)
        facts: dict[str, Any] = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        facts["files"] = facts["files"] and tuple(facts["files"])
        facts["reads"] = tuple(tuple(each) for each in facts["reads"])
        return Ticket(**facts, params=_batch(body[_LENGTH.size + length :]))


def _ipc(params: pa.RecordBatch | None) -> bytes:
    if params is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, params.schema) as writer:
        writer.write_batch(params)
    return bytes(sink.getvalue().to_pybytes())


def _batch(data: bytes) -> pa.RecordBatch | None:
    if not data:
        return None
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
