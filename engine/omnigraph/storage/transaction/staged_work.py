"""The operations of a transaction staged on one head, and the tables that they rely on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from omnigraph.schema import Catalog
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.core.model import Head, Pointers
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.transaction.cascade_delete import cascade, permanently_deleted
from omnigraph.storage.transaction.operations import DeleteRows, Operation
from omnigraph.storage.transaction.stage_rows import StagedTable, nothing_staged, stage


class StagedWork:
    """What has been staged so far on one head.

    `_lock` protects the maps of progress; `_indexing` is held while a table that checks look into
    gets an index.
    """

    def __init__(
        self,
        tables: TableStore,
        catalog: Catalog,
        head: Head,
        bases: Pointers,
        operations: Mapping[str, Sequence[Operation]],
        checker: ConstraintChecker | None,
    ) -> None:
        """`bases` are the pointers of the head, after a change of its schema if there is one."""
        self._tables = tables
        self._catalog = catalog
        self._head = head
        self._bases = bases
        self._operations = operations
        self._checker = checker
        self.relied_on: set[str] = set()
        """Tables that were looked into and are not changed."""
        self.validated = False
        self._staged: dict[str, StagedTable] = {}
        self._applied: dict[str, int] = {}
        self._cascades: dict[str, list[pa.StringArray]] = {}
        self._indexing = threading.Lock()
        self._lock = threading.Lock()

    def rebased(self, head: Head, is_kept: Callable[[str], bool]) -> StagedWork:
        """The same operations on another head, with what was staged on tables that did not move
        and whose files, by location, no collection took."""
        after = StagedWork(
            self._tables, self._catalog, head, head.tables, self._operations, self._checker
        )
        for key, state in self._staged.items():
            stayed = head.tables.get(key) == self._head.tables.get(key)
            if stayed and is_kept(state.version.location):
                after._staged[key] = state
                after._applied[key] = self.applied(key)
        return after

    def applied(self, table_key: str) -> int:
        """How many of the table's operations are staged."""
        return self._applied.get(table_key, 0)

    @property
    def changed(self) -> dict[str, StagedTable]:
        """The tables that have a new version."""
        return {key: state for key, state in self._staged.items() if state.changed}

    def table(self, table_key: str) -> StagedTable:
        """A table with all of its operations applied."""
        state = self._state(table_key)
        operations = self._operations.get(table_key, ())
        done = self.applied(table_key)
        for operation in operations[done:]:
            before = len(state.removed)
            state = stage(self._tables, state, operation, self._checker)
            deletes = isinstance(operation, DeleteRows) and operation.cascade
            if deletes and state.type.kind == "node":
                # Only nodes that were there take edges along.
                self._cascades.setdefault(table_key, []).append(state.removed.slice(before))
        with self._lock:
            self._staged[table_key] = state
            if done != len(operations):
                self._applied[table_key] = len(operations)
                self.validated = False
        return state

    def stage_all(self, workers: Executor) -> None:
        """Apply what is left, tables side by side, and take out the edges of deleted nodes.

        Values of all tables are checked before what has to be looked up in any
        (docs/design/loading.md#5-validation).
        """
        for _, operations in sorted(self._operations.items()):
            for operation in operations:
                if not isinstance(operation, DeleteRows):
                    operation.buffer.finish()
                    operation.buffer.check_rest()
        list(workers.map(self.table, self._operations))
        for node_key, removals in self._cascades.items():
            node = self._staged[node_key]
            deleted = permanently_deleted(self._tables, node, removals)
            for edge in self._catalog.edges_touching(node.type.name):
                key = edge.table_key
                written = self._operations.get(key, ())
                state = cascade(
                    self._tables, self.table(key), edge, node.type.name, deleted, written
                )
                self.relied_on.add(key)
                self._staged[key] = state
        self._cascades = {}

    def final(self, table_key: str) -> StoredTable:
        """A table as it will be; one that is not staged is relied on to stay."""
        state = self._state(table_key)
        if not state.changed:
            self.relied_on.add(table_key)
        ready = partial(self._ready, table_key)
        return StoredTable(self._tables, state.version, state.rows, ready)

    def _ready(self, table_key: str, column: str) -> TableVersion:
        """The table, with an index on the column if looking a few values up is worth one."""
        with self._indexing:
            state = self._state(table_key)
            version = ready_for_probes(self._tables, state.version, state.type, column)
            if version != state.version:
                self._staged[table_key] = replace(state, version=version)
            return version

    def _state(self, table_key: str) -> StagedTable:
        state = self._staged.get(table_key)
        if state is None:
            state = nothing_staged(self._catalog.type_for(table_key), self._bases[table_key])
        return state
