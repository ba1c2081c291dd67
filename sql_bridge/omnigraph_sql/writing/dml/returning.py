"""RETURNING: a query over the rows that a statement changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.schema import table_schema
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.planning.plan_query import plan_query
from omnigraph_sql.planning.planned_query import PlannedQuery
from omnigraph_sql.resolve.parameter_types import Params, arranged
from omnigraph_sql.writing.statement.write_parameters import all_names, require_values, values_for
from omnigraph_sql.writing.statement.write_statement import WritePlanner, WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import find_target, require, target_name

_ROWS = "rows changed"


def returns_rows(statement: exp.Expr) -> bool:
    """Whether a statement that writes gives the rows it changed."""
    return bool(statement.args.get("returning")) and isinstance(
        statement, exp.Insert | exp.Update | exp.Delete | exp.Merge
    )


def returned_schema(session: SessionContext, statement: exp.Expr) -> pa.Schema:
    """The columns of those rows, without changing anything."""
    return _query(session, statement, []).schema


def run_returning(
    session: SessionContext, statement: exp.Expr, params: Params, text: str, planner: WritePlanner
) -> pa.RecordBatchReader:
    """Run a statement as one publish; the rows it changed, each as it became or as it was."""
    query = statement.copy()
    _query(session, query, [])  # refuses what cannot be returned before anything is done
    values = _one(all_names(statement), params)
    require_values(statement, values)
    catalog, work = planner(session, statement)
    returned: list[pa.Table] = []

    def change_and_return(statement: WriteStatement) -> int:
        """An error of the query undoes the change: nothing is published yet."""
        statement.returned = []
        count = work(statement)
        rows = _query(session, query, statement.returned)
        params = values_for(query.args["returning"], values)
        returned[:] = [rows.run(params, session.start()).read_all()]
        return count

    run_write(session, catalog, text or query.sql(), values, change_and_return)
    (rows,) = returned
    return rows.to_reader()


def _one(names: Sequence[str], params: Params) -> Sequence[Any] | Mapping[str, Any] | None:
    """The one set of parameters."""
    if not isinstance(params, pa.RecordBatch):
        return params
    if params.num_rows != 1:
        raise InvalidInput("RETURNING takes one set of parameters", hint="Send them one at a time.")
    values = [column[0] for column in arranged(names, params).columns]
    return values if names[:1] == ["1"] else dict(zip(names, values, strict=True))


def _query(session: SessionContext, statement: exp.Expr, changed: list[pa.Table]) -> PlannedQuery:
    """The query that RETURNING is, over the rows that were changed."""
    table = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    named = target_name(session, statement.this)
    snapshot = session.pins().snapshot(named.catalog)
    target = require(find_target(session, snapshot, named, "write"), "table", "node", "edge")
    schema = (
        table_schema(target.type(snapshot))
        if target.is_type
        else snapshot.plain_table(target.full).readable().schema
    )
    parts = [part.select(schema.names).cast(schema) for part in changed]
    rows = ComputedRows(schema, lambda: [b for part in parts for b in part.to_batches()])
    source = exp.Table(
        this=quoted(_ROWS), alias=exp.TableAlias(this=quoted(table.alias or target.name))
    )
    query = exp.select(*(e.copy() for e in statement.args["returning"].expressions)).from_(source)
    return plan_query(session, query, session.pins(), computed_rows={_ROWS: rows})
