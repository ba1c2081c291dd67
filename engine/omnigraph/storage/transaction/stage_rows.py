"""From what a transaction wants done to a table, to the table's next version.

Operations are applied in order, each on the version that the one before left. Nothing here is
visible to anyone: a staged version becomes real only when it is published.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses, distinct
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.data_files import NO_FILES
from omnigraph.storage.tables.indexes import ready_for_probes
from omnigraph.storage.tables.key_lookup import NOTHING_FOUND
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.transaction.operations import DeleteRows, Operation, OverwriteRows, WriteRows


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table's next version, and what validation needs to know about the way to it."""

    type: GraphType
    base: TablePointer
    version: TableVersion
    rows: int
    written: tuple[WriteRows | OverwriteRows, ...]
    removed: pa.StringArray
    """Ids that operations took out; some may have been put back."""
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
    operations: Iterable[Operation],
    survey: ConstraintChecker | None = None,
) -> StagedTable:
    """Apply operations, one after the other; a survey looks rows up that are in data files."""
    for operation in operations:
        before = state.version
        if isinstance(operation, WriteRows):
            state = _write(tables, state, operation, survey)
        elif isinstance(operation, DeleteRows):
            state = remove(tables, state, operation.ids)
        else:
            state = _replace(tables, state, operation, survey)
        if state.version != before:
            failpoint(AFTER_TABLE)
    return state


def _write(
    tables: TableStore, state: StagedTable, operation: WriteRows, survey: ConstraintChecker | None
) -> StagedTable:
    operation.buffer.finish()
    if not operation.buffer.rows:
        return state
    if operation.buffer.spilled:
        if survey is not None:
            return _write_surveyed(tables, state, operation, survey)
        return _write_many(tables, state, operation)
    operation.buffer.check_rest()
    rows = operation.buffer.table()
    if not operation.fresh_ids:
        rows = _settle_duplicates(state.type, rows, operation)
    ids = rows.column("id").combine_chunks()
    base, found = state.version, NOTHING_FOUND
    if not operation.fresh_ids:
        if len(ids) <= PROBE_LIMIT:
            base = ready_for_probes(tables, base, state.type)
        found = tables.locate(base, ids)
    if operation.mode == "insert" and len(found.ids):
        raise KeyConflict(state.type.kind, state.type.name, pc.min(found.ids).as_py())
    touched = _sources(tables, state, found.addresses)
    version = tables.next(base, rows=rows, deleted=found.addresses)
    count = state.rows - len(found.ids) + rows.num_rows
    return _after(state, version, count, operation, touched)


def _settle_duplicates(
    type_: GraphType, rows: pa.Table, operation: WriteRows | OverwriteRows
) -> pa.Table:
    """Rows with distinct ids: the last one wins where that is allowed."""
    ids = rows.column("id").combine_chunks()
    if strictly_increasing(ids):
        return rows
    repeated = duplicate_ids(lambda: [rows.select(["id"])], rows.num_rows)
    if not len(repeated):
        return rows
    _refuse_duplicates(type_, rows, repeated[0].as_py(), operation)
    last = pa.table({"id": ids, "at": pa.array(range(len(ids)), pa.int64())})
    kept = last.group_by("id").aggregate([("at", "max")]).column("at_max")
    return rows.take(kept.take(pc.sort_indices(kept)))


def _refuse_duplicates(
    type_: GraphType, rows: pa.Table, repeated: str, operation: WriteRows | OverwriteRows
) -> None:
    if operation.one_file and isinstance(type_, NodeType) and type_.key is not None:
        holder = rows.filter(pc.equal(rows.column("id"), repeated)).slice(0, 1)
        values = [
            key_text(holder.column(m), type_.property(m).type)[0].as_py() for m in type_.key.members
        ]
        raise violations.unique(type_.name, type_.key.members, values, repeated, repeated)
    if isinstance(operation, OverwriteRows) or operation.mode == "insert":
        raise KeyConflict(type_.kind, type_.name, repeated)


def _write_many(tables: TableStore, state: StagedTable, operation: WriteRows) -> StagedTable:
    """Rows that are in data files already: append them, then take out what they replace."""
    buffer = operation.buffer
    repeated = pa.array([], pa.string())
    if not operation.fresh_ids:
        repeated = _repeated_in(state.type, operation)
    gone = NO_ADDRESSES
    if state.rows and not operation.fresh_ids:
        for chunk in buffer.scan(["id"]):
            found = tables.locate(state.version, chunk.column("id").combine_chunks())
            if operation.mode == "insert" and len(found.ids):
                raise KeyConflict(state.type.kind, state.type.name, pc.min(found.ids).as_py())
            gone = distinct(gone, found.addresses)
    touched = _sources(tables, state, gone)
    version = tables.next(state.version, files=buffer.files, deleted=gone)
    count = state.rows - len(gone) + buffer.rows
    if len(repeated):
        earlier = _earlier_occurrences(tables, version, repeated)
        version = tables.next(version, deleted=earlier)
        count -= len(earlier)
    return _after(state, version, count, operation, touched)


