"""What clients ask about a server's catalogs, as Arrow tables in the layout of Flight SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omnigraph import Snapshot
from omnigraph_sql.catalog.catalog_tables import CatalogTable, ForeignKey, catalog_tables
from omnigraph_sql.catalog.information_schema import schema_names
from omnigraph_sql.frontend.sql_types import sql_name

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

TABLE_TYPES = ("TABLE", "VIEW")

_CATALOGS = pa.schema([pa.field("catalog_name", pa.string(), nullable=False)])
_SCHEMAS = pa.schema(
    [pa.field("catalog_name", pa.string()), pa.field("db_schema_name", pa.string(), nullable=False)]
)
_TABLES = pa.schema(
    [
        pa.field("catalog_name", pa.string()),
        pa.field("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), nullable=False),
        pa.field("table_type", pa.string(), nullable=False),
    ]
)
_WITH_SCHEMA = _TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
_PRIMARY_KEYS = pa.schema(
    [
        pa.field("catalog_name", pa.string()),
        pa.field("db_schema_name", pa.string()),
        pa.field("table_name", pa.string(), nullable=False),
        pa.field("column_name", pa.string(), nullable=False),
        pa.field("key_sequence", pa.int32(), nullable=False),
        pa.field("key_name", pa.string()),
    ]
)
_FOREIGN_KEYS = pa.schema(
    [
        pa.field("pk_catalog_name", pa.string()),
        pa.field("pk_db_schema_name", pa.string()),
        pa.field("pk_table_name", pa.string(), nullable=False),
        pa.field("pk_column_name", pa.string(), nullable=False),
        pa.field("fk_catalog_name", pa.string()),
        pa.field("fk_db_schema_name", pa.string()),
        pa.field("fk_table_name", pa.string(), nullable=False),
        pa.field("fk_column_name", pa.string(), nullable=False),
        pa.field("key_sequence", pa.int32(), nullable=False),
        pa.field("fk_key_name", pa.string()),
        pa.field("pk_key_name", pa.string()),
        pa.field("update_rule", pa.uint8(), nullable=False),
        pa.field("delete_rule", pa.uint8(), nullable=False),
    ]
)
_NO_ACTION, _CASCADE = 3, 0


def catalogs(connection: Connection) -> pa.Table:
    """The branches."""
    return _table(({"catalog_name": name} for name in _catalog_names(connection)), _CATALOGS)


def schemas(
    connection: Connection, catalog: str | None = None, pattern: str | None = None
) -> pa.Table:
    """The schemas whose names match a pattern of LIKE."""
    matches = _like(pattern)
    rows = (
        {"catalog_name": name, "db_schema_name": schema}
        for name, snapshot in _snapshots(connection, catalog)
        for schema in schema_names(snapshot)
        if matches(schema)
    )
    return _table(rows, _SCHEMAS)


def tables(
    connection: Connection,
    catalog: str | None = None,
    schema_pattern: str | None = None,
    table_pattern: str | None = None,
    types: Sequence[str] | None = None,
    with_schema: bool = False,
) -> pa.Table:
    """The tables and views; `with_schema` adds each one's columns as a serialized Arrow schema.

    Node and edge types are tables to every client; what they are is in the schema's metadata.
    """
    wanted = {name.upper().replace("BASE TABLE", "TABLE") for name in types or TABLE_TYPES}
    rows = (
        {
            "catalog_name": name,
            "db_schema_name": table.schema,
            "table_name": table.name,
            "table_type": _type(table),
        }
        | ({"table_schema": _described(name, table)} if with_schema else {})
        for name, table in _found(connection, catalog, schema_pattern, table_pattern)
        if _type(table) in wanted
    )
    return _table(rows, _WITH_SCHEMA if with_schema else _TABLES)


def primary_keys(
    connection: Connection,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The columns of the primary keys of a table, or of all."""
    rows = (
        {
            "catalog_name": name,
            "db_schema_name": found.schema,
            "table_name": found.name,
            "column_name": column,
            "key_sequence": number,
            "key_name": f"{found.name}_pkey",
        }
        for name, found in _exactly(connection, catalog, schema, table)
        for number, column in enumerate(found.primary_key, 1)
    )
    return _table(rows, _PRIMARY_KEYS)


