"""What a server refuses, as the errors of this project: `[code] message`, and its hint below."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from adbc_driver_manager import Error

from omnigraph import errors
from omnigraph.errors import OmniGraphError, PointingError

_WORDS = "x-arrow-status-message-bin"
_CODED = re.compile(r"\[(?P<code>[a-z_]+)\] (?P<text>.*)", re.DOTALL)


class ServerError(OmniGraphError):
    """The server cannot be reached, or refuses what only a server refuses.

    `details["server_code"]` is what it calls that: `unauthenticated`, `forbidden`, `busy`, …
    """

    code = "server"


@contextmanager
def translating_errors() -> Iterator[None]:
    """A block in which a server's refusals are our errors, as `server_error` makes them."""
    try:
        yield
    except Error as error:
        raise server_error(error) from error


def server_error(error: Error) -> OmniGraphError:
    """The error that a server's answer stands for, with its code, its words and its hint.

    Classes that share a code come as the one they have in common, a `ConstraintViolation` as
    `InvalidInput`. Facts do not travel: there are no `details`, nor attributes that only a
    constructor of the class sets.
    """
    words = _words(error)
    coded = _CODED.match(words)
    if coded is None:
        return ServerError(
            f"the server cannot be asked: {words}",
            hint="Look at the uri, the certificates, and whether the server runs.",
        )
    code, text = coded["code"], coded["text"]
    kind = _kind(code)
    if kind is None:
        message, hint = _parted(words)
        return ServerError(message, hint=hint, details={"server_code": code})
    if issubclass(kind, PointingError):  # whose lines show a place, and are no hint
        return _told(kind, text, None)
    return _told(kind, *_parted(text))


def _kind(code: str) -> type[OmniGraphError] | None:
    """The class that has a code; of several, the one that the others derive from."""
    kinds: list[type[OmniGraphError]] = [OmniGraphError]
    for kind in kinds:  # which grows meanwhile, families before their members
        if kind.code == code and kind.__module__ == errors.__name__:
            return kind
        kinds += kind.__subclasses__()
    return None


def _told(kind: type[OmniGraphError], message: str, hint: str | None) -> OmniGraphError:
    """An error as somebody else has put it, whatever its constructor takes."""
    error = kind.__new__(kind)
    OmniGraphError.__init__(error, message, hint=hint)
    return error


def _parted(text: str) -> tuple[str, str | None]:
    """Message and hint; the server leaves the last full stop to the driver."""
    message, broken, hint = text.rpartition("\n")
    return (message, f"{hint}.") if broken else (text, None)


def _words(error: Error) -> str:
    """What the server said, without the driver's frame around it."""
    for name, value in error.details:
        if name in (_WORDS, _WORDS.encode()):
            return value.decode() if isinstance(value, bytes) else value
    text = str(error)
    _, framed, rest = text.partition("[FlightSQL] ")
    words, detailed, _ = rest.rpartition(". Detail: ")
    return words if detailed else rest if framed else text
