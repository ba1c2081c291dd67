"""Columns of a target: which a statement names, their defaults, and rows in their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import sqlglot
from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.schema import table_schema
from omnigraph.tables import cast_column
from omnigraph_sql.frontend.identifiers import pick_name
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget

DEFAULTS = "defaults"
"""The property of a table's declaration that holds the default expressions of columns."""


def columns_of(work: WriteStatement, target: WriteTarget) -> pa.Schema:
    """The columns of a target as SQL shows them."""
    if target.is_type:
        return table_schema(target.type(work.snapshot))
    return work.txn.plain.schema(target.full)


def pick_columns(names: Iterable[str], schema: pa.Schema, table: str) -> list[str]:
    """Columns by the names a statement uses, in any case."""
    columns: list[str] = []
    for name in names:
        column = pick_name(name, schema.names)
        if column is None:
            raise NotFound(
                f"{table} has no column {name!r}{did_you_mean(name, schema.names)}",
                hint=f"It has {', '.join(schema.names)}.",
            )
        if column in columns:
            raise InvalidInput(f"the column {column!r} is named twice", hint="Name it once.")
        columns.append(column)
    return columns


def default_expressions(work: WriteStatement, target: WriteTarget) -> dict[str, exp.Expr]:
    """The declared defaults of a plain table's columns."""
    if target.kind != "table":
        return {}
    declared = work.txn.plain.declaration(target.full).properties.get(DEFAULTS, {})
    return {name: sqlglot.parse_one(text, read="postgres") for name, text in declared.items()}


def is_default(value: exp.Expr) -> bool:
    """Whether a value is the word DEFAULT."""
    return (
        isinstance(value, exp.Column | exp.Var | exp.Identifier)
        and value.name.upper() == "DEFAULT"
        and not value.args.get("table")
    )


def renamed(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows under other names, by position."""
    if rows.num_columns != len(names):
        raise InvalidInput(
            f"{rows.num_columns} values are given for {len(names)} columns",
            hint=f"The columns are {', '.join(names)}.",
        )
    return rows.rename_columns(list(names))


def cast_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of rows in the types of a type's table; ids may be given as numbers."""
    columns = []
    for name in rows.schema.names:
        target = schema.field(name)
        try:
            columns.append(cast_column(rows.column(name), target))
        except InvalidInput:
            if not pa.types.is_nested(target.type):
                raise
            columns.append(rows.column(name))  # the graph itself accepts more lists
    return pa.table(columns, names=rows.schema.names)