def imported_keys(
    connection: Connection,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The foreign keys of a table: the ends of an edge type."""
    rows = (
        row
        for name, found in _exactly(connection, catalog, schema, table)
        for key in found.foreign_keys
        for row in _key_rows(name, found, key)
    )
    return _table(rows, _FOREIGN_KEYS)


def exported_keys(
    connection: Connection,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The foreign keys of other tables that refer to a table."""
    rows = (
        row
        for name, found in _exactly(connection, catalog, None, None)
        for key in found.foreign_keys
        if table in (None, key.table) and schema in (None, key.schema)
        for row in _key_rows(name, found, key)
    )
    return _table(rows, _FOREIGN_KEYS)


# --------------------------------------------------------------------------- parts


def _table(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def _catalog_names(connection: Connection) -> list[str]:
    """The branches, and the moment a session stands on if it is none of them."""
    names = [branch.name for branch in connection.graph.branches()]
    return names if connection.catalog in names else [*names, connection.catalog]


def _snapshots(connection: Connection, catalog: str | None) -> Iterator[tuple[str, Snapshot]]:
    pins = connection.pins()
    if not catalog and catalog is not None:
        return  # asks for what is in no catalog, and everything is in one
    for name in _catalog_names(connection) if catalog is None else [catalog]:
        snapshot = pins.find(name)
        if snapshot is not None:
            yield name, snapshot


def _found(
    connection: Connection,
    catalog: str | None,
    schema_pattern: str | None,
    table_pattern: str | None,
) -> Iterator[tuple[str, CatalogTable]]:
    in_schema, named = _like(schema_pattern), _like(table_pattern)
    for name, snapshot in _snapshots(connection, catalog):
        for table in catalog_tables(snapshot):
            if in_schema(table.schema) and named(table.name):
                yield name, table


def _exactly(
    connection: Connection, catalog: str | None, schema: str | None, table: str | None
) -> Iterator[tuple[str, CatalogTable]]:
    for name, snapshot in _snapshots(connection, catalog or connection.catalog):
        for found in catalog_tables(snapshot):
            if schema in (None, found.schema) and table in (None, found.name):
                yield name, found


def _type(table: CatalogTable) -> str:
    return "VIEW" if table.kind == "view" else "TABLE"


def _described(catalog: str, table: CatalogTable) -> bytes:
    fields = [
        field.with_metadata(
            {
                "ARROW:FLIGHT:SQL:CATALOG_NAME": catalog,
                "ARROW:FLIGHT:SQL:SCHEMA_NAME": table.schema,
                "ARROW:FLIGHT:SQL:TABLE_NAME": table.name,
                "ARROW:FLIGHT:SQL:TYPE_NAME": sql_name(field.type),
                "ARROW:FLIGHT:SQL:REMARKS": table.column_comments.get(field.name, ""),
                "ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT": "0",
                "ARROW:FLIGHT:SQL:IS_CASE_SENSITIVE": "1" if _is_text(field.type) else "0",
                "ARROW:FLIGHT:SQL:IS_READ_ONLY": "1" if table.kind == "view" else "0",
                "ARROW:FLIGHT:SQL:IS_SEARCHABLE": "1",
                **_digits(field.type),
            }
        )
        for field in table.columns
    ]
    about = {"omnigraph:kind": table.kind, "omnigraph:comment": table.comment or ""}
    serialized: bytes = pa.schema(fields, about).serialize().to_pybytes()
    return serialized


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _digits(type_: pa.DataType) -> dict[str, str]:
    """How many digits an exact number has, and how many of them behind the point."""
    if pa.types.is_decimal(type_):
        precision, scale = type_.precision, type_.scale
    elif pa.types.is_integer(type_):
        # The digits of the largest, by the bits that are not for the sign.
        bits = type_.bit_width - pa.types.is_signed_integer(type_)
        precision, scale = len(str(2**bits - 1)), 0
    else:
        return {}
    return {"ARROW:FLIGHT:SQL:PRECISION": str(precision), "ARROW:FLIGHT:SQL:SCALE": str(scale)}


def _key_rows(catalog: str, table: CatalogTable, key: ForeignKey) -> Iterator[dict[str, Any]]:
    for number, (column, referenced) in enumerate(zip(key.columns, key.referenced, strict=True), 1):
        yield {
            "pk_catalog_name": catalog,
            "pk_db_schema_name": key.schema,
            "pk_table_name": key.table,
            "pk_column_name": referenced,
            "fk_catalog_name": catalog,
            "fk_db_schema_name": table.schema,
            "fk_table_name": table.name,
            "fk_column_name": column,
            "key_sequence": number,
            "fk_key_name": key.name,
            "pk_key_name": f"{key.table}_pkey",
            "update_rule": _NO_ACTION,
            "delete_rule": _CASCADE,
        }


def _like(pattern: str | None) -> Any:  # noqa: ANN401
    """A test for names: `%` is any text, `_` any character, unless a backslash stands before.

    No pattern takes all.
    """
    if pattern is None:
        return lambda name: True
    signs = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    written = "".join({"%": ".*", "_": "."}.get(sign, re.escape(sign[-1])) for sign in signs)
    found = re.compile(f"{written}\\Z", re.DOTALL)
    return lambda name: found.match(name) is not None
