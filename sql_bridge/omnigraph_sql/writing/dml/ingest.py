"""Rows given as Arrow, straight into a table or a type: how clients load in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph.tables import conformed
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.writing.ddl.sql_schemas import require_schema
from omnigraph_sql.writing.statement.column_mapping import columns_of, picked
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import (
    TargetName,
    WriteTarget,
    find_target,
    place_for,
)

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

IngestMode = Literal["create", "append", "replace", "create_append"]
MODES: tuple[IngestMode, ...] = ("create", "append", "replace", "create_append")


def ingest(
    connection: Connection,
    table: str,
    rows: pa.RecordBatchReader | pa.Table,
    mode: IngestMode,
    *,
    schema: str | None,
    catalog: str | None,
    temporary: bool,
) -> int:
    """Load rows as one publish; how many. Memory stays bounded, whatever their number."""
    if mode not in MODES:
        raise InvalidInput(f"there is no mode {mode!r}", hint=f"Use {', '.join(MODES)}.")
    reader = rows.to_reader() if isinstance(rows, pa.Table) else rows
    named = TargetName(
        catalog or connection.catalog,
        IdentifierPart(schema, True) if schema else None,
        IdentifierPart(table, True),
    )

    def work(this: WriteStatement) -> int:
        if temporary:
            connection.remember_temporary(this.catalog, f"{schema or connection.schema}.{table}")
        return _load(this, named, reader, mode)

    # A stream can be read once: a statement whose branch moved under it is not run again.
    return run_write(connection, named.catalog, f"ingest {table} ({mode})", None, work, attempts=1)


def _load(
    work: WriteStatement, named: TargetName, reader: pa.RecordBatchReader, mode: IngestMode
) -> int:
    target = find_target(work.connection, work.snapshot, named)
    if target.is_type:
        return _load_type(work, target, reader, mode)
    if named.schema is not None and named.schema.text in (NODES, EDGES):
        raise NotFound(
            f"there is no type {named.name.text}",
            hint="Make it with CREATE NODE TABLE or CREATE EDGE TABLE.",
        )
    return _load_table(work, place_for(work.connection, work.snapshot, named), reader, mode)


def _load_type(
    work: WriteStatement, target: WriteTarget, reader: pa.RecordBatchReader, mode: IngestMode
) -> int:
    if mode == "create":
        raise AlreadyExists(
            f"there is a {target.kind} type {target.name} already",
            hint="Use the mode append or replace.",
        )
    names = picked(
        (IdentifierPart(n) for n in reader.schema.names), columns_of(work, target), target.full
    )
    if mode == "replace":
        work.txn.clear(target.type_name)
    sink, count = sink_for(work, target), 0
    for batch in reader:
        if batch.num_rows:
            sink.insert(pa.Table.from_batches([batch]).rename_columns(names))
            count += batch.num_rows
    return count


def _load_table(
    work: WriteStatement, target: WriteTarget, reader: pa.RecordBatchReader, mode: IngestMode
) -> int:
    require_schema(work, target.schema)
    plain = work.txn.plain
    there = target.kind != "absent"
    if there and (mode == "create" or target.kind != "table"):
        raise AlreadyExists(
            f"there is a {target.kind} {target.full} already", hint="Use another mode or name."
        )
    if not there and mode == "append":
        raise NotFound(f"there is no table {target.full}", hint="Use the mode create_append.")
    if not there or mode == "replace":
        declared = pa.schema([pa.field(f.name, f.type, f.nullable) for f in reader.schema])
        plain.create(target.full, declared, replace=there)
    schema = plain.schema(target.full)
    names = picked((IdentifierPart(n) for n in reader.schema.names), schema, target.full)
    count = 0
    for batch in reader:
        if batch.num_rows:
            rows = pa.Table.from_batches([batch]).rename_columns(names)
            plain.append(target.full, conformed(rows, schema))
            count += batch.num_rows
    return count
