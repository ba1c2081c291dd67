"""From the operations of a transaction on a plain table to the table's next version.

Each function takes a state and returns the next one; nothing here is visible to anyone until it is
published. Only appends can be done again on a table that moved: everything else was decided on rows
that may have changed, and makes the state strict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.common.arrow_arrays import chunks
from omnigraph.errors import InvalidInput
from omnigraph.storage.core.failpoints import AFTER_TABLE, failpoint
from omnigraph.storage.core.model import TablePointer, pointer_to
from omnigraph.storage.core.row_addresses import NO_ADDRESSES, Addresses, distinct
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.plain.declared_checks import check_required
from omnigraph.storage.plain.plain_table import NOTHING_DECLARED, TableDeclaration
from omnigraph.storage.tables.data_files import NO_FILES
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.write_buffer import RowBuffer


@dataclass(frozen=True, slots=True)
class PlainStaged:
    """A plain table as a transaction has it so far."""

    base: TablePointer | None
    """Where the branch has the table; none when the transaction made the name."""
    version: TableVersion | None
    """The staged version; none when the table is dropped."""
    rows: int
    identity: int
    declaration: TableDeclaration = NOTHING_DECLARED
    written: tuple[RowBuffer, ...] = ()
    """Rows that were added, in order."""
    strict: bool = False
    unchecked: bool = False
    """Whether all rows have to be checked, not only those that were written."""
    redeclared: bool = False

    @property
    def changed(self) -> bool:
        """Whether the pointer moves."""
        return self.version != (self.base.address if self.base else None)

    @property
    def pointer(self) -> TablePointer | None:
        if self.version is None:
            return None
        return pointer_to(self.version, self.rows, self.identity)

    @property
    def address(self) -> TableVersion:
        """The version of a table that is there."""
        assert self.version is not None
        return self.version


def unchanged(pointer: TablePointer, declaration: TableDeclaration) -> PlainStaged:
    """The table as the branch has it."""
    return PlainStaged(pointer, pointer.address, pointer.rows, pointer.identity, declaration)


def exchange(
    tables: TableStore, state: PlainStaged, deleted: Addresses, buffer: RowBuffer
) -> PlainStaged:
    """Rows deleted at addresses of the state's version and others added, in one new version."""
    deleted = distinct(deleted)
    buffer.finish()
    added = buffer.rows
    if not added and not len(deleted):
        return state
    if not added:
        version = tables.next(state.address, deleted=deleted)
    elif buffer.spilled:
        version = tables.next(state.address, files=buffer.files, deleted=deleted)
    else:
        rows = buffer.table()
        check_required(rows.schema, rows)
        version = tables.next(state.address, rows=rows, deleted=deleted)
    failpoint(AFTER_TABLE)
    return replace(
        state,
        version=version,
        rows=state.rows - len(deleted) + added,
        written=(*state.written, buffer) if added else state.written,
        strict=state.strict or bool(len(deleted)),
    )


def reshape(
    tables: TableStore, state: PlainStaged, schema: pa.Schema, sources: Mapping[str, str | None]
) -> PlainStaged:
    """The same rows in other columns: each from the column `sources` names, or null."""
    version = state.address
    wanted = [name for name in sources.values() if name is not None]
    target = tables.replace(version, schema)
    if state.rows:
        batches = tables.scan(version, columns=wanted or tables.schema(version).names)
        files = NO_FILES
        for rows in chunks(_reshaped(batches, schema, sources)):
            files += tables.write(target, rows)
        target = tables.replace(target, schema, files)
    failpoint(AFTER_TABLE)
    return replace(state, version=target, written=(), strict=True, unchecked=True)


def _reshaped(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, sources: Mapping[str, str | None]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = []
        for target in schema:
            source = sources.get(target.name)
            if source is None:
                columns.append(pa.nulls(batch.num_rows, target.type))
                continue
            column = batch.column(source)
            try:
                columns.append(column if column.type == target.type else column.cast(target.type))
            except pa.ArrowException as error:
                raise InvalidInput(
                    f"the values of {source!r} do not fit {target.type}: {error}",
                    hint="Change the values first, or choose another type.",
                ) from error
        made = pa.RecordBatch.from_arrays(columns, schema=schema)
        check_required(schema, pa.Table.from_batches([made]))
        yield made


def dropped(state: PlainStaged) -> PlainStaged:
    """The table dropped."""
    return replace(
        state,
        version=None,
        rows=0,
        declaration=NOTHING_DECLARED,
        written=(),
        strict=True,
        redeclared=True,
    )


def rebased(tables: TableStore, state: PlainStaged, pointer: TablePointer) -> PlainStaged:
    """The same appends on another version of the table."""
    after = unchanged(pointer, state.declaration)
    for buffer in state.written:
        after = exchange(tables, after, NO_ADDRESSES, buffer)
    return after
