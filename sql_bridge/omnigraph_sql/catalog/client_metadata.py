"""The metadata of catalogs for clients, as Arrow tables in the layout of Flight SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from omnigraph import Snapshot
from omnigraph_sql.catalog.catalog_tables import CatalogTable, ForeignKey, catalog_tables
from omnigraph_sql.catalog.information_schema import schema_names
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.datafusion.computed_table import table_of
from omnigraph_sql.frontend.sql_types import is_text, sql_name

TABLE_TYPES = ("TABLE", "VIEW")


def _optional(name: str) -> pa.Field:
    return pa.field(name, pa.string())


def _required(name: str, type_: pa.DataType | None = None) -> pa.Field:
    return pa.field(name, type_ or pa.string(), nullable=False)


CATALOGS = pa.schema([_required("catalog_name")])
SCHEMAS = pa.schema([_optional("catalog_name"), _required("db_schema_name")])
_TABLE_KEY = (_optional("catalog_name"), _optional("db_schema_name"), _required("table_name"))
TABLES = pa.schema([*_TABLE_KEY, _required("table_type")])
TABLES_WITH_SCHEMA = TABLES.append(_required("table_schema", pa.binary()))
PRIMARY_KEYS = pa.schema(
    [
        *_TABLE_KEY,
        _required("column_name"),
        _optional("key_name"),
        _required("key_sequence", pa.int32()),
    ]
)
FOREIGN_KEYS = pa.schema(
    [
        *(
            field.with_name(f"{side}_{field.name}")
            for side in ("pk", "fk")
            for field in (*_TABLE_KEY, _required("column_name"))
        ),
        _required("key_sequence", pa.int32()),
        _optional("fk_key_name"),
        _optional("pk_key_name"),
        _required("update_rule", pa.uint8()),
        _required("delete_rule", pa.uint8()),
    ]
)
_NO_ACTION, _CASCADE = 3, 0
_NameTest = Callable[[str], bool]


def catalogs(session: SessionContext) -> pa.Table:
    """The branches."""
    return table_of(CATALOGS, ((name,) for name in _catalog_names(session)))


def schemas(
    session: SessionContext, catalog: str | None = None, pattern: str | None = None
) -> pa.Table:
    """The schemas whose names match a pattern of LIKE."""
    matches = _like(pattern)
    rows = (
        (name, schema)
        for name, snapshot in _snapshots(session, catalog)
        for schema in schema_names(snapshot)
        if matches(schema)
    )
    return table_of(SCHEMAS, rows)


def tables(
    session: SessionContext,
    catalog: str | None = None,
    schema_pattern: str | None = None,
    table_pattern: str | None = None,
    types: Sequence[str] | None = None,
    with_schema: bool = False,
) -> pa.Table:
    """The tables and views; `with_schema` adds each one's columns as a serialized Arrow schema.

    Node and edge types are tables to every client; what they are is in the schema's metadata.
    """
    kinds = {name.upper().replace("BASE TABLE", "TABLE") for name in types or TABLE_TYPES}
    rows = (
        (name, table.schema, table.name, _type(table))
        + ((_serialized_schema(name, table),) if with_schema else ())
        for name, table in _tables(session, catalog, _like(schema_pattern), _like(table_pattern))
        if _type(table) in kinds
    )
    return table_of(TABLES_WITH_SCHEMA if with_schema else TABLES, rows)


def primary_keys(
    session: SessionContext,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The columns of the primary keys of a table, or of all."""
    rows = (
        (name, owner.schema, owner.name, column, f"{owner.name}_pkey", number)
        for name, owner in _tables(session, catalog or session.catalog, _is(schema), _is(table))
        for number, column in enumerate(owner.primary_key, 1)
    )
    return table_of(PRIMARY_KEYS, rows)