def _write_surveyed(
    tables: TableStore, state: StagedTable, operation: WriteRows, survey: ConstraintChecker
) -> StagedTable:
    """The same, when whoever has many machines looks for the ids."""
    type_, buffer, gone = state.type, operation.buffer, NO_ADDRESSES
    repeated = None
    if not operation.fresh_ids:
        repeated = _first_repeated(type_, operation, survey)
        written, held = KeyColumn(type_, buffer.version()), KeyColumn(type_, state.version)
        if state.rows and operation.mode == "insert":
            there = survey.least_common(held, written)
            if there is not None:
                raise KeyConflict(type_.kind, type_.name, there)
        elif state.rows:
            gone = survey.common(held, written)
    version = tables.next(state.version, files=buffer.files, deleted=gone)
    count = state.rows - len(gone) + buffer.rows
    if repeated is not None:
        earlier = survey.earlier(KeyColumn(type_, version, since=state.version))
        version = tables.next(version, deleted=earlier)
        count -= len(earlier)
    # Whose edges became fewer is for the survey to find, too.
    return _after(state, version, count, operation, pa.array([], pa.string()))


def _first_repeated(
    type_: GraphType, operation: WriteRows | OverwriteRows, survey: ConstraintChecker
) -> str | None:
    """An id that stands twice in data files, where that is allowed."""
    repeated = survey.first_repeated(KeyColumn(type_, operation.buffer.version()))
    if repeated is not None:
        _refuse_repeated(type_, operation, repeated)
    return repeated


def _repeated_in(type_: GraphType, operation: WriteRows | OverwriteRows) -> pa.StringArray:
    """Ids that stand twice in data files, where that is allowed."""
    buffer = operation.buffer
    repeated = duplicate_ids(lambda: buffer.scan(["id"]), buffer.rows)
    if len(repeated):
        _refuse_repeated(type_, operation, repeated[0].as_py())
    return repeated


def _refuse_repeated(type_: GraphType, operation: WriteRows | OverwriteRows, repeated: str) -> None:
    names = [f.name for f in table_schema(type_)]
    chunks = operation.buffer.scan(names)
    rows = pa.concat_tables(c.filter(pc.equal(c.column("id"), repeated)) for c in chunks)
    _refuse_duplicates(type_, rows, repeated, operation)


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


def remove(tables: TableStore, state: StagedTable, ids: pa.StringArray) -> StagedTable:
    """Take out entities by id."""
    found = tables.locate(state.version, ids.unique())
    return remove_rows(tables, state, found.ids, found.addresses)


def remove_rows(
    tables: TableStore, state: StagedTable, ids: pa.StringArray, addresses: Addresses
) -> StagedTable:
    """Take out rows whose addresses are known."""
    if not len(addresses):
        return state
    touched = _sources(tables, state, addresses)
    version = tables.next(state.version, deleted=addresses)
    return StagedTable(
        state.type,
        state.base,
        version,
        state.rows - len(addresses),
        state.written,
        pa.concat_arrays([state.removed, ids]),
        pa.concat_arrays([state.touched, touched]),
        state.replaced,
    )


def _replace(
    tables: TableStore,
    state: StagedTable,
    operation: OverwriteRows,
    survey: ConstraintChecker | None,
) -> StagedTable:
    buffer = operation.buffer
    buffer.finish()
    schema = table_schema(state.type)
    if buffer.spilled:
        if not operation.fresh_ids and survey is not None:
            _first_repeated(state.type, operation, survey)
        elif not operation.fresh_ids:
            _repeated_in(state.type, operation)
        files = buffer.files
    else:
        buffer.check_rest()
        rows = buffer.table()
        if not operation.fresh_ids:
            rows = _settle_duplicates(state.type, rows, operation)
        files = tables.write(state.version, rows) if rows.num_rows else NO_FILES
    none = pa.array([], pa.string())
    touched = _all_sources(tables, state) if survey is None else none
    version = tables.replace(state.version, schema, files)
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
    return StagedTable(
        state.type,
        state.base,
        version,
        rows,
        (*state.written, operation),
        state.removed,
        pa.concat_arrays([state.touched, touched]),
        state.replaced,
    )


def _counted(type_: GraphType) -> bool:
    return isinstance(type_, EdgeType) and not type_.cardinality.is_free


def _sources(tables: TableStore, state: StagedTable, addresses: Addresses) -> pa.StringArray:
    """Sources of edge rows about to go, where somebody counts them."""
    if not len(addresses) or not _counted(state.type):
        return pa.array([], pa.string())
    return tables.take(state.version, addresses, ["src"]).column("src").unique()


def _all_sources(tables: TableStore, state: StagedTable) -> pa.StringArray:
    if not _counted(state.type) or not state.rows:
        return pa.array([], pa.string())
    return tables.read(state.version, columns=["src"]).column("src").unique()
