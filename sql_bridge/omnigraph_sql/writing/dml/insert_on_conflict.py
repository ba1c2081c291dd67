"""INSERT … ON CONFLICT: a row whose key exists already is left out, or updates it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound
from omnigraph.schema import NodeType
from omnigraph_sql.frontend.identifiers import called, column_of, derived_table, quoted
from omnigraph_sql.writing.dml.delete_update import assignments, first_of_each
from omnigraph_sql.writing.dml.merge_into import MergeClause, MergeInto, cast_to, run_merge
from omnigraph_sql.writing.statement.column_mapping import pick_columns
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
    """Run the INSERT as a MERGE whose source is called `excluded`; how many rows changed."""
    sink = sink_for(work, target)
    key = _conflict_key(work, target, sink, conflict, columns)
    alias = alias or target.name
    table = exp.Table(
        this=quoted(target.name),
        db=quoted(target.schema),
        alias=exp.TableAlias(this=quoted(alias)),
    )
    # What is computed with the rows is computed in the types of their columns.
    given = derived_table(query, "given", columns)
    rows = exp.select(
        *(called(cast_to(column_of("given", c), sink.schema.field(c).type), c) for c in columns)
    ).from_(given)
    inserted = {name: column_of("excluded", name) for name in columns}
    clauses = [MergeClause("not matched", None, "insert", inserted)]
    if conflict.args.get("expressions"):
        where = conflict.args.get("where")
        values = assignments(conflict.expressions, sink.schema, target.full)
        clauses.append(MergeClause("matched", where.this if where else None, "update", values))
    else:  # of several rows with one key the first is inserted, and the others conflict with it
        rows = first_of_each(
            exp.select("*").from_(derived_table(rows, "excluded")),
            [column_of("excluded", name) for name in key],
            columns,
        )
    on = exp.and_(
        *(
            exp.EQ(this=column_of(alias, name), expression=column_of("excluded", name))
            for name in key
        )
    )
    source = derived_table(rows, "excluded")
    return run_merge(work, sink, MergeInto(table, source, "excluded", on, clauses))


def _conflict_key(
    work: WriteStatement,
    target: WriteTarget,
    sink: Sink,
    conflict: exp.OnConflict,
    columns: Sequence[str],
) -> list[str]:
    named = [
        (column.this if isinstance(column, exp.Ordered) else column).name
        for column in conflict.args.get("conflict_keys") or ()
    ]
    key = pick_columns(named, sink.schema, target.full) if named else _declared_key(work, target)
    missing = [name for name in key if name not in columns]
    if missing:
        raise InvalidInput(
            f"ON CONFLICT compares {missing[0]!r}, which the INSERT does not give",
            hint="Name it among the columns.",
        )
    return key


def _declared_key(work: WriteStatement, target: WriteTarget) -> list[str]:
    if target.is_type:
        type_ = target.type(work.snapshot)
        return list(type_.key.members) if isinstance(type_, NodeType) and type_.key else ["id"]
    keys = work.txn.plain.declaration(target.full).keys
    if len(keys) != 1:
        raise NotFound(
            f"{target.full} has {'no key' if not keys else 'several keys'}",
            hint="Name the columns: ON CONFLICT (column) …",
        )
    return list(keys[0])
