"""DELETE and UPDATE: a query finds the rows, they are changed by address or id.

Never by DataFusion's own DML, which changes all rows where a subquery decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import called, column_of, derived_table
from omnigraph_sql.writing.statement.column_mapping import (
    default_expressions,
    is_default,
    pick_columns,
)
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import rows_target

HANDLE = "handle of the row"
_NUMBER = "number of the row"
"""Names of columns that no table has."""


def delete(work: WriteStatement, statement: exp.Delete) -> int:
    """Remove rows; how many."""
    table, joins = _delete_sources(statement)
    sink = sink_for(work, rows_target(work, table))
    alias = table.alias or table.name
    returned = sink.schema.names if work.returned is not None else []
    query = _joined(table, joins, statement).select(
        called(column_of(alias, sink.handle), HANDLE),
        *(column_of(alias, name) for name in returned),
    )
    count = 0
    for rows in work.parts(query.distinct(), alias if sink.addresses else None):
        sink.delete(rows.column(0))
        work.record(rows.drop_columns([HANDLE]))
        count += rows.num_rows
    return count


def update(work: WriteStatement, statement: exp.Update) -> int:
    """Give rows new values; how many."""
    table = statement.this
    joins = list(table.args.pop("joins", None) or ())
    from_ = statement.args.get("from_")
    if from_ is not None:
        joins = [exp.Join(this=from_.this), *(from_.this.args.pop("joins", None) or ()), *joins]
    target = rows_target(work, table)
    sink = sink_for(work, target)
    new = assignments(statement.expressions, sink.schema, target.full)
    defaults = default_expressions(work, target)
    alias = table.alias or table.name
    handle = column_of(alias, sink.handle)
    columns = []
    for name in sink.schema.names:
        value = new.get(name, column_of(alias, name))
        if is_default(value):
            value = defaults.get(name, exp.Null())
        columns.append(called(value.copy(), name))
    query = _joined(table, joins, statement).select(called(handle, HANDLE), *columns)
    if joins:  # which may find several rows for one of the target
        query = first_of_each(query, [handle], (HANDLE, *sink.schema.names))
    count = 0
    for rows in work.parts(query, alias if sink.addresses else None):
        work.record(sink.update(rows.column(0), rows.drop_columns([HANDLE])))
        count += rows.num_rows
    return count


def assignments(items: Sequence[exp.Expr], schema: pa.Schema, table: str) -> dict[str, exp.Expr]:
    """The new values of a SET, by column."""
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    for item in items:
        if not isinstance(item, exp.EQ):
            raise InvalidInput(
                f"{item.sql()} is not an assignment", hint="Write SET column = value."
            )
        if isinstance(item.this, exp.Tuple | exp.Paren):
            left = item.this.expressions if isinstance(item.this, exp.Tuple) else [item.this.this]
            value = item.expression
            right = value.expressions if isinstance(value, exp.Tuple) else [value]
            if len(left) != len(right):
                raise InvalidInput(f"{item.sql()} has {len(right)} values for {len(left)} columns")
            pairs += zip(left, right, strict=True)
        else:
            pairs.append((item.this, item.expression))
    names = pick_columns((column.name for column, _ in pairs), schema, table)
    return {name: value for name, (_, value) in zip(names, pairs, strict=True)}


def first_of_each(
    query: exp.Select, partition: Sequence[exp.Expr], columns: Sequence[str]
) -> exp.Select:
    """One row of a query for each value of some expressions."""
    number = exp.Window(
        this=exp.RowNumber(), partition_by=[each.copy() for each in partition], over="OVER"
    )
    numbered = derived_table(query.select(called(number, _NUMBER)), "numbered")
    is_first = exp.EQ(this=column_of(None, _NUMBER), expression=exp.Literal.number(1))
    return exp.select(*(column_of(None, name) for name in columns)).from_(numbered).where(is_first)


def _delete_sources(statement: exp.Delete) -> tuple[exp.Table, list[exp.Join]]:
    """The table that loses rows, and what it is joined with."""
    table = statement.this
    joins = list(table.args.pop("joins", None) or ())
    named = statement.args.get("tables") or []
    if len(named) > 1:
        raise InvalidInput("DELETE removes rows of one table", hint="Send one for each table.")
    if named and named[0].name.casefold() != table.alias_or_name.casefold():
        raise InvalidInput(
            f"DELETE must name the target table first: {named[0].name}", hint="Name it first."
        )
    for source in statement.args.get("using") or ():
        more = list(source.args.pop("joins", None) or ())
        joins += [exp.Join(this=source), *more]
    return table, joins


def _joined(table: exp.Table, joins: Sequence[exp.Join], statement: exp.Expr) -> exp.Select:
    """The FROM, WHERE and WITH of the query that finds the rows."""
    query = exp.select().from_(table.copy())
    for join in joins:
        query.append("joins", join.copy())
    where = statement.args.get("where")
    if where is not None:
        query = query.where(where.this.copy())
    with_ = statement.args.get("with_")
    if with_ is not None:
        query.set("with_", with_.copy())
    return query
