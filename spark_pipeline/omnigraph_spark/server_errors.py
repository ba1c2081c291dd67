"""Error translation: `[code] message` and a hint from a server, as the errors of `omnigraph`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from adbc_driver_manager import Error

from omnigraph import errors
from omnigraph.errors import OmniGraphError, PointingError

_STATUS_MESSAGE = "x-arrow-status-message-bin"
_CODED = re.compile(r"\[(?P<code>[a-z_]+)\] (?P<text>.*)", re.DOTALL)


class ServerError(OmniGraphError):
    """The server cannot be reached, or raised an error that only a server raises.

    `details["server_code"]` is its code: `unauthenticated`, `forbidden`, `busy`, …
    """

    code = "server"


@contextmanager
def translating_errors() -> Iterator[None]:
    """A block whose errors of the server are raised as `server_error` translates them."""
    try:
        yield
    except Error as error:
        raise server_error(error) from error


def server_error(error: Error) -> OmniGraphError:
    """The error that a server's status stands for, with its code, message and hint.

    Classes that share a code become the one they have in common, a `ConstraintViolation` becomes
    `InvalidInput`. Details are not sent: there are no `details`, nor attributes that only a
    constructor of the class sets.
    """
    text = _status_message(error)
    coded = _CODED.match(text)
    if coded is None:
        return ServerError(
            f"the server cannot be reached: {text}",
            hint="Check the uri, the certificates, and whether the server runs.",
        )
    kind = _error_class(coded["code"])
    if kind is None:
        message, hint = _split_hint(text)
        return ServerError(message, hint=hint, details={"server_code": coded["code"]})
    if issubclass(kind, PointingError):  # whose lines show a place in a text, and are no hint
        return _error(kind, coded["text"], None)
    return _error(kind, *_split_hint(coded["text"]))


def _error_class(code: str) -> type[OmniGraphError] | None:
    """The class that has a code; of several, the one that the others derive from."""
    kinds: list[type[OmniGraphError]] = [OmniGraphError]
    for kind in kinds:  # which grows meanwhile, families before their members
        if kind.code == code and kind.__module__ == errors.__name__:
            return kind
        kinds += kind.__subclasses__()
    return None


def _error(kind: type[OmniGraphError], message: str, hint: str | None) -> OmniGraphError:
    """An error with a given message, whatever its constructor takes."""
    error = kind.__new__(kind)
    OmniGraphError.__init__(error, message, hint=hint)
    return error


def _split_hint(text: str) -> tuple[str, str | None]:
    """Message and hint; the server leaves the last full stop to the driver."""
    message, newline, hint = text.rpartition("\n")
    return (message, f"{hint}.") if newline else (text, None)


def _status_message(error: Error) -> str:
    """The server's message, without what the driver puts around it."""
    for name, value in error.details:
        if name in (_STATUS_MESSAGE, _STATUS_MESSAGE.encode()):
            return value.decode() if isinstance(value, bytes) else value
    text = str(error)
    _, prefix, rest = text.partition("[FlightSQL] ")
    message, suffix, _ = rest.rpartition(". Detail: ")
    return message if suffix else rest if prefix else text
