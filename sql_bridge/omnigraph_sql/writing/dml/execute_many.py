"""One statement for many rows of parameters: all of them in one publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.resolve.parameter_types import arranged
from omnigraph_sql.rewrite.names.number_parameters import parameter_name
from omnigraph_sql.writing.statement.column_mapping import columns_of, picked
from omnigraph_sql.writing.statement.row_sinks import sink_for
from omnigraph_sql.writing.statement.write_parameters import all_names, is_parameter
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import find_target, require, target_name

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

Planner = Callable[["Connection", exp.Expr], tuple[str, Callable[[WriteStatement], int]]]


def run_for_each(
    connection: Connection,
    statement: exp.Expr,
    params: pa.RecordBatch | pa.Table,
    text: str,
    planner: Planner,
) -> int:
    """Run a statement once for each row of parameters; how many rows were changed together."""
    rows = pa.Table.from_batches([params]) if isinstance(params, pa.RecordBatch) else params
    names = all_names(statement)
    rows = arranged(names, rows)
    places = _inserted_parameters(statement)
    if places is not None:
        assert isinstance(statement, exp.Insert)
        catalog = target_name(connection, statement.this).catalog

        def load(work: WriteStatement) -> int:
            return _insert_rows(work, statement, rows, places)

        return run_write(connection, catalog, text, None, load)
    with connection.one_publish():
        count = 0
        for row in rows.to_pylist():
            given = list(row.values()) if names[:1] == ["1"] else row
            catalog, work = planner(connection, statement.copy())
            count += run_write(connection, catalog, text, given, work)
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
    if not all(is_parameter(value) for value in values):
        return None
    return [parameter_name(value) or "" for value in values]


def _insert_rows(
    work: WriteStatement, statement: exp.Insert, rows: pa.Table, places: list[str]
) -> int:
    named = target_name(work.connection, statement.this)
    target = require(find_target(work.connection, work.snapshot, named), "table", "node", "edge")
    schema = columns_of(work, target)
    columns = list(statement.this.expressions) if isinstance(statement.this, exp.Schema) else []
    names = (
        picked(
            (IdentifierPart(c.name, bool(c.args.get("quoted"))) for c in columns),
            schema,
            target.full,
        )
        if columns
        else list(schema.names)[: len(places)]
    )
    given = [rows.column(place) for place in places]
    sink_for(work, target).insert(pa.table(given, names=names))
    return int(rows.num_rows)
