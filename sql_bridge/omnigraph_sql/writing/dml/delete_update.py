"""DELETE and UPDATE: a query finds the rows, they are changed by address or id.

Never by the engine's own DML, which changes all rows where a subquery decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.frontend.identifiers import IdentifierPart, called, quoted
from omnigraph_sql.writing.statement.column_defaults import default_expressions
from omnigraph_sql.writing.statement.column_mapping import picked
from omnigraph_sql.writing.statement.row_sinks import Sink, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import find_target, require, target_name

HANDLE, PLACE = "handle of the row", "place of the match"
"""Names of columns that no table has."""


def delete(work: WriteStatement, statement: exp.Delete) -> int:
    """Remove rows; how many."""
    table, sources = _delete_sources(statement)
    target = require(
        find_target(work.connection, work.snapshot, target_name(work.connection, table)),
        "table",
        "node",
        "edge",
    )
    sink = sink_for(work, target)
    query = _from(exp.select(), table, sources, statement)
    handle = _handle(table, sink)
    going = sink.schema.names if work.kept is not None else []
    columns = [exp.Column(this=quoted(name), table=quoted(_alias(table))) for name in going]
    query = query.select(called(handle, HANDLE), *columns).distinct()
    count = 0
    for part in work.parts(query, _alias(table) if sink.addresses else None):
        sink.delete(part.column(0))
        work.keep(part.drop_columns([HANDLE]))
        count += part.num_rows
    return count


def update(work: WriteStatement, statement: exp.Update) -> int:
    """Give rows new values; how many."""
    table = statement.this
    sources = list(table.args.pop("joins", None) or ())
    from_ = statement.args.get("from_")
    if from_ is not None:
        sources = [exp.Join(this=from_.this), *(from_.this.args.pop("joins", None) or ()), *sources]
    target = require(
        find_target(work.connection, work.snapshot, target_name(work.connection, table)),
        "table",
        "node",
        "edge",
    )
    sink = sink_for(work, target)
    new = assignments(statement.expressions, sink.schema, target.full)
    defaults = default_expressions(work, target)
    alias = _alias(table)
    columns = [called(_value(new, name, alias, defaults), name) for name in sink.schema.names]
    query = _from(exp.select(), table, sources, statement)
    handle = _handle(table, sink)
    query = query.select(called(handle.copy(), HANDLE), *columns)
    if sources:
        query = _first_match(query, handle, sink.schema)
    count = 0
    for part in work.parts(query, alias if sink.addresses else None):
        work.keep(sink.update(part.column(0), part.drop_columns([HANDLE])))
        count += part.num_rows
    return count


def assignments(given: list[exp.Expr], schema: pa.Schema, what: str) -> dict[str, exp.Expr]:
    """The new values of a SET, by column."""
    pairs: list[tuple[exp.Expr, exp.Expr]] = []
    for item in given:
        if not isinstance(item, exp.EQ):
            raise InvalidInput(f"{item.sql()} sets nothing", hint="Write SET column = value.")
        if isinstance(item.this, exp.Tuple | exp.Paren):
            left = item.this.expressions if isinstance(item.this, exp.Tuple) else [item.this.this]
            value = item.expression
            right = value.expressions if isinstance(value, exp.Tuple) else [value]
            if len(left) != len(right):
                raise InvalidInput(f"{item.sql()} has {len(right)} values for {len(left)} columns")
            pairs += zip(left, right, strict=True)
        else:
            pairs.append((item.this, item.expression))
    names = picked((_name(column) for column, _ in pairs), schema, what)
    return {name: value for name, (_, value) in zip(names, pairs, strict=True)}


def _name(column: exp.Expr) -> IdentifierPart:
    part = column.this if isinstance(column, exp.Column) else column
    return IdentifierPart(
        column.name, bool(part.args.get("quoted")) if isinstance(part, exp.Expr) else False
    )


def _value(
    new: Mapping[str, exp.Expr], name: str, alias: str, defaults: Mapping[str, exp.Expr]
) -> exp.Expr:
    value = new.get(name)
    if value is None:
        return exp.Column(this=quoted(name), table=quoted(alias))
    if isinstance(value, exp.Column | exp.Var) and value.name.upper() == "DEFAULT":
        return defaults.get(name, exp.Null()).copy()
    return value.copy()


def _first_match(query: exp.Select, handle: exp.Expr, schema: pa.Schema) -> exp.Select:
    """One row per row of the target, where a join finds several."""
    number = exp.Window(this=exp.RowNumber(), partition_by=[handle.copy()], spec=None, over="OVER")
    inner = query.select(called(number, PLACE))
    source = exp.Subquery(this=inner, alias=exp.TableAlias(this=quoted("found")))
    kept = [exp.Column(this=quoted(name)) for name in (HANDLE, *schema.names)]
    first = exp.EQ(this=exp.Column(this=quoted(PLACE)), expression=exp.Literal.number(1))
    return exp.select(*kept).from_(source).where(first)


def _delete_sources(statement: exp.Delete) -> tuple[exp.Table, list[exp.Join]]:
    """The table that loses rows, and what it is compared with."""
    table = statement.this
    joins = list(table.args.pop("joins", None) or ())
    named = statement.args.get("tables") or []
    if len(named) > 1:
        raise InvalidInput("DELETE removes rows of one table", hint="Send one for each table.")
    if named and named[0].name.casefold() != table.alias_or_name.casefold():
        raise InvalidInput(f"{named[0].name} is not the first table", hint="Name it first.")
    for source in statement.args.get("using") or ():
        more = list(source.args.pop("joins", None) or ())
        joins += [exp.Join(this=source), *more]
    return table, joins


def _from(
    query: exp.Select, table: exp.Table, joins: list[exp.Join], statement: exp.Expr
) -> exp.Select:
    query = query.from_(table.copy())
    for join in joins:
        query.append("joins", join.copy())
    where = statement.args.get("where")
    if where is not None:
        query = query.where(where.this.copy())
    with_ = statement.args.get("with_")
    if with_ is not None:
        query.set("with_", with_.copy())
    return query


def _alias(table: exp.Table) -> str:
    return table.alias or table.name


def _handle(table: exp.Table, sink: Sink) -> exp.Expr:
    return exp.Column(this=quoted(sink.handle), table=quoted(_alias(table)))
