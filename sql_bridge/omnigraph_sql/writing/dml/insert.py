"""INSERT: the rows of VALUES or of a query, by column name, as one append."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import IdentifierPart, called, quoted
from omnigraph_sql.frontend.sql_types import arrow_name
from omnigraph_sql.writing.dml.insert_on_conflict import insert_or_update
from omnigraph_sql.writing.statement.column_defaults import default_expressions, is_default
from omnigraph_sql.writing.statement.column_mapping import columns_of, picked, renamed
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import (
    WriteTarget,
    find_target,
    require,
    target_name,
)


def insert(work: WriteStatement, statement: exp.Insert) -> int:
    """Add rows; how many."""
    named = target_name(work.connection, statement.this)
    target = require(find_target(work.connection, work.snapshot, named), "table", "node", "edge")
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
            query = _with_defaults(query, columns, missing, defaults)
            columns = [*columns, *missing]
    conflict = statement.args.get("conflict")
    if conflict is not None:
        return insert_or_update(work, target, query, columns, conflict, _alias(statement))
    if statement.args.get("overwrite"):
        _empty(work, target)
    sink, count = sink_for(work, target), 0
    for part in work.parts(query):
        work.keep(sink.insert(renamed(part, columns)))
        count += part.num_rows
    return count


def _empty(work: WriteStatement, target: WriteTarget) -> None:
    """INSERT OVERWRITE: what is there goes first."""
    if target.is_type:
        work.txn.clear(target.type_name)
    else:
        work.txn.plain.clear(target.full)


def _alias(statement: exp.Insert) -> str | None:
    table = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    return table.alias or None


def _columns(statement: exp.Insert, schema: pa.Schema, target: WriteTarget) -> list[str]:
    if isinstance(statement.this, exp.Schema):
        given = list(statement.this.expressions)
    else:
        alias = statement.this.args.get("alias")
        given = list(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else []
    if given:
        names = [IdentifierPart(column.name, bool(column.args.get("quoted"))) for column in given]
        return picked(names, schema, target.full)
    if statement.args.get("by_name") and isinstance(statement.expression, exp.Query):
        names = [IdentifierPart(select.alias_or_name) for select in statement.expression.selects]
        return picked(names, schema, target.full)
    # Without a list, the values are those of the first columns; the id of an entity is optional.
    width = _width(statement.expression)
    known = list(schema.names)
    if target.is_type and width == len(known) - 1:
        known.remove("id")
    return known if width is None else known[:width] if width <= len(known) else known


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
    given = statement.expression
    if given is None:
        raise InvalidInput("INSERT gives no rows", hint="Write VALUES (…) or a SELECT.")
    query = given.copy()
    if isinstance(query, exp.Values):
        for row in query.expressions:
            values = row.expressions if isinstance(row, exp.Tuple) else [row]
            for place, value in enumerate(values):
                column = columns[place] if place < len(columns) else None
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
    """Say the type of a text given for a number, or a number for a text: rows may differ in it."""
    if not isinstance(value, exp.Literal) or pa.types.is_nested(type_):
        return
    textual = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    binary = pa.types.is_binary(type_) or pa.types.is_large_binary(type_)
    if value.is_string and not textual and not binary:
        wanted = type_
    elif textual and not value.is_string:
        wanted = pa.string()
    else:
        return
    name = exp.Literal.string(arrow_name(wanted))
    value.replace(exp.func("arrow_cast", value.copy(), name))


def _with_defaults(
    query: exp.Query,
    columns: Sequence[str],
    missing: Sequence[str],
    defaults: Mapping[str, exp.Expr],
) -> exp.Query:
    alias = exp.TableAlias(
        this=quoted("given"), columns=[quoted(f"c{n}") for n in range(len(columns))]
    )
    source = exp.Subquery(this=query, alias=alias)
    kept: list[exp.Expr] = [exp.Column(this=quoted(f"c{n}")) for n in range(len(columns))]
    return exp.select(*kept, *_defaults_for(missing, defaults)).from_(source)


def _defaults_for(names: Sequence[str], defaults: Mapping[str, exp.Expr]) -> list[exp.Expr]:
    return [called(defaults.get(name, exp.Null()).copy(), name) for name in names]
