"""information_schema: the standard's views of a catalog, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from omnigraph import Snapshot
from omnigraph_sql.catalog.catalog_tables import (
    EDGES,
    NODES,
    CatalogTable,
    catalog_tables,
    user_schemas,
)
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.sql_types import UNIT_DIGITS, sql_name

INFORMATION_SCHEMA = "information_schema"
SYSTEM = "system"

CatalogRow = dict[str, Any]
SchemaRows = Callable[[str, Snapshot], Iterator[CatalogRow]]


def schema_names(snapshot: Snapshot) -> list[str]:
    """Every schema of a catalog."""
    return [NODES, EDGES, *user_schemas(snapshot), INFORMATION_SCHEMA, SYSTEM]


def _schemata(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for name in schema_names(snapshot):
        yield {"catalog_name": catalog, "schema_name": name, "schema_owner": None}


def _table_key(catalog: str, table: CatalogTable) -> CatalogRow:
    return {"table_catalog": catalog, "table_schema": table.schema, "table_name": table.name}


def _tables(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for table in catalog_tables(snapshot):
        yield _table_key(catalog, table) | {
            "table_type": table.table_type,
            "is_insertable_into": "NO" if table.kind == "view" else "YES",
            "table_comment": table.comment,
            "kind": table.kind,
            "row_count": table.rows,
        }


def _columns(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for table in catalog_tables(snapshot):
        for number, field in enumerate(table.columns, 1):
            yield _table_key(catalog, table) | _column(table, field, number)


def _column(table: CatalogTable, field: pa.Field, number: int) -> CatalogRow:
    type_ = field.type
    decimal = pa.types.is_decimal(type_)
    whole = pa.types.is_integer(type_)
    binary = whole or pa.types.is_floating(type_)
    timed = pa.types.is_timestamp(type_) or pa.types.is_time(type_)
    return {
        "column_name": field.name,
        "ordinal_position": number,
        "column_default": None,
        "is_nullable": "YES" if field.nullable else "NO",
        "data_type": sql_name(type_),
        "character_maximum_length": None,
        "numeric_precision": type_.precision if decimal else type_.bit_width if binary else None,
        "numeric_precision_radix": 10 if decimal else 2 if binary else None,
        "numeric_scale": type_.scale if decimal else 0 if whole else None,
        "datetime_precision": UNIT_DIGITS[type_.unit] if timed else None,
        "column_comment": table.column_comments.get(field.name),
    }


def _constraints(
    catalog: str, snapshot: Snapshot
) -> Iterator[tuple[CatalogRow, str, tuple[str, ...]]]:
    """The key of each constraint and of its table, its kind and its columns."""
    for table in catalog_tables(snapshot):
        table_key = _table_key(catalog, table)
        if table.primary_key:
            key = _constraint_key(catalog, table, f"{table.name}_pkey")
            yield key | table_key, "PRIMARY KEY", table.primary_key
        for members in table.uniques:
            key = _constraint_key(catalog, table, f"{table.name}_{'_'.join(members)}_key")
            yield key | table_key, "UNIQUE", members
        for foreign in table.foreign_keys:
            key = _constraint_key(catalog, table, foreign.name)
            yield key | table_key, "FOREIGN KEY", foreign.columns


def _constraint_key(catalog: str, table: CatalogTable, name: str) -> CatalogRow:
    return {
        "constraint_catalog": catalog,
        "constraint_schema": table.schema,
        "constraint_name": name,
    }


def _table_constraints(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for key, kind, _ in _constraints(catalog, snapshot):
        yield key | {
            "constraint_type": kind,
            "is_deferrable": "NO",
            "initially_deferred": "NO",
            "enforced": "YES",
        }


def _key_column_usage(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for key, kind, members in _constraints(catalog, snapshot):
        for number, column in enumerate(members, 1):
            yield key | {
                "column_name": column,
                "ordinal_position": number,
                "position_in_unique_constraint": number if kind == "FOREIGN KEY" else None,
            }


def _referential_constraints(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for table in catalog_tables(snapshot):
        for key in table.foreign_keys:
            yield _constraint_key(catalog, table, key.name) | {
                "unique_constraint_catalog": catalog,
                "unique_constraint_schema": key.schema,
                "unique_constraint_name": f"{key.table}_pkey",
                "match_option": "NONE",
                "update_rule": "NO ACTION",
                "delete_rule": "CASCADE",
            }


def _views(catalog: str, snapshot: Snapshot) -> Iterator[CatalogRow]:
    for table in catalog_tables(snapshot):
        if table.kind == "view":
            yield _table_key(catalog, table) | {
                "view_definition": table.definition,
                "check_option": "NONE",
                "is_updatable": "NO",
            }


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
    return ComputedRows.of_dicts(schema, lambda: rows(catalog, snapshot))
