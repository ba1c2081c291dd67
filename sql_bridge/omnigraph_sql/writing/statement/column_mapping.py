"""Columns of a target: which a statement names, and rows in their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.schema import table_schema
from omnigraph.tables import cast_column
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget


def columns_of(work: WriteStatement, target: WriteTarget) -> pa.Schema:
    """The columns of a target as SQL shows them."""
    if target.is_type:
        return table_schema(target.type(work.snapshot))
    return work.txn.plain.schema(target.full)


def picked(names: Iterable[IdentifierPart], schema: pa.Schema, what: str) -> list[str]:
    """Columns by the names a statement uses, in any case."""
    found: list[str] = []
    for name in names:
        column = name.pick(schema.names)
        if column is None:
            raise NotFound(
                f"{what} has no column {name.text!r}{did_you_mean(name.text, schema.names)}",
                hint=f"It has {', '.join(schema.names)}.",
            )
        if column in found:
            raise InvalidInput(f"the column {column!r} is named twice", hint="Name it once.")
        found.append(column)
    return found


def renamed(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows under other names, by place."""
    if rows.num_columns != len(names):
        raise InvalidInput(
            f"{rows.num_columns} values are given for {len(names)} columns",
            hint=f"The columns are {', '.join(names)}.",
        )
    return rows.rename_columns(list(names))


def typed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of rows in the types of a type's table; ids may be given as numbers."""
    columns = []
    for name in rows.schema.names:
        target = schema.field(name)
        try:
            columns.append(cast_column(rows.column(name), target))
        except InvalidInput:
            if not pa.types.is_nested(target.type):
                raise
            columns.append(rows.column(name))  # the graph's own reading of lists is wider
    return pa.table(columns, names=rows.schema.names)
