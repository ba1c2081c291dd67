"""Bytes from a client into a known message, or a typed error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf import any_pb2
from google.protobuf.message import DecodeError

from omnigraph.errors import InvalidInput
from omnigraph_flight.protocol.flight_sql_messages import SQL, SQL_NAMES, message


@dataclass(frozen=True, slots=True)
class FlightSqlCommand:
    """A Flight SQL message and its short name, such as `CommandGetTables`."""

    name: str
    body: Any


def decode_command(data: bytes) -> FlightSqlCommand:
    """A Flight SQL message out of the `Any` it travels in."""
    envelope = any_pb2.Any()
    try:
        envelope.ParseFromString(data)
    except DecodeError as error:
        raise _malformed("the request") from error
    package, _, name = envelope.type_url.rpartition("/")[2].rpartition(".")
    if package != SQL or name not in SQL_NAMES:
        shown = envelope.type_url[:100] or "bytes of an unknown kind"
        raise InvalidInput(
            f"not a Flight SQL command: {shown!r}",
            hint="Send a Flight SQL command, packed into google.protobuf.Any.",
        )
    return FlightSqlCommand(name, decode(name, envelope.value))


def decode(name: str, data: bytes) -> Any:  # noqa: ANN401
    """A message of one known kind, not wrapped."""
    decoded = message(name)
    try:
        decoded.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise _malformed(name) from error
    return decoded


def optional(body: Any, field: str) -> Any:  # noqa: ANN401
    """A field's value, none when the client did not send it."""
    return getattr(body, field) if body.HasField(field) else None


def _malformed(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} is malformed: its bytes are not a protocol buffer of that type",
        hint="Use a Flight SQL client, or check how the message is encoded.",
    )
