"""How far a transaction has got on the head it was begun on."""

from __future__ import annotations

import threading

import pyarrow as pa

from omnigraph.storage.core.model import Head
from omnigraph.storage.transaction.stage_rows import StagedTable


class StagedWork:
    """What has been staged so far on one pin. The lock protects the two maps of progress."""

    def __init__(self, pin: Head) -> None:
        self.pin = pin
        self.staged: dict[str, StagedTable] = {}
        self.cascades: dict[str, list[pa.StringArray]] = {}
        self.relied_on: set[str] = set()
        self.validated = False
        self._progress: dict[str, int] = {}
        self.upkeep = threading.Lock()
        """Held while a table that checks look into gets an index."""
        self._lock = threading.Lock()

    def applied(self, table_key: str) -> int:
        """How many of the table's operations are staged."""
        return self._progress.get(table_key, 0)

    def keep(self, table_key: str, state: StagedTable, applied: int) -> None:
        with self._lock:
            if applied != self._progress.get(table_key, 0):
                self.validated = False
            self.staged[table_key] = state
            self._progress[table_key] = applied

    def rebased(self, head: Head) -> StagedWork:
        """The work that still holds on another head: tables that did not move."""
        after = StagedWork(head)
        for key, state in self.staged.items():
            if head.tables.get(key) == self.pin.tables.get(key):
                after.staged[key] = state
                after._progress[key] = self._progress.get(key, 0)
        return after
