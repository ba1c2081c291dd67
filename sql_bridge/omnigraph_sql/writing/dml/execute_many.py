"""One statement for many rows of parameters: all of them in one publish."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.resolve.parameter_types import arranged
from omnigraph_sql.rewrite.names.number_parameters import parameter_name
from omnigraph_sql.writing.statement.column_mapping import pick_columns
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_parameters import all_names, is_parameter
from omnigraph_sql.writing.statement.write_statement import WritePlanner, WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import rows_target, target_name


def run_for_each(
    session: SessionContext,
    statement: exp.Expr,
    params: pa.RecordBatch | pa.Table,
    text: str,
    planner: WritePlanner,
) -> int:
    """Run a statement once for each row of parameters; how many rows were changed together."""
    rows = pa.Table.from_batches([params]) if isinstance(params, pa.RecordBatch) else params
    names = all_names(statement)
    rows = arranged(names, rows)
    inserted = _inserted_parameters(statement)
    if inserted is not None:
        catalog = target_name(session, statement.this).catalog
        given_rows = rows.select(inserted)
        insert = partial(_insert_rows, table=statement.this, rows=given_rows)
        return run_write(session, catalog, text, None, insert)
    with session.one_publish():
        count = 0
        for row in rows.to_pylist():
            given = list(row.values()) if names[:1] == ["1"] else row
            catalog, work = planner(session, statement.copy())
            count += run_write(session, catalog, text, given, work)
    return count


def _inserted_parameters(statement: exp.Expr) -> list[str] | None:
    """The parameters of `INSERT INTO t (…) VALUES (?, …)`, which needs no query at all."""
    if not isinstance(statement, exp.Insert) or statement.args.get("conflict"):
        return None
    given = statement.expression
    if not isinstance(given, exp.Values) or len(given.expressions) != 1:
        return None
    row = given.expressions[0]
    values = row.expressions if isinstance(row, exp.Tuple) else [row]
    return [parameter_name(value) for value in values] if all(map(is_parameter, values)) else None


def _insert_rows(work: WriteStatement, table: exp.Expr, rows: pa.Table) -> int:
    target = rows_target(work, table)
    sink = sink_for(work, target)
    names = sink.schema.names[: rows.num_columns]
    if isinstance(table, exp.Schema):
        names = pick_columns((c.name for c in table.expressions), sink.schema, target.full)
    sink.insert(pa.table(rows.columns, names=names))
    return int(rows.num_rows)
