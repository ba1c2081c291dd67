"""From the operations of a transaction on a table to the table's next version.

Operations are applied in order, each on the version that the one before left. Nothing here is
visible to anyone: a staged version becomes real only when it is published.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import KeyConflict
from omnigraph.schema import EdgeType, NodeType
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.schema.model.entity_ids import key_text
from omnigraph.storage.constraints import violations
from omnigraph.storage.constraints.distributed_protocol import ConstraintChecker, KeyColumn
from omnigraph.storage.constraints.hash_partitions import duplicate_ids, strictly_increasing
from omnigraph.storage.core.failpoints import AFTER_TABLE, failpoint
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.read_errors import drain
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses, distinct
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.key_lookup import NOTHING_FOUND
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.transaction.operations import DeleteRows, Operation, WriteRows


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table's next version, and what validation needs to know about what led to it."""

    type: GraphType
    base: TablePointer
    version: TableVersion
    rows: int
    written: tuple[WriteRows, ...]
    removed: pa.StringArray
    """Ids that operations deleted; some may have been put back."""
    touched: pa.StringArray
    """Sources (of edges with a cardinality) that lost an edge."""
    replaced: bool

    @property
    def changed(self) -> bool:
        return self.version.lance != self.base.lance

    @property
    def pointer(self) -> TablePointer:
        return TablePointer(
            self.version.location, 0, self.version.lance, self.rows, self.base.identity
        )


def nothing_staged(type_: GraphType, base: TablePointer) -> StagedTable:
    """The table as it is."""
    version = TableVersion(base.location, base.lance)
    none = pa.array([], pa.string())
    return StagedTable(type_, base, version, base.rows, (), none, none, False)


def stage(
    tables: TableStore,
    state: StagedTable,
    operation: Operation,
    checker: ConstraintChecker | None = None,
) -> StagedTable:
    """Apply an operation; a distributed checker looks up rows that are in data files."""
    before = state.version
    if isinstance(operation, DeleteRows):
        located = tables.locate(state.version, operation.ids.unique())
        state = delete_rows(tables, state, located.ids, located.addresses)
    elif operation.mode == "overwrite":
        state = _overwrite(tables, state, operation, checker)
    else:
        state = _write(tables, state, operation, checker)
    if state.version != before:
        failpoint(AFTER_TABLE)
    return state


def _write(
    tables: TableStore, state: StagedTable, operation: WriteRows, checker: ConstraintChecker | None
) -> StagedTable:
    operation.buffer.finish()
    if not operation.buffer.rows:
        return state
    if operation.buffer.spilled:
        if checker is not None:
            return _write_distributed(tables, state, operation, checker)
        return _write_many(tables, state, operation)
    operation.buffer.check_rest()
    rows = operation.buffer.table()
    if not operation.fresh_ids:
        rows = _settle_duplicates(state.type, rows, operation)
    ids = rows.column("id").combine_chunks()
    base, existing = state.version, NOTHING_FOUND
    if not operation.fresh_ids:
        if len(ids) <= PROBE_LIMIT:
            base = ready_for_probes(tables, base, state.type)
        existing = tables.locate(base, ids)
    if operation.mode == "insert" and len(existing.ids):
        raise KeyConflict(state.type.kind, state.type.name, pc.min(existing.ids).as_py())
    touched = _sources(tables, state, existing.addresses)
    version = tables.next(base, rows=rows, gone=existing.addresses)
    count = state.rows - len(existing.ids) + rows.num_rows
    return _after(state, version, count, operation, touched)


def _settle_duplicates(type_: GraphType, rows: pa.Table, operation: WriteRows) -> pa.Table:
    """Rows with distinct ids: the last one wins where that is allowed."""
    ids = rows.column("id").combine_chunks()
    if strictly_increasing(ids):
        return rows
    repeated = duplicate_ids(lambda: [rows.select(["id"])], rows.num_rows)
    if not len(repeated):
        return rows
    _refuse_duplicates(type_, rows, repeated[0].as_py(), operation)
    last = pa.table({"id": ids, "at": pa.array(range(len(ids)), pa.int64())})
    latest = last.group_by("id").aggregate([("at", "max")]).column("at_max")
    return rows.take(latest.take(pc.sort_indices(latest)))


def _refuse_duplicates(
    type_: GraphType, rows: pa.Table, repeated: str, operation: WriteRows
) -> None:
    if operation.one_file and isinstance(type_, NodeType) and type_.key is not None:
        holder = rows.filter(pc.equal(rows.column("id"), repeated)).slice(0, 1)
        values = [
            key_text(holder.column(m), type_.property(m).type)[0].as_py() for m in type_.key.members
        ]
        raise violations.unique(type_.name, type_.key.members, values, repeated, repeated)
    if operation.mode != "upsert":
        raise KeyConflict(type_.kind, type_.name, repeated)


def _write_many(tables: TableStore, state: StagedTable, operation: WriteRows) -> StagedTable:
    """Rows that are in data files already: append them, then delete what they replace."""
    buffer = operation.buffer
    repeated = pa.array([], pa.string())
    if not operation.fresh_ids:
        repeated = _repeated_in(state.type, operation)
    gone = NO_ADDRESSES
    if state.rows and not operation.fresh_ids:
        for chunk in buffer.scan(["id"]):
            existing = tables.locate(state.version, chunk.column("id").combine_chunks())
            if operation.mode == "insert" and len(existing.ids):
                raise KeyConflict(state.type.kind, state.type.name, pc.min(existing.ids).as_py())
            gone = distinct(gone, existing.addresses)
    touched = _sources(tables, state, gone)
    version = tables.next(state.version, fragments=buffer.fragments, gone=gone)
    count = state.rows - len(gone) + buffer.rows
    if len(repeated):
        earlier = _earlier_occurrences(tables, version, repeated)
        version = tables.next(version, gone=earlier)
        count -= len(earlier)
    return _after(state, version, count, operation, touched)


