"""Rows given as Arrow, straight into a table or a type: how clients load in bulk."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph_sql.catalog.access_guard import Action
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.catalog.find_relation import QualifiedName
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.writing.statement.column_mapping import pick_columns
from omnigraph_sql.writing.statement.row_sinks import insert_all, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import WriteTarget, find_target, new_target

IngestMode = Literal["create", "append", "replace", "create_append"]
MODES: tuple[IngestMode, ...] = ("create", "append", "replace", "create_append")


def ingest(
    session: SessionContext,
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
    named = QualifiedName(catalog or session.catalog, schema or None, table)

    def load(work: WriteStatement) -> int:
        if temporary:
            session.remember_temporary(work.catalog, f"{schema or session.schema}.{table}")
        target = _prepared_target(work, named, reader.schema, mode)
        sink = sink_for(work, target)
        names = pick_columns(reader.schema.names, sink.schema, target.full)
        if target.is_type and mode == "replace":
            work.txn.clear(target.type_name)
        return insert_all(sink, reader, names)

    # A stream can be read once: a statement whose branch moved under it is not run again.
    return run_write(
        session, named.catalog, f"ingest {table} ({mode})", None, load, repeatable=False
    )


def _prepared_target(
    work: WriteStatement, named: QualifiedName, columns: pa.Schema, mode: IngestMode
) -> WriteTarget:
    """Where the rows go; a plain table is created if the mode says so."""
    action: Action = "write" if mode == "append" else "define"
    target = find_target(work.session, work.snapshot, named, action)
    if target.is_type:
        if mode == "create":
            raise AlreadyExists(
                f"there is a {target.kind} type {target.name} already",
                hint="Use the mode append or replace.",
            )
        return target
    if named.schema in (NODES, EDGES):
        raise NotFound(
            f"there is no type {named.name}",
            hint="Make it with CREATE NODE TABLE or CREATE EDGE TABLE.",
        )
    target = new_target(work, named, action)
    exists = target.kind != "absent"
    if exists and (mode == "create" or target.kind != "table"):
        raise AlreadyExists(
            f"there is a {target.kind} {target.full} already", hint="Use another mode or name."
        )
    if not exists and mode == "append":
        raise NotFound(f"there is no table {target.full}", hint="Use the mode create_append.")
    if not exists or mode == "replace":
        declared = pa.schema([pa.field(f.name, f.type, f.nullable) for f in columns])
        work.txn.plain.create(target.full, declared, replace=exists)
    return target
