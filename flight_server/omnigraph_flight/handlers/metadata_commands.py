"""Metadata commands: catalogs, schemas, tables, keys, types and the server itself, as Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import omnigraph_sql
from omnigraph_flight.handlers.service import Request
from omnigraph_flight.protocol import sql_info, xdbc_type_info
from omnigraph_flight.protocol.arrow_fields import flat_schema
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, optional
from omnigraph_sql import client_metadata as metadata

TABLE_TYPES = ("SYSTEM TABLE", "TABLE", "VIEW")


_SCHEMAS = {
    "CommandGetCatalogs": metadata.CATALOGS,
    "CommandGetDbSchemas": metadata.SCHEMAS,
    "CommandGetTables": metadata.TABLES,
    "CommandGetTableTypes": flat_schema("table_type: utf8!"),
    "CommandGetPrimaryKeys": metadata.PRIMARY_KEYS,
    "CommandGetExportedKeys": metadata.FOREIGN_KEYS,
    "CommandGetImportedKeys": metadata.FOREIGN_KEYS,
    "CommandGetCrossReference": metadata.FOREIGN_KEYS,
    "CommandGetSqlInfo": sql_info.SCHEMA,
    "CommandGetXdbcTypeInfo": xdbc_type_info.SCHEMA,
}


def is_metadata(command: FlightSqlCommand) -> bool:
    return command.name in _SCHEMAS


def schema_of(command: FlightSqlCommand) -> pa.Schema:
    """The schema of a command's answer."""
    if command.name == "CommandGetTables" and command.body.include_schema:
        return metadata.TABLES_WITH_SCHEMA
    return _SCHEMAS[command.name]


def answer(request: Request, command: FlightSqlCommand) -> pa.Table:
    """The answer to a command: the same for every graph, or about one."""
    if (fixed := _FIXED.get(command.name)) is not None:
        return fixed(command.body)
    with request.reading() as lease:
        return _ABOUT_GRAPH[command.name](lease.connection, command.body)


def _schemas(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    return metadata.schemas(
        connection,
        catalog=optional(body, "catalog"),
        pattern=optional(body, "db_schema_filter_pattern"),
    )


def _tables(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    return metadata.tables(
        connection,
        catalog=optional(body, "catalog"),
        schema_pattern=optional(body, "db_schema_filter_pattern"),
        table_pattern=optional(body, "table_name_filter_pattern"),
        types=list(body.table_types) or None,
        with_schema=body.include_schema,
    )


def _table(body: Any, prefix: str = "") -> dict[str, Any]:  # noqa: ANN401
    """The table that a command names."""
    return {
        "catalog": optional(body, f"{prefix}catalog"),
        "schema": optional(body, f"{prefix}db_schema"),
        "table": getattr(body, f"{prefix}table"),
    }


def _cross_reference(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    keys = metadata.imported_keys(connection, **_table(body, "fk_"))
    referenced = _table(body, "pk_")
    parts = {"table": "pk_table_name", "schema": "pk_db_schema_name", "catalog": "pk_catalog_name"}
    for part, column in parts.items():
        if referenced[part] is not None:
            keys = keys.filter(pa.compute.equal(keys[column], referenced[part]))
    return keys


_FIXED: dict[str, Callable[[Any], pa.Table]] = {
    "CommandGetSqlInfo": lambda body: sql_info.sql_info(tuple(body.info)),
    "CommandGetTableTypes": lambda _: pa.table(
        [pa.array(TABLE_TYPES)], schema=_SCHEMAS["CommandGetTableTypes"]
    ),
    "CommandGetXdbcTypeInfo": lambda body: xdbc_type_info.type_info(optional(body, "data_type")),
}
_ABOUT_GRAPH: dict[str, Callable[[omnigraph_sql.Connection, Any], pa.Table]] = {
    "CommandGetCatalogs": lambda connection, _: metadata.catalogs(connection),
    "CommandGetDbSchemas": _schemas,
    "CommandGetTables": _tables,
    "CommandGetPrimaryKeys": lambda c, body: metadata.primary_keys(c, **_table(body)),
    "CommandGetImportedKeys": lambda c, body: metadata.imported_keys(c, **_table(body)),
    "CommandGetExportedKeys": lambda c, body: metadata.exported_keys(c, **_table(body)),
    "CommandGetCrossReference": _cross_reference,
}
