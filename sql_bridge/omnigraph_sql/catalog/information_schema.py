"""information_schema: the standard's views of a catalog, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph import Snapshot
from omnigraph_sql.catalog.catalog_tables import (
    EDGES,
    NODES,
    catalog_tables,
    user_schemas,
)
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.sql_types import UNIT_DIGITS, sql_name

INFORMATION_SCHEMA = "information_schema"
SYSTEM = "system"

SchemaRows = Callable[[str, Snapshot], Iterator[tuple[Any, ...]]]


def schema_names(snapshot: Snapshot) -> list[str]:
    """Every schema of a catalog."""
    return [NODES, EDGES, *user_schemas(snapshot), INFORMATION_SCHEMA, SYSTEM]


def _schemata(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    return ((catalog, name, None) for name in schema_names(snapshot))


def _tables(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for table in catalog_tables(snapshot):
        insertable = "NO" if table.kind == "view" else "YES"
        about = (table.table_type, insertable, table.comment, table.kind, table.rows)
        yield (catalog, table.schema, table.name, *about)


def _columns(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for table in catalog_tables(snapshot):
        for number, field in enumerate(table.columns, 1):
            nullable = "YES" if field.nullable else "NO"
            comment = table.column_comments.get(field.name)
            column = (field.name, number, None, nullable, sql_name(field.type), None)
            yield (catalog, table.schema, table.name, *column, *_digits(field.type), comment)


def _digits(type_: pa.DataType) -> tuple[int | None, ...]:
    """Precision, its radix and scale of a number, and the precision of a time."""
    if pa.types.is_decimal(type_):
        return type_.precision, 10, type_.scale, None
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return type_.bit_width, 2, 0 if pa.types.is_integer(type_) else None, None
    timed = pa.types.is_timestamp(type_) or pa.types.is_time(type_)
    return None, None, None, UNIT_DIGITS[type_.unit] if timed else None


def _constraints(
    catalog: str, snapshot: Snapshot
) -> Iterator[tuple[tuple[str, ...], str, tuple[str, ...]]]:
    """Each constraint with the key of its own and of its table, its kind and its columns."""
    for table in catalog_tables(snapshot):
        named = [(f"{table.name}_{'_'.join(c)}_key", "UNIQUE", c) for c in table.uniques]
        if table.primary_key:
            named.insert(0, (f"{table.name}_pkey", "PRIMARY KEY", table.primary_key))
        named += [(key.name, "FOREIGN KEY", key.columns) for key in table.foreign_keys]
        for name, kind, columns in named:
            key = (catalog, table.schema, name, catalog, table.schema, table.name)
            yield key, kind, columns


def _table_constraints(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for key, kind, _ in _constraints(catalog, snapshot):
        yield (*key, kind, "NO", "NO", "YES")


def _key_column_usage(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for key, kind, columns in _constraints(catalog, snapshot):
        for number, column in enumerate(columns, 1):
            yield (*key, column, number, number if kind == "FOREIGN KEY" else None)


def _referential_constraints(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for table in catalog_tables(snapshot):
        for key in table.foreign_keys:
            referenced = (catalog, key.schema, f"{key.table}_pkey")
            rules = ("NONE", "NO ACTION", "CASCADE")
            yield (catalog, table.schema, key.name, *referenced, *rules)


def _views(catalog: str, snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for table in catalog_tables(snapshot):
        if table.kind == "view":
            yield (catalog, table.schema, table.name, table.definition, "NONE", "NO")


def _view(rows: SchemaRows, columns: str) -> tuple[pa.Schema, SchemaRows]:
    names = columns.split()
    return pa.schema((n, pa.int64() if n in _NUMBERS else pa.string()) for n in names), rows


_NUMBERS = frozenset(
    {
        "ordinal_position",
        "character_maximum_length",
        "numeric_precision",
        "numeric_precision_radix",
        "numeric_scale",
        "datetime_precision",
        "position_in_unique_constraint",
        "row_count",
    }
)
_TABLE = "table_catalog table_schema table_name"
_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"

TABLES: Mapping[str, tuple[pa.Schema, SchemaRows]] = {
    "schemata": _view(_schemata, "catalog_name schema_name schema_owner"),
    "tables": _view(
        _tables, f"{_TABLE} table_type is_insertable_into table_comment kind row_count"
    ),
    "columns": _view(
        _columns,
        f"{_TABLE} column_name ordinal_position column_default is_nullable data_type "
        "character_maximum_length numeric_precision numeric_precision_radix numeric_scale "
        "datetime_precision column_comment",
    ),
    "table_constraints": _view(
        _table_constraints,
        f"{_CONSTRAINT} {_TABLE} constraint_type is_deferrable initially_deferred enforced",
    ),
    "key_column_usage": _view(
        _key_column_usage,
        f"{_CONSTRAINT} {_TABLE} column_name ordinal_position position_in_unique_constraint",
    ),
    "referential_constraints": _view(
        _referential_constraints,
        f"{_CONSTRAINT} unique_constraint_catalog unique_constraint_schema "
        "unique_constraint_name match_option update_rule delete_rule",
    ),
    "views": _view(_views, f"{_TABLE} view_definition check_option is_updatable"),
}


def information_rows(name: str, catalog: str, snapshot: Snapshot) -> ComputedRows:
    """One of the views."""
    schema, rows = TABLES[name]
    return ComputedRows.of_tuples(schema, lambda: rows(catalog, snapshot))
