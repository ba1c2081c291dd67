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


_TABLES = "catalog_name: utf8, db_schema_name: utf8, table_name: utf8!, table_type: utf8!"
_KEYS = flat_schema(
    "pk_catalog_name: utf8, pk_db_schema_name: utf8, pk_table_name: utf8!, pk_column_name: utf8!, "
    "fk_catalog_name: utf8, fk_db_schema_name: utf8, fk_table_name: utf8!, fk_column_name: utf8!, "
    "key_sequence: int32!, fk_key_name: utf8, pk_key_name: utf8, update_rule: uint8!, "
    "delete_rule: uint8!"
)
_SCHEMAS = {
    "CommandGetCatalogs": flat_schema("catalog_name: utf8!"),
    "CommandGetDbSchemas": flat_schema("catalog_name: utf8, db_schema_name: utf8!"),
    "CommandGetTables": flat_schema(_TABLES),
    "CommandGetTableTypes": flat_schema("table_type: utf8!"),
    "CommandGetPrimaryKeys": flat_schema(
        "catalog_name: utf8, db_schema_name: utf8, table_name: utf8!, column_name: utf8!, "
        "key_name: utf8, key_sequence: int32!"
    ),
    "CommandGetExportedKeys": _KEYS,
    "CommandGetImportedKeys": _KEYS,
    "CommandGetCrossReference": _KEYS,
    "CommandGetSqlInfo": sql_info.SCHEMA,
    "CommandGetXdbcTypeInfo": xdbc_type_info.SCHEMA,
}
_TABLES_WITH_SCHEMA = flat_schema(f"{_TABLES}, table_schema: bytes!")


def is_metadata(command: FlightSqlCommand) -> bool:
    return command.name in _SCHEMAS


def schema_of(command: FlightSqlCommand) -> pa.Schema:
    """The schema of a command's answer."""
    if command.name == "CommandGetTables" and command.body.include_schema:
        return _TABLES_WITH_SCHEMA
    return _SCHEMAS[command.name]


def answer(request: Request, command: FlightSqlCommand) -> pa.Table:
    """The answer to a command: the same for every graph, or about one."""
    if (fixed := _FIXED.get(command.name)) is not None:
        return fixed(command.body)
    with request.reading() as lease:
        rows = _ABOUT_GRAPH[command.name](lease.connection, command.body)
    schema = schema_of(command)
    return rows.select(schema.names).cast(schema)


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
    for column, part in (
        ("pk_table_name", "table"),
        ("pk_db_schema_name", "schema"),
        ("pk_catalog_name", "catalog"),
    ):
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
