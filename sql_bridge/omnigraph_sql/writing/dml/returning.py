"""RETURNING: the rows that a statement changed, as a query sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph.schema import table_schema
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.identifiers import quoted
from omnigraph_sql.planning.plan_query import PlannedQuery, plan_query
from omnigraph_sql.resolve.parameter_types import Params, arranged
from omnigraph_sql.writing.statement.write_parameters import (
    all_names,
    numbered,
    require_values,
    values_for,
)
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import find_target, require, target_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph_sql.session.connection import Connection

    Planner = Callable[[Connection, exp.Expr], tuple[str, Callable[[WriteStatement], int]]]

_ROWS = "rows changed"


def returns_rows(statement: exp.Expr) -> bool:
    """Whether a statement that writes gives the rows it changed."""
    return bool(statement.args.get("returning")) and isinstance(
        statement, exp.Insert | exp.Update | exp.Delete | exp.Merge
    )


def returned_schema(connection: Connection, statement: exp.Expr) -> pa.Schema:
    """The columns of those rows, without changing anything."""
    return _query(connection, numbered(statement.copy()), []).schema


def run_returning(
    connection: Connection, statement: exp.Expr, params: Params, text: str, planner: Planner
) -> pa.RecordBatchReader:
    """Run a statement as one publish; the rows it changed, each as it became or as it was."""
    connection.action = "write"
    statement = numbered(statement)
    query = statement.copy()
    _query(connection, query, [])  # what cannot be returned is told before anything is done
    values = _one(all_names(statement), params)
    require_values(statement, values)
    catalog, work = planner(connection, statement)
    returned: list[pa.Table] = []

    def recorded(changing: WriteStatement) -> int:
        """What fails here takes the change back with it: nothing is published yet."""
        changing.kept = []
        count = work(changing)
        rows = _query(connection, query, changing.kept)
        returned[:] = [
            rows.run(values_for(query.args["returning"], values), connection.start()).read_all()
        ]
        return count

    run_write(connection, catalog, text or query.sql(), values, recorded)
    (rows,) = returned
    return rows.to_reader()


def _one(names: Sequence[str], params: Params) -> Sequence[Any] | Mapping[str, Any] | None:
    """The one set of parameters."""
    if not isinstance(params, pa.RecordBatch):
        return params
    if params.num_rows != 1:
        raise InvalidInput(
            "RETURNING answers for one set of parameters", hint="Send one after the other."
        )
    values = [column[0] for column in arranged(names, params).columns]
    return values if names[:1] == ["1"] else dict(zip(names, values, strict=True))


def _query(connection: Connection, statement: exp.Expr, kept: list[pa.Table]) -> PlannedQuery:
    """The query that RETURNING is, over the rows that were changed."""
    table = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    named = target_name(connection, statement.this)
    snapshot = connection.pins().snapshot(named.catalog)
    target = require(find_target(connection, snapshot, named), "table", "node", "edge")
    schema = (
        table_schema(target.type(snapshot))
        if target.is_type
        else snapshot.plain_table(target.full).readable().schema
    )
    rows = [part.select(schema.names).cast(schema) for part in kept]
    held = ComputedRows(schema, lambda: [b for part in rows for b in part.to_batches()])
    source = exp.Table(
        this=quoted(_ROWS), alias=exp.TableAlias(this=quoted(table.alias or target.name))
    )
    query = exp.select(*(e.copy() for e in statement.args["returning"].expressions)).from_(source)
    return plan_query(connection, query, connection.pins(), given={_ROWS: held})
