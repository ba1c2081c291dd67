"""Error translation: typed errors become a Flight status, everything else becomes "internal".

pyarrow sends the status of a FlightError, of which none says INVALID_ARGUMENT or NOT_FOUND. Those
it derives from ValueError, KeyError and NotImplementedError, but then adds what
`traceback.format_exception` makes of them, file names and all; only when that fails it falls back
to the class name. `_Untraceable` makes it fail.
"""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Never

import pyarrow as pa
import pyarrow.flight as fl

from omnigraph.errors import (
    Cancelled,
    CommitUnknown,
    Conflict,
    InvalidInput,
    NotFound,
    OmniGraphError,
    StorageError,
)

log = logging.getLogger("omnigraph.flight")


# --------------------------------------------------------------------------- errors of the server


class Unauthenticated(OmniGraphError):
    """The caller sent no credentials, or wrong ones."""

    code = "unauthenticated"


class Forbidden(OmniGraphError):
    """The caller may not do this."""

    code = "forbidden"


class Busy(OmniGraphError):
    """The caller is at its limits; nothing was started."""

    code = "busy"


class TimedOut(OmniGraphError):
    """The statement exceeded its time limit."""

    code = "timeout"


class Unsupported(OmniGraphError):
    """A part of the protocol that this server does not support."""

    code = "unsupported"


# --------------------------------------------------------------------------- errors on the wire


class _Untraceable(Exception):  # noqa: N818 - its name reaches clients
    """An error that pyarrow sends without a traceback, and without details."""

    def __init__(self, message: str, details: bytes = b"") -> None:  # noqa: ARG002
        super().__init__(message)
        self._message = message

    def __str__(self) -> str:
        return self._message

    @property
    def __cause__(self) -> Never:  # type: ignore[override]
        raise RuntimeError("this error is for the wire alone")


class InvalidArgument(_Untraceable, ValueError):
    """Travels as INVALID_ARGUMENT."""


class NotFoundStatus(_Untraceable, KeyError):
    """Travels as NOT_FOUND."""


class NotSupported(_Untraceable, NotImplementedError):
    """Travels as UNIMPLEMENTED."""


_STATUSES: tuple[tuple[type[OmniGraphError], Callable[[str, bytes], Exception]], ...] = (
    (InvalidInput, InvalidArgument),
    (NotFound, NotFoundStatus),
    (Unsupported, NotSupported),
    (Unauthenticated, fl.FlightUnauthenticatedError),
    (Forbidden, fl.FlightUnauthorizedError),
    (Busy, fl.FlightUnavailableError),
    (TimedOut, fl.FlightTimedOutError),
    (Cancelled, fl.FlightCancelledError),
    (Conflict, fl.FlightServerError),
    (CommitUnknown, fl.FlightServerError),
    (StorageError, fl.FlightInternalError),
)
LONGEST_MESSAGE = 4000
"""gRPC sends messages as a header, which many clients take only up to 8 KiB."""

_PATH = re.compile(r"(?:file://)?(?<![\w.<])/(?:[\w.@+-]+/)+[\w.@+-]*")


def to_flight(error: BaseException) -> Exception:
    """What to raise towards the client for any error; never a traceback, never a path."""
    if isinstance(error, (_Untraceable, fl.FlightError)):
        return error
    if isinstance(error, OmniGraphError):
        return _known(error)
    if isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError | pa.ArrowNotImplementedError):
        # Arrow's own words about data that the client sent.
        return InvalidArgument(_text("bad_request", str(error).split("\n")[0], None))
    incident = uuid.uuid4().hex[:12]
    log.error("internal error", exc_info=error, extra={"incident": incident})
    internal: Exception = fl.FlightInternalError(
        f"[internal] internal error of the server (incident {incident})\n"
        "Report the incident to the operator of the server: its log has the cause."
    )
    return internal


def _known(error: OmniGraphError) -> Exception:
    if isinstance(error, StorageError):
        log.error("storage error: %s", error.message, extra={"code": error.code})
    text = _text(error.code, error.message, error.hint)
    details = json.dumps({"code": error.code, **error.details}, default=str)
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status(text, without_paths(details).encode()[:LONGEST_MESSAGE])
    other: Exception = fl.FlightServerError(text)
    return other


def _text(code: str, message: str, hint: str | None) -> str:
    shown = without_paths(message)
    if len(shown) > LONGEST_MESSAGE:
        shown = shown[:LONGEST_MESSAGE] + "…"
    text = f"[{code}] {shown}" + (f"\n{without_paths(hint)}" if hint else "")
    return text.removesuffix(".")  # gRPC puts its own after it


def without_paths(text: str) -> str:
    """The text without file paths of this machine."""
    return _PATH.sub("<path>", text)


@contextmanager
def translating_errors() -> Iterator[None]:
    """A block whose errors reach the client in the form of `to_flight`."""
    try:
        yield
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the edge: also a panic of Rust is mapped here
        raise to_flight(error) from None