def imported_keys(
    session: SessionContext,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The foreign keys of a table: the ends of an edge type."""
    in_schema, named = _is(schema), _is(table)
    return _foreign_keys(session, catalog, lambda t, _: in_schema(t.schema) and named(t.name))


def exported_keys(
    session: SessionContext,
    catalog: str | None = None,
    schema: str | None = None,
    table: str | None = None,
) -> pa.Table:
    """The foreign keys of other tables that refer to a table."""
    in_schema, named = _is(schema), _is(table)
    return _foreign_keys(session, catalog, lambda _, k: in_schema(k.schema) and named(k.table))


# --------------------------------------------------------------------------- parts


def _catalog_names(session: SessionContext) -> list[str]:
    """The branches, and the moment a session stands on if it is none of them."""
    names = [branch.name for branch in session.graph.branches()]
    return names if session.catalog in names else [*names, session.catalog]


def _snapshots(session: SessionContext, catalog: str | None) -> Iterator[tuple[str, Snapshot]]:
    pins = session.pins()
    if not catalog and catalog is not None:
        return  # an empty name stands for what is in no catalog: nothing
    for name in _catalog_names(session) if catalog is None else [catalog]:
        snapshot = pins.find(name)
        if snapshot is not None:
            yield name, snapshot


def _tables(
    session: SessionContext, catalog: str | None, in_schema: _NameTest, named: _NameTest
) -> Iterator[tuple[str, CatalogTable]]:
    for name, snapshot in _snapshots(session, catalog):
        for table in catalog_tables(snapshot):
            if in_schema(table.schema) and named(table.name):
                yield name, table


def _foreign_keys(
    session: SessionContext,
    catalog: str | None,
    matches: Callable[[CatalogTable, ForeignKey], bool],
) -> pa.Table:
    rows = (
        row
        for name, table in _tables(session, catalog or session.catalog, _is(None), _is(None))
        for key in table.foreign_keys
        if matches(table, key)
        for row in _key_rows(name, table, key)
    )
    return table_of(FOREIGN_KEYS, rows)


def _type(table: CatalogTable) -> str:
    return "VIEW" if table.kind == "view" else "TABLE"


def _serialized_schema(catalog: str, table: CatalogTable) -> bytes:
    fields = [
        field.with_metadata(
            {
                "ARROW:FLIGHT:SQL:CATALOG_NAME": catalog,
                "ARROW:FLIGHT:SQL:SCHEMA_NAME": table.schema,
                "ARROW:FLIGHT:SQL:TABLE_NAME": table.name,
                "ARROW:FLIGHT:SQL:TYPE_NAME": sql_name(field.type),
                "ARROW:FLIGHT:SQL:REMARKS": table.column_comments.get(field.name, ""),
                "ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT": "0",
                "ARROW:FLIGHT:SQL:IS_CASE_SENSITIVE": "1" if is_text(field.type) else "0",
                "ARROW:FLIGHT:SQL:IS_READ_ONLY": "1" if table.kind == "view" else "0",
                "ARROW:FLIGHT:SQL:IS_SEARCHABLE": "1",
                **_digits(field.type),
            }
        )
        for field in table.columns
    ]
    metadata = {"omnigraph:kind": table.kind, "omnigraph:comment": table.comment or ""}
    serialized: bytes = pa.schema(fields, metadata).serialize().to_pybytes()
    return serialized


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


def _key_rows(catalog: str, table: CatalogTable, key: ForeignKey) -> Iterator[tuple[Any, ...]]:
    for number, (column, referenced) in enumerate(zip(key.columns, key.referenced, strict=True), 1):
        primary = (catalog, key.schema, key.table, referenced)
        foreign = (catalog, table.schema, table.name, column)
        rules = (_NO_ACTION, _CASCADE)
        yield (*primary, *foreign, number, key.name, f"{key.table}_pkey", *rules)


def _is(name: str | None) -> _NameTest:
    return lambda other: name in (None, other)


def _like(pattern: str | None) -> _NameTest:
    """A test for names: `%` is any text, `_` any character, unless a backslash stands before.

    Every name matches no pattern.
    """
    if pattern is None:
        return lambda name: True
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(part, re.escape(part[-1])) for part in parts)
    compiled = re.compile(regex, re.DOTALL)
    return lambda name: compiled.fullmatch(name) is not None
