"""INSERT … ON CONFLICT: rows whose key is there already are left alone, or update it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound
from omnigraph.schema import NodeType
from omnigraph_sql.frontend.identifiers import IdentifierPart, called, column_of, quoted
from omnigraph_sql.writing.dml.delete_update import assignments
from omnigraph_sql.writing.dml.merge_into import Clause, Merging, cast_to, run_merge
from omnigraph_sql.writing.statement.column_mapping import picked
from omnigraph_sql.writing.statement.row_sinks import Sink, sink_for
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import WriteTarget


def insert_or_update(
    work: WriteStatement,
    target: WriteTarget,
    query: exp.Query,
    columns: Sequence[str],
    conflict: exp.OnConflict,
    alias: str | None,
) -> int:
    """INSERT … ON CONFLICT: rows whose key is there already are left alone, or update it."""
    sink = sink_for(work, target)
    key = _conflict_key(work, target, sink, conflict, columns)
    table = exp.Table(this=quoted(target.name), db=quoted(target.schema))
    target_alias = alias or target.name
    table.set("alias", exp.TableAlias(this=quoted(target_alias)))
    source = _in_the_columns_types(query, columns, sink.schema)
    updates = bool(conflict.args.get("expressions"))
    if not updates:
        source = _one_per_key(source, key, columns)
    on: exp.Expr = exp.and_(
        *(
            exp.EQ(
                this=column_of(alias or target.name, name), expression=column_of("excluded", name)
            )
            for name in key
        )
    )
    clauses = [
        Clause(
            "only source", None, "insert", {name: column_of("excluded", name) for name in columns}
        )
    ]
    if updates:
        where = conflict.args.get("where")
        values = assignments(conflict.expressions, sink.schema, target.full)
        clauses.append(Clause("matched", where.this if where else None, "update", values))
    return run_merge(work, sink, Merging(table, source, "excluded", on, clauses))


def _in_the_columns_types(
    query: exp.Query, columns: Sequence[str], schema: pa.Schema
) -> exp.Subquery:
    """The rows to insert as `excluded`: what is computed with them is computed in their types."""
    given = exp.Subquery(
        this=query,
        alias=exp.TableAlias(this=quoted("given"), columns=[quoted(c) for c in columns]),
    )
    typed = (called(cast_to(column_of("given", c), schema.field(c).type), c) for c in columns)
    return exp.Subquery(
        this=exp.select(*typed).from_(given), alias=exp.TableAlias(this=quoted("excluded"))
    )


def _conflict_key(
    work: WriteStatement,
    target: WriteTarget,
    sink: Sink,
    conflict: exp.OnConflict,
    columns: Sequence[str],
) -> list[str]:
    named = conflict.args.get("conflict_keys") or []
    if named:
        key = picked((_conflict_name(column) for column in named), sink.schema, target.full)
    else:
        key = _declared_key(work, target)
    missing = [name for name in key if name not in columns]
    if missing:
        raise InvalidInput(
            f"ON CONFLICT compares {missing[0]!r}, which the INSERT does not give",
            hint="Name it among the columns.",
        )
    return key


def _conflict_name(column: exp.Expr) -> IdentifierPart:
    inner = column.this if isinstance(column, exp.Ordered) else column
    return IdentifierPart(inner.name)


def _declared_key(work: WriteStatement, target: WriteTarget) -> list[str]:
    if target.is_type:
        type_ = target.type(work.snapshot)
        return list(type_.key.members) if isinstance(type_, NodeType) and type_.key else ["id"]
    keys = work.txn.plain.table(target.full).declaration.keys
    if len(keys) != 1:
        raise NotFound(
            f"{target.full} has {'no key' if not keys else 'several keys'}",
            hint="Name the columns: ON CONFLICT (column) …",
        )
    return list(keys[0])


def _one_per_key(source: exp.Subquery, key: Sequence[str], columns: Sequence[str]) -> exp.Subquery:
    """The first row of each key: the others meet it, and nothing is done."""
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column_of("excluded", name) for name in key],
        over="OVER",
    )
    inner = exp.select("*", called(number, "place of the row")).from_(source)
    first = exp.EQ(
        this=exp.Column(this=quoted("place of the row")), expression=exp.Literal.number(1)
    )
    outer = (
        exp.select(*(exp.Column(this=quoted(name)) for name in columns))
        .from_(exp.Subquery(this=inner, alias=exp.TableAlias(this=quoted("numbered"))))
        .where(first)
    )
    return exp.Subquery(this=outer, alias=exp.TableAlias(this=quoted("excluded")))
