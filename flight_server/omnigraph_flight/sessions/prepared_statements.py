"""Prepared statements by the handles that clients have of them."""

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
    session: str
    """The key of the session it was prepared in."""
    transaction: bytes | None
    """The transaction it was prepared in."""
    transaction_ended: float | None = None
    """When that ended, if it has: clients run it again in the transaction that follows."""
    params: pa.RecordBatch | None = None


class PreparedStatements:
    """Statements by handle, the least recently used dropped first. The lock protects the map."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._statements: OrderedDict[bytes, PreparedStatement] = OrderedDict()

    def __len__(self) -> int:
        return len(self._statements)

    def put(self, handle: bytes, statement: PreparedStatement) -> None:
        with self._lock:
            self._statements[handle] = statement
            while len(self._statements) > self._most:
                self._statements.popitem(last=False)

    def get(self, handle: bytes, caller: Caller) -> PreparedStatement:
        with self._lock:
            statement = self._statements.get(handle)
            if statement is not None and statement.user == caller.name:
                self._statements.move_to_end(handle)
                return statement
        raise NotFound(
            "there is no such prepared statement", hint="It was closed: prepare it again."
        )

    def drop(self, handle: bytes) -> None:
        with self._lock:
            self._statements.pop(handle, None)

    def end_transaction(self, transaction: bytes) -> None:
        """Detach the statements of a transaction that has ended: they outlive it."""
        now = time.monotonic()
        with self._lock:
            for each in self._statements.values():
                if each.transaction == transaction:
                    each.transaction, each.transaction_ended = None, now

    def forget_parameters(self, session: str) -> None:
        """Drop what was bound in a session that has ended; its statements stay prepared."""
        with self._lock:
            for each in self._statements.values():
                if each.session == session:
                    each.params = None

    def drop_session(self, session: str) -> None:
        with self._lock:
            for handle in [h for h, each in self._statements.items() if each.session == session]:
                del self._statements[handle]
