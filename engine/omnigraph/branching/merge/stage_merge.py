"""Apply the changesets of a merge: the next version of every table whose rows were merged."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from omnigraph.branching.merge.changeset import Changeset
from omnigraph.branching.merge.merged_constraints import TableMergePlan
from omnigraph.branching.merge.three_way import MergeSide
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


@dataclass
class MergeStaging:
    """The tables of one attempt; collections spare them once one grew large."""

    store: GraphStore
    commit: str
    target: Head
    source: Head
    actor: str | None
    registration: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def pointers(self, table_merges: Iterable[TableMergePlan]) -> dict[str, TablePointer]:
        """The new pointers of tables that are not as the target has them, by table key."""
        plans = list(table_merges)
        changed = {}
        for plan, pointer in zip(plans, self.store.workers.map(self._pointer, plans), strict=True):
            target, key = plan.three_way.target, plan.merged.table_key
            renamed = target is not None and target.type.table_key != key
            if target is None or renamed or pointer.address != target.pointer.address:
                changed[key] = pointer
        return changed

    def _pointer(self, table_merge: TableMergePlan) -> TablePointer:
        pointer = replace(table_merge.side.pointer, identity=table_merge.merged.identity)
        changeset = table_merge.changeset
        if changeset is None:
            return pointer
        tables, type_ = self.store.tables, table_merge.merged
        base = evolved_version(self.store, pointer.address, table_merge.side.type, type_)
        schema, check = table_schema(type_), partial(check_values, type_)
        sink = DataFileSink(tables, base, schema, check, self._register, self.store.writers)
        rows_to_insert = RowBuffer(sink)
        for rows in changeset.buffer.scan(schema.names):
            rows_to_insert.append(rows)
        rows_to_delete = self._rows_to_delete(changeset, table_merge.three_way.base, base)
        version = apply_changeset(tables, base, type_, rows_to_insert, rows_to_delete)
        return replace(pointer.at(version), rows=table_merge.view.rows)

    def _rows_to_delete(
        self, changeset: Changeset, base: MergeSide | None, version: TableVersion
    ) -> RowsToDelete:
        """The rows to delete from the target: by address where the base has them just so."""
        if base is None:
            assert changeset.unread is None
            ids = pa.concat_arrays([changeset.lookup_ids, changeset.replaced_ids])
            return RowsToDelete(NO_ADDRESSES, ids)
        addresses, survived = surviving_addresses(
            self.store.tables,
            base.pointer.address,
            version,
            np.concatenate([changeset.replaced_at, changeset.unread_at]),
        )
        read = len(changeset.replaced_at)
        assert survived[read:].all(), "a row that was not read is not where the base had it"
        moved = changeset.replaced_ids.filter(pa.array(~survived[:read]))
        return RowsToDelete(addresses[survived], pa.concat_arrays([changeset.lookup_ids, moved]))

    def _register(self) -> None:
        with self._lock:
            if self.registration is None:
                pointers = chain(self.target.tables.values(), self.source.tables.values())
                locations = {pointer.location for pointer in pointers}
                self.registration = register(
                    self.store.publisher, self.target, self.commit, locations, self.actor
                )

    def close(self) -> None:
        """Collections need not spare anything any more."""
        if self.registration is not None:
            unregister(self.store.publisher, self.registration)
