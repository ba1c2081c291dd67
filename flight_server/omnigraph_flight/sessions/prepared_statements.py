"""What a server keeps between calls: prepared statements, statements about to run, connections."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.errors import NotFound
from omnigraph_flight.access.authentication import Caller
from omnigraph_flight.access.session_settings import Settings


@dataclass
class PreparedStatement:
    """A prepared statement that a client holds a handle of."""

    text: str
    user: str
    settings: Settings
    transaction: bytes | None
    """The transaction it was prepared in."""
    outlived: float | None = None
    """When that has ended, if it has: clients run it again in the transaction that follows."""
    params: pa.RecordBatch | None = None
    session: str = ""


class PreparedStatements:
    """Things by handle, the longest unused given up first. The lock protects them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._things: OrderedDict[bytes, PreparedStatement] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def put(self, handle: bytes, thing: PreparedStatement) -> None:
        with self._lock:
            self._things[handle] = thing
            while len(self._things) > self._most:
                self._things.popitem(last=False)

    def get(self, handle: bytes, caller: Caller) -> PreparedStatement:
        with self._lock:
            found = self._things.get(handle)
            if found is not None and found.user == caller.name:
                self._things.move_to_end(handle)
                return found
        raise NotFound(
            "there is no such prepared statement", hint="It was closed: prepare it again."
        )

    def drop(self, handle: bytes) -> None:
        with self._lock:
            self._things.pop(handle, None)

    def outlive(self, transaction: bytes) -> None:
        """A transaction has ended, and its statements go on without it."""
        now = time.monotonic()
        with self._lock:
            for each in self._things.values():
                if each.transaction == transaction:
                    each.transaction, each.outlived = None, now

    def forget_parameters(self, session: str) -> None:
        """Let go of what was bound in a session that is over; its statements stay prepared."""
        with self._lock:
            for each in self._things.values():
                if each.session == session:
                    each.params = None

    def drop_session(self, key: str) -> None:
        with self._lock:
            for handle in [h for h, p in self._things.items() if p.session == key]:
                del self._things[handle]
