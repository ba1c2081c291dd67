"""Write what a merge takes over: the next version of every table whose rows were merged."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from omnigraph.branching.merge.merged_constraints import TableMergePlan
from omnigraph.branching.merge.three_way import version_of
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.storage.commit.registration import register, unregister
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.model import Head, TablePointer
from omnigraph.storage.core.row_addresses import NO_ADDRESSES
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.tables.version_diff import surviving_addresses
from omnigraph.storage.tables.write_buffer import DataFileSink, RowBuffer
from omnigraph.storage.transaction.apply_changeset import RowsToDelete, apply_changeset
from omnigraph.storage.transaction.migrate_rows import evolved_version


class MergeStaging:
    """The tables of one attempt; collections spare them once one grew large."""

    def __init__(
        self, store: GraphStore, commit: str, target: Head, source: Head, actor: str | None
    ) -> None:
        self._store = store
        self._commit = commit
        self._target = target
        self._locations = {
            pointer.location for head in (target, source) for pointer in head.tables.values()
        }
        self._actor = actor
        self._lock = threading.Lock()
        self.registration: str | None = None

    def pointers(self, pieces: Iterable[TableMergePlan]) -> dict[str, TablePointer]:
        """Where the pointers of tables go that are not as the target has them."""
        moved = {}
        several = list(pieces)
        for piece, pointer in zip(
            several, self._store.workers.map(self._pointer, several), strict=True
        ):
            known = piece.sides.target
            renamed = known is not None and known.type.table_key != piece.merged.table_key
            if known is None or renamed or version_of(pointer) != version_of(known.pointer):
                moved[piece.merged.table_key] = pointer
        return moved

    def _pointer(self, piece: TableMergePlan) -> TablePointer:
        pointer = replace(piece.side.pointer, identity=piece.merged.identity)
        if piece.rows_taken is None:
            return pointer
        tables, type_ = self._store.tables, piece.merged
        base = evolved_version(self._store, version_of(pointer), piece.side.type, type_)
        schema, check = table_schema(type_), partial(check_values, type_)
        sink = DataFileSink(tables, base, schema, check, self._register, self._store.writers)
        arriving = RowBuffer(sink)
        for rows in piece.rows_taken.buffer.scan(schema.names):
            arriving.append(rows)
        gone = self._gone(piece, base)
        version = apply_changeset(tables, base, type_, arriving, gone)
        return replace(pointer, lance=version.lance, rows=piece.view.rows)

    def _gone(self, piece: TableMergePlan, version: TableVersion) -> RowsToDelete:
        """What leaves the target's table: found by address where it is as it was in the base."""
        taken, base = piece.rows_taken, piece.sides.base
        assert taken is not None
        if base is None:
            assert taken.unread is None
            return RowsToDelete(NO_ADDRESSES, pa.concat_arrays([taken.sought, taken.replaced_ids]))
        places, known = surviving_addresses(
            self._store.tables,
            version_of(base.pointer),
            version,
            np.concatenate([taken.replaced_at, taken.unread_at]),
        )
        read = len(taken.replaced_at)
        assert known[read:].all(), "a row that was not read is not where the base had it"
        others = taken.replaced_ids.filter(pa.array(~known[:read]))
        return RowsToDelete(places[known], pa.concat_arrays([taken.sought, others]))

    def _register(self) -> None:
        with self._lock:
            if self.registration is None:
                self.registration = register(
                    self._store.publisher,
                    self._target,
                    self._commit,
                    self._locations,
                    self._actor,
                )

    def close(self) -> None:
        """Collections need not spare anything any more."""
        if self.registration is not None:
            unregister(self._store.publisher, self.registration)
