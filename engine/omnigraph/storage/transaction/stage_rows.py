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
from omnigraph.storage.core.model import TablePointer, pointer_to
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses, distinct
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.data_files import NO_FILES
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
        return pointer_to(self.version, self.rows, self.base.identity)


def nothing_staged(type_: GraphType, base: TablePointer) -> StagedTable:
    """The table as it is."""
    return StagedTable(type_, base, base.address, base.rows, (), _no_ids(), _no_ids(), False)


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
        return _write_files(tables, state, operation, checker)
    rows = _distinct_rows(state.type, operation)
    ids = rows.column("id").combine_chunks()
    base, existing = state.version, NOTHING_FOUND
    if not operation.fresh_ids:
        if len(ids) <= PROBE_LIMIT:
            base = ready_for_probes(tables, base, state.type)
        existing = tables.locate(base, ids)
    _refuse_existing(state.type, existing.ids, operation)
    touched = _sources(tables, state, existing.addresses)
    version = tables.next(base, rows=rows, deleted=existing.addresses)
    count = state.rows - len(existing.ids) + rows.num_rows
    return _after(state, version, count, operation, touched)


def _distinct_rows(type_: GraphType, operation: WriteRows) -> pa.Table:
    """Checked rows with distinct ids: the last one wins where that is allowed."""
    operation.buffer.check_rest()
    rows = operation.buffer.table()
    ids = rows.column("id").combine_chunks()
    if operation.fresh_ids or strictly_increasing(ids):
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


def _write_files(
    tables: TableStore, state: StagedTable, operation: WriteRows, checker: ConstraintChecker | None
) -> StagedTable:
    """Rows that are in data files already: append them, then delete what they replace."""
    type_, buffer = state.type, operation.buffer
    repeated, replaced = _no_ids(), NO_ADDRESSES
    if not operation.fresh_ids:
        repeated = _repeated_ids(type_, operation, checker)
        if state.rows:
            replaced = _replaced_rows(tables, state, operation, checker)
    # With a checker, it is for the checker to find whose edges became fewer.
    touched = _sources(tables, state, replaced) if checker is None else _no_ids()
    version = tables.next(state.version, files=buffer.files, deleted=replaced)
    count = state.rows - len(replaced) + buffer.rows
    if len(repeated):
        if checker is not None:
            earlier = checker.earlier(KeyColumn(type_, version, since=state.version))
        else:
            earlier = _earlier_occurrences(tables, version, repeated)
        version = tables.next(version, deleted=earlier)
        count -= len(earlier)
    return _after(state, version, count, operation, touched)


def _replaced_rows(
    tables: TableStore, state: StagedTable, operation: WriteRows, checker: ConstraintChecker | None
) -> Addresses:
    """Addresses of stored rows that have an id of the data files; an insert refuses them."""
    buffer, replaced = operation.buffer, NO_ADDRESSES
    if checker is not None:
        stored = KeyColumn(state.type, state.version)
        written = KeyColumn(state.type, buffer.version())
        if operation.mode == "upsert":
            return checker.common(stored, written)
        first = checker.least_common(stored, written)
        if first is not None:
            raise KeyConflict(state.type.kind, state.type.name, first)
        return replaced
    for chunk in buffer.scan(["id"]):
        existing = tables.locate(state.version, chunk.column("id").combine_chunks())
        _refuse_existing(state.type, existing.ids, operation)
        replaced = distinct(replaced, existing.addresses)
    return replaced


def _refuse_existing(type_: GraphType, ids: pa.StringArray, operation: WriteRows) -> None:
    if operation.mode == "insert" and len(ids):
        raise KeyConflict(type_.kind, type_.name, pc.min(ids).as_py())


def _repeated_ids(
    type_: GraphType, operation: WriteRows, checker: ConstraintChecker | None
) -> pa.StringArray:
    """Ids that stand twice in data files, where that is allowed; of a checker only the first."""
    buffer = operation.buffer
    if checker is not None:
        first = checker.first_repeated(KeyColumn(type_, buffer.version()))
        repeated = _no_ids() if first is None else pa.array([first], pa.string())
    else:
        repeated = duplicate_ids(lambda: buffer.scan(["id"]), buffer.rows)
    if len(repeated):
        chunks = buffer.scan(table_schema(type_).names)
        rows = pa.concat_tables(c.filter(pc.equal(c.column("id"), repeated[0])) for c in chunks)
        _refuse_duplicates(type_, rows, repeated[0].as_py(), operation)
    return repeated


def _earlier_occurrences(
    tables: TableStore, version: TableVersion, repeated: pa.StringArray
) -> Addresses:
    """Addresses of all but the last row of each repeated id."""
    rows = tables.read(version, columns=["id"], addresses=True)
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
        version=tables.next(state.version, deleted=addresses),
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
        if not operation.fresh_ids:
            _repeated_ids(state.type, operation, checker)
        files = buffer.files
    else:
        rows = _distinct_rows(state.type, operation)
        files = tables.write(state.version, rows) if rows.num_rows else NO_FILES
    touched = _sources(tables, state) if checker is None else _no_ids()
    version = tables.replace(state.version, schema, files)
    return replace(
        nothing_staged(state.type, state.base),
        version=version,
        rows=buffer.rows,
        written=(operation,),
        touched=touched,
        replaced=True,
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


def _sources(
    tables: TableStore, state: StagedTable, addresses: Addresses | None = None
) -> pa.StringArray:
    """Sources of the edge rows to be deleted, or of all, where a cardinality counts them."""
    type_, rows = state.type, state.rows if addresses is None else len(addresses)
    if not rows or not isinstance(type_, EdgeType) or type_.cardinality.is_free:
        return _no_ids()
    if addresses is None:
        return tables.read(state.version, columns=["src"]).column("src").unique()
    return tables.take(state.version, addresses, ["src"]).column("src").unique()


def _no_ids() -> pa.StringArray:
    return pa.array([], pa.string())
