"""Statements that run, how to stop them, and a thread that stops those that must stop.

A client that disconnects sends nothing: gRPC marks its call as cancelled, which has to be polled.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from omnigraph.errors import Cancelled
from omnigraph_flight.protocol.flight_status import TimedOut

POLL_SECONDS = 0.05
_CANCELLED_RETAINED = 10_000


class Context(Protocol):
    """The part of a Flight call that says whether its client is still connected."""

    def is_cancelled(self) -> bool: ...


@dataclass(eq=False)
class RunningCall:
    """One running statement. `stop` may be called from any thread, any number of times."""

    id: str
    user: str
    context: Context
    deadline: float | None
    cancel: Callable[[], None]
    error: Exception | None = None
    """Why it was stopped."""

    def stop(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        self.cancel()

    def stop_reason(self, now: float) -> Exception | None:
        """Why it must stop, if it must."""
        if self.deadline is not None and now > self.deadline:
            return TimedOut(
                "the statement exceeded the statement timeout",
                hint="Read less at once, or ask for a longer statement timeout.",
            )
        return cancelled() if self.context.is_cancelled() else None


class Calls:
    """The running statements of a server. The lock protects the maps.

    It is also held while calls are polled, so that no call's context is touched after its end.
    """

    def __init__(self, statement_seconds: float) -> None:
        self._seconds = statement_seconds
        self._lock = threading.Lock()
        self._calls: set[RunningCall] = set()
        self._cancelled: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="omnigraph-calls", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, id_: str, user: str, context: Context, stop: Callable[[], None]) -> RunningCall:
        """Watch a statement from now on; `end` must follow."""
        deadline = time.monotonic() + self._seconds if self._seconds else None
        call = RunningCall(id_, user, context, deadline, stop)
        with self._lock:
            if (user, id_) in self._cancelled:
                raise cancelled()
            self._calls.add(call)
        return call

    def end(self, call: RunningCall) -> None:
        with self._lock:
            self._calls.discard(call)

    @contextmanager
    def running(
        self, id_: str, user: str, context: Context, stop: Callable[[], None]
    ) -> Iterator[RunningCall]:
        """Watch a statement while the block runs; the error says why it was stopped."""
        call = self.begin(id_, user, context, stop)
        try:
            yield call
        except Exception:
            if call.error is not None:
                raise call.error from None
            raise
        finally:
            self.end(call)

    def cancel(self, id_: str, user: str) -> bool:
        """Stop a statement of a user, also one that has not begun yet; whether any was running."""
        with self._lock:
            self._cancelled[user, id_] = None
            while len(self._cancelled) > _CANCELLED_RETAINED:
                self._cancelled.popitem(last=False)
            running = [c for c in self._calls if c.id == id_ and c.user == user]
            for call in running:
                call.stop(cancelled())
        return bool(running)

    def stop_all(self, error: Exception) -> None:
        with self._lock:
            for call in self._calls:
                call.stop(error)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            now = time.monotonic()
            with self._lock:
                for call in self._calls:
                    if call.error is None and (error := call.stop_reason(now)) is not None:
                        call.stop(error)


def cancelled() -> Cancelled:
    return Cancelled("the statement was cancelled", hint="Run it again if you still need it.")
