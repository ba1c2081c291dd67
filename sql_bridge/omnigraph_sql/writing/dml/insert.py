"""INSERT: the rows of VALUES or of a query, by column name, as one append."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import called, column_of, derived_table, quoted
from omnigraph_sql.frontend.sql_types import arrow_name, is_text
from omnigraph_sql.writing.dml.insert_on_conflict import insert_or_update
from omnigraph_sql.writing.statement.column_mapping import (
    columns_of,
    default_expressions,
    is_default,
    pick_columns,
    renamed,
)
from omnigraph_sql.writing.statement.row_sinks import clear_rows, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget, rows_target


def insert(work: WriteStatement, statement: exp.Insert) -> int:
    """Add rows; how many."""
    target = rows_target(work, statement.this)
    schema = columns_of(work, target)
    columns = _columns(statement, schema, target)
    defaults = default_expressions(work, target)
    if statement.args.get("default"):
        query: exp.Query = exp.select(*_defaults_for(schema.names, defaults))
        columns = list(schema.names)
    else:
        query = _query(statement, [schema.field(name) for name in columns], defaults)
        missing = [name for name in schema.names if name not in columns and name in defaults]
        if missing:
            numbers = [f"c{number}" for number in range(len(columns))]
            query = exp.select(
                *(column_of(None, number) for number in numbers), *_defaults_for(missing, defaults)
            ).from_(derived_table(query, "given", numbers))
            columns = [*columns, *missing]
    conflict = statement.args.get("conflict")
    if conflict is not None:
        table = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
        return insert_or_update(work, target, query, columns, conflict, table.alias or None)
    if statement.args.get("overwrite"):
        clear_rows(work, target)
    sink, count = sink_for(work, target), 0
    for rows in work.parts(query):
        work.record(sink.insert(renamed(rows, columns)))
        count += rows.num_rows
    return count


def _columns(statement: exp.Insert, schema: pa.Schema, target: WriteTarget) -> list[str]:
    alias = statement.this.args.get("alias")
    given = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    if isinstance(statement.this, exp.Schema):
        given = statement.this.expressions
    if given:
        return pick_columns((column.name for column in given), schema, target.full)
    query = statement.expression
    if statement.args.get("by_name") and isinstance(query, exp.Query):
        return pick_columns((s.alias_or_name for s in query.selects), schema, target.full)
    # Without a list, the values are those of the first columns; the id of an entity is optional.
    width = _width(query)
    known = list(schema.names)
    if target.is_type and width == len(known) - 1:
        known.remove("id")
    return known[:width]


def _width(query: exp.Expr | None) -> int | None:
    if isinstance(query, exp.Values) and query.expressions:
        first = query.expressions[0]
        return len(first.expressions) if isinstance(first, exp.Tuple) else 1
    if isinstance(query, exp.Query) and not any(select.is_star for select in query.selects):
        return len(query.selects) or None
    return None


def _query(
    statement: exp.Insert, columns: Sequence[pa.Field], defaults: Mapping[str, exp.Expr]
) -> exp.Query:
    if statement.expression is None:
        raise InvalidInput("INSERT gives no rows", hint="Write VALUES (…) or a SELECT.")
    query = statement.expression.copy()
    if isinstance(query, exp.Values):
        for row in query.expressions:
            values = row.expressions if isinstance(row, exp.Tuple) else [row]
            for index, value in enumerate(values):
                column = columns[index] if index < len(columns) else None
                if is_default(value):
                    name = column.name if column is not None else ""
                    value.replace(defaults.get(name, exp.Null()).copy())
                elif column is not None:
                    _type_literal(value, column.type)
        query.set("alias", exp.TableAlias(this=quoted("given")))
        query = exp.select("*").from_(query)
    with_ = statement.args.get("with_")
    if with_ is not None:
        query.set("with_", with_.copy())
    assert isinstance(query, exp.Query)
    return query


def _type_literal(value: exp.Expr, type_: pa.DataType) -> None:
    """Cast a text given for a number, or a number given for a text: rows may differ in it."""
    if not isinstance(value, exp.Literal) or pa.types.is_nested(type_):
        return
    textual = is_text(type_)
    binary = pa.types.is_binary(type_) or pa.types.is_large_binary(type_)
    if value.is_string and not textual and not binary:
        wanted = type_
    elif textual and not value.is_string:
        wanted = pa.string()
    else:
        return
    name = exp.Literal.string(arrow_name(wanted))
    value.replace(exp.func("arrow_cast", value.copy(), name))


def _defaults_for(names: Sequence[str], defaults: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    return [called(defaults.get(name, exp.Null()).copy(), name) for name in names]