def _write_distributed(
    tables: TableStore, state: StagedTable, operation: WriteRows, checker: ConstraintChecker
) -> StagedTable:
    """The same, when whoever has many machines looks for the ids."""
    type_, buffer, gone = state.type, operation.buffer, NO_ADDRESSES
    repeated = None
    if not operation.fresh_ids:
        repeated = _first_repeated(type_, operation, checker)
        written, stored = KeyColumn(type_, buffer.version()), KeyColumn(type_, state.version)
        if state.rows and operation.mode == "insert":
            there = checker.least_common(stored, written)
            if there is not None:
                raise KeyConflict(type_.kind, type_.name, there)
        elif state.rows:
            gone = checker.common(stored, written)
    version = tables.next(state.version, fragments=buffer.fragments, gone=gone)
    count = state.rows - len(gone) + buffer.rows
    if repeated is not None:
        earlier = checker.earlier(KeyColumn(type_, version, since=state.version))
        version = tables.next(version, gone=earlier)
        count -= len(earlier)
    # Whose edges became fewer is for the checker to find, too.
    return _after(state, version, count, operation, pa.array([], pa.string()))


def _first_repeated(
    type_: GraphType, operation: WriteRows, checker: ConstraintChecker
) -> str | None:
    """An id that stands twice in data files, where that is allowed."""
    repeated = checker.first_repeated(KeyColumn(type_, operation.buffer.version()))
    if repeated is not None:
        _refuse_repeated(type_, operation, repeated)
    return repeated


def _repeated_in(type_: GraphType, operation: WriteRows) -> pa.StringArray:
    """Ids that stand twice in data files, where that is allowed."""
    buffer = operation.buffer
    repeated = duplicate_ids(lambda: buffer.scan(["id"]), buffer.rows)
    if len(repeated):
        _refuse_repeated(type_, operation, repeated[0].as_py())
    return repeated


def _refuse_repeated(type_: GraphType, operation: WriteRows, repeated: str) -> None:
    names = [f.name for f in table_schema(type_)]
    chunks = operation.buffer.scan(names)
    rows = pa.concat_tables(c.filter(pc.equal(c.column("id"), repeated)) for c in chunks)
    _refuse_duplicates(type_, rows, repeated, operation)


def _earlier_occurrences(
    tables: TableStore, version: TableVersion, repeated: pa.StringArray
) -> Addresses:
    """Addresses of all but the last row of each repeated id."""
    rows = drain(tables.scan(version, columns=["id"], addresses=True), version)
    rows = rows.filter(pc.is_in(rows.column("id"), repeated))
    last = rows.group_by("id").aggregate([("_rowaddr", "max")]).column("_rowaddr_max")
    earlier = rows.filter(pc.invert(pc.is_in(rows.column("_rowaddr"), last)))
    result: Addresses = earlier.column("_rowaddr").to_numpy()
    return result


def delete_rows(
    tables: TableStore, state: StagedTable, ids: pa.StringArray, addresses: Addresses
) -> StagedTable:
    """Delete rows whose addresses are known."""
    if not len(addresses):
        return state
    touched = _sources(tables, state, addresses)
    return replace(
        state,
        version=tables.next(state.version, gone=addresses),
        rows=state.rows - len(addresses),
        removed=pa.concat_arrays([state.removed, ids]),
        touched=pa.concat_arrays([state.touched, touched]),
    )


def _overwrite(
    tables: TableStore,
    state: StagedTable,
    operation: WriteRows,
    checker: ConstraintChecker | None,
) -> StagedTable:
    buffer = operation.buffer
    buffer.finish()
    schema = table_schema(state.type)
    if buffer.spilled:
        if not operation.fresh_ids and checker is not None:
            _first_repeated(state.type, operation, checker)
        elif not operation.fresh_ids:
            _repeated_in(state.type, operation)
        fragments = buffer.fragments
    else:
        buffer.check_rest()
        rows = buffer.table()
        if not operation.fresh_ids:
            rows = _settle_duplicates(state.type, rows, operation)
        fragments = tables.write(state.version, rows) if rows.num_rows else []
    none = pa.array([], pa.string())
    touched = _all_sources(tables, state) if checker is None else none
    version = tables.replace(state.version, schema, fragments)
    return StagedTable(
        state.type, state.base, version, buffer.rows, (operation,), none, touched, True
    )


def _after(
    state: StagedTable,
    version: TableVersion,
    rows: int,
    operation: WriteRows,
    touched: pa.StringArray,
) -> StagedTable:
    return replace(
        state,
        version=version,
        rows=rows,
        written=(*state.written, operation),
        touched=pa.concat_arrays([state.touched, touched]),
    )


def _counted(type_: GraphType) -> bool:
    return isinstance(type_, EdgeType) and not type_.cardinality.is_free


def _sources(tables: TableStore, state: StagedTable, addresses: Addresses) -> pa.StringArray:
    """Sources of edge rows about to be deleted, where a cardinality counts them."""
    if not len(addresses) or not _counted(state.type):
        return pa.array([], pa.string())
    return tables.take(state.version, addresses, ["src"]).column("src").unique()


def _all_sources(tables: TableStore, state: StagedTable) -> pa.StringArray:
    if not _counted(state.type) or not state.rows:
        return pa.array([], pa.string())
    return tables.read(state.version, columns=["src"]).column("src").unique()
