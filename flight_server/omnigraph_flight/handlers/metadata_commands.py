"""Metadata commands: catalogs, schemas, tables, keys, types and the server itself, as Arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import omnigraph_sql
from omnigraph_flight.protocol import sql_info, xdbc_type_info
from omnigraph_flight.protocol.decode_command import FlightSqlCommand, optional
from omnigraph_sql import client_metadata as metadata

TABLE_TYPES = ("SYSTEM TABLE", "TABLE", "VIEW")


def _schema(fields: str) -> pa.Schema:
    """`name: type` separated by commas; a `!` after the type says that it has no nulls."""
    types = {"utf8": pa.string(), "int32": pa.int32(), "uint8": pa.uint8(), "bytes": pa.binary()}
    parts = [part.strip().split(": ") for part in fields.split(",")]
    return pa.schema(
        pa.field(name, types[type_.rstrip("!")], nullable=not type_.endswith("!"))
        for name, type_ in parts
    )


_TABLES = "catalog_name: utf8, db_schema_name: utf8, table_name: utf8!, table_type: utf8!"
_KEYS = _schema(
    "pk_catalog_name: utf8, pk_db_schema_name: utf8, pk_table_name: utf8!, pk_column_name: utf8!, "
    "fk_catalog_name: utf8, fk_db_schema_name: utf8, fk_table_name: utf8!, fk_column_name: utf8!, "
    "key_sequence: int32!, fk_key_name: utf8, pk_key_name: utf8, update_rule: uint8!, "
    "delete_rule: uint8!"
)
_SCHEMAS = {
    "CommandGetCatalogs": _schema("catalog_name: utf8!"),
    "CommandGetDbSchemas": _schema("catalog_name: utf8, db_schema_name: utf8!"),
    "CommandGetTables": _schema(_TABLES),
    "CommandGetTableTypes": _schema("table_type: utf8!"),
    "CommandGetPrimaryKeys": _schema(
        "catalog_name: utf8, db_schema_name: utf8, table_name: utf8!, column_name: utf8!, "
        "key_name: utf8, key_sequence: int32!"
    ),
    "CommandGetExportedKeys": _KEYS,
    "CommandGetImportedKeys": _KEYS,
    "CommandGetCrossReference": _KEYS,
    "CommandGetSqlInfo": sql_info.SCHEMA,
    "CommandGetXdbcTypeInfo": xdbc_type_info.SCHEMA,
}
_TABLES_WITH_SCHEMA = _schema(f"{_TABLES}, table_schema: bytes!")


def is_metadata(command: FlightSqlCommand) -> bool:
    return command.name in _SCHEMAS


def needs_connection(command: FlightSqlCommand) -> bool:
    """Whether the answer depends on a graph."""
    return command.name not in _FIXED


def schema_of(command: FlightSqlCommand) -> pa.Schema:
    """The schema of a command's answer."""
    if command.name == "CommandGetTables" and command.body.include_schema:
        return _TABLES_WITH_SCHEMA
    return _SCHEMAS[command.name]


def fixed_answer(command: FlightSqlCommand) -> pa.Table:
    """The answer to a command that is the same for every graph."""
    return _FIXED[command.name](command.body)


def answer(command: FlightSqlCommand, connection: omnigraph_sql.Connection) -> pa.Table:
    """The answer to a command about a graph."""
    found = _ANSWERS[command.name](connection, command.body)
    wanted = schema_of(command)
    return found.select(wanted.names).cast(wanted)


# --------------------------------------------------------------------------- one by one


def _catalogs(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401, ARG001
    return metadata.catalogs(connection)


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


@dataclass(frozen=True, slots=True)
class _Table:
    catalog: str | None
    schema: str | None
    table: str

    @classmethod
    def of(cls, body: Any, prefix: str = "") -> _Table:  # noqa: ANN401
        return cls(
            optional(body, f"{prefix}catalog"),
            optional(body, f"{prefix}db_schema"),
            getattr(body, f"{prefix}table"),
        )


def _primary_keys(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    wanted = _Table.of(body)
    return metadata.primary_keys(
        connection, catalog=wanted.catalog, schema=wanted.schema, table=wanted.table
    )


def _imported_keys(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    wanted = _Table.of(body)
    return metadata.imported_keys(
        connection, catalog=wanted.catalog, schema=wanted.schema, table=wanted.table
    )


def _exported_keys(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    wanted = _Table.of(body)
    return metadata.exported_keys(
        connection, catalog=wanted.catalog, schema=wanted.schema, table=wanted.table
    )


def _cross_reference(connection: omnigraph_sql.Connection, body: Any) -> pa.Table:  # noqa: ANN401
    referring, referred = _Table.of(body, "fk_"), _Table.of(body, "pk_")
    found = metadata.imported_keys(
        connection, catalog=referring.catalog, schema=referring.schema, table=referring.table
    )
    wanted = [("pk_table_name", referred.table)]
    if referred.schema is not None:
        wanted.append(("pk_db_schema_name", referred.schema))
    if referred.catalog is not None:
        wanted.append(("pk_catalog_name", referred.catalog))
    for column, value in wanted:
        found = found.filter(pa.compute.equal(found[column], value))
    return found


def _table_types(body: Any) -> pa.Table:  # noqa: ANN401, ARG001
    return pa.table([pa.array(TABLE_TYPES)], schema=_SCHEMAS["CommandGetTableTypes"])


def _sql_info(body: Any) -> pa.Table:  # noqa: ANN401
    return sql_info.sql_info(tuple(body.info))


def _type_info(body: Any) -> pa.Table:  # noqa: ANN401
    return xdbc_type_info.type_info(optional(body, "data_type"))


_FIXED: dict[str, Callable[[Any], pa.Table]] = {
    "CommandGetSqlInfo": _sql_info,
    "CommandGetTableTypes": _table_types,
    "CommandGetXdbcTypeInfo": _type_info,
}
_ANSWERS: dict[str, Callable[[omnigraph_sql.Connection, Any], pa.Table]] = {
    "CommandGetCatalogs": _catalogs,
    "CommandGetDbSchemas": _schemas,
    "CommandGetTables": _tables,
    "CommandGetPrimaryKeys": _primary_keys,
    "CommandGetImportedKeys": _imported_keys,
    "CommandGetExportedKeys": _exported_keys,
    "CommandGetCrossReference": _cross_reference,
}
