"""What is running: who asked for it, how to stop it, and a thread that stops what must stop.

A client that goes away says nothing: gRPC marks its call as cancelled, and somebody has to look.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from omnigraph.errors import Cancelled
from omnigraph_flight.protocol.flight_status import TimedOut

LOOK_SECONDS = 0.05
_CANCELLED_KEPT = 10_000


class Context(Protocol):
    """The part of a Flight call that tells whether its client is still there."""

    def is_cancelled(self) -> bool: ...


class RunningCall:
    """One running statement. `stop` may be called from any thread, any number of times."""

    def __init__(
        self,
        id_: str,
        user: str,
        context: Context,
        deadline: float | None,
        stop: Callable[[], None],
    ) -> None:
        self.id = id_
        self.user = user
        self.deadline = deadline
        self.error: Exception | None = None
        self._context = context
        self._stop = stop

    def stop(self, error: Exception) -> None:
        if self.error is None:
            self.error = error
        self._stop()

    def due(self, now: float) -> Exception | None:
        """Why it must stop, if it must."""
        if self.deadline is not None and now > self.deadline:
            return TimedOut(
                "the statement ran longer than it may",
                hint="Read less at once, or ask for a longer statement timeout.",
            )
        return cancelled() if self._context.is_cancelled() else None


class Calls:
    """The running statements of a server. The lock protects the maps.

    It is also held while calls are looked at, so that no call's context is touched after its end.
    """

    def __init__(self, statement_seconds: float) -> None:
        self._seconds = statement_seconds
        self._lock = threading.Lock()
        self._calls: dict[int, RunningCall] = {}
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
            self._calls[id(call)] = call
        return call

    def end(self, call: RunningCall) -> None:
        with self._lock:
            self._calls.pop(id(call), None)

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
            while len(self._cancelled) > _CANCELLED_KEPT:
                self._cancelled.popitem(last=False)
            found = [c for c in self._calls.values() if c.id == id_ and c.user == user]
            for call in found:
                call.stop(cancelled())
        return bool(found)

    def stop_all(self, error: Exception) -> None:
        with self._lock:
            for call in self._calls.values():
                call.stop(error)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            now = time.monotonic()
            with self._lock:
                for call in self._calls.values():
                    if call.error is None and (error := call.due(now)) is not None:
                        call.stop(error)


def cancelled() -> Cancelled:
    return Cancelled("the statement was cancelled", hint="Run it again if it is still wanted.")
