"""Statements that write: each one atomic publish, or part of the session's transaction.

`run` sends each statement to the function that knows it. Rows to change are found by a query and
staged by address or id; everything is published through one `Transaction`. Imports everything
below it, and knows a session only as `SessionContext`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.resolve.parameter_types import Params
from omnigraph_sql.writing.ddl import branch_statements
from omnigraph_sql.writing.ddl.alter_table import alter
from omnigraph_sql.writing.ddl.create_table import comment, create_table, drop, truncate
from omnigraph_sql.writing.ddl.graph_types import create_type
from omnigraph_sql.writing.ddl.parse_create_type import read_create_type
from omnigraph_sql.writing.ddl.sql_schemas import create_schema, drop_schema
from omnigraph_sql.writing.ddl.views import create_view
from omnigraph_sql.writing.dml.delete_update import delete, update
from omnigraph_sql.writing.dml.execute_many import run_for_each
from omnigraph_sql.writing.dml.insert import insert
from omnigraph_sql.writing.dml.merge_into import merge
from omnigraph_sql.writing.dml.returning import run_returning
from omnigraph_sql.writing.statement.write_parameters import require_values
from omnigraph_sql.writing.statement.write_statement import WriteAction, WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import target_name

_Handler = Callable[[WriteStatement, Any], int]

_HANDLERS: Mapping[type[exp.Expr], _Handler] = {
    exp.Insert: insert,
    exp.Delete: delete,
    exp.Update: update,
    exp.Merge: merge,
    exp.TruncateTable: truncate,
    exp.Alter: alter,
    exp.Comment: comment,
}
_CREATE: Mapping[str, _Handler] = {
    "TABLE": create_table,
    "VIEW": create_view,
    "SCHEMA": create_schema,
    "DATABASE": create_schema,
}
_DROP: Mapping[str, _Handler] = {
    "TABLE": drop,
    "VIEW": drop,
    "SCHEMA": drop_schema,
    "DATABASE": drop_schema,
}
_BRANCH_COMMANDS: Mapping[str, Callable[[SessionContext, str], int]] = {
    "CREATE BRANCH": branch_statements.create_branch,
    "DROP BRANCH": branch_statements.drop_branch,
    "MERGE BRANCH": branch_statements.merge_branch,
    "CREATE TAG": branch_statements.create_tag,
    "DROP TAG": branch_statements.drop_tag,
}


def run(session: SessionContext, statement: exp.Expr, params: Params, text: str = "") -> int:
    """Run a statement that writes; how many rows it changed."""
    if isinstance(statement, exp.Command):
        command = str(statement.this).upper()
        if command in _BRANCH_COMMANDS:
            return _BRANCH_COMMANDS[command](session, str(statement.expression or ""))
        if command == "VACUUM":
            return 0  # maintenance runs by itself
    if isinstance(statement, exp.Analyze):
        return 0
    if isinstance(params, pa.RecordBatch | pa.Table):
        return run_for_each(session, statement, params, text, _plan)
    if statement.find(exp.Query, exp.DML) is not None:
        require_values(statement, params)
    catalog, work = _plan(session, statement)
    return run_write(session, catalog, text or statement.sql(), params, work)


def run_with_rows(
    session: SessionContext, statement: exp.Expr, params: Params, text: str = ""
) -> pa.RecordBatchReader:
    """Run a statement with RETURNING; the rows it changed."""
    return run_returning(session, statement, params, text, _plan)


def _plan(session: SessionContext, statement: exp.Expr) -> tuple[str, WriteAction]:
    """The branch a statement writes to, and what it does there."""
    if isinstance(statement, exp.Command) and "TABLE" in str(statement.this).upper():
        created = read_create_type(statement, session.dialect)
        return session.catalog, lambda work: create_type(work, created)
    handler, kind = _HANDLERS.get(type(statement)), statement.text("kind")
    if isinstance(statement, exp.Create | exp.Drop):
        handler = (_CREATE if isinstance(statement, exp.Create) else _DROP).get(kind)
    if handler is None:
        name = f"{statement.key.upper()} {kind}".rstrip()
        if isinstance(statement, exp.Command):
            name = str(statement.this).upper()
        raise InvalidInput(
            f"{name} is not supported", hint="See docs/sql.md for the statements there are."
        )
    catalog = session.catalog
    if handler not in (comment, create_schema, drop_schema):
        catalog = target_name(session, _first_table(statement)).catalog
    return catalog, lambda work: handler(work, statement)


def _first_table(statement: exp.Expr) -> exp.Expr:
    tables = [statement.this]
    if isinstance(statement, exp.TruncateTable):
        tables = statement.expressions
    elif isinstance(statement, exp.Drop):
        tables = statement.args.get("tables") or tables
    table: exp.Expr = tables[0]
    return table
