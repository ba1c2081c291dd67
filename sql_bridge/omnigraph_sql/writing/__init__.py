"""Statements that write: each one atomic publish, or part of the session's transaction.

`run` sends each statement to the function that knows it. Rows to change are found by a query and
staged by address or id; everything is published through one `Transaction`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from omnigraph.errors import InvalidInput
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
from omnigraph_sql.writing.dml.ingest import ingest
from omnigraph_sql.writing.dml.insert import insert
from omnigraph_sql.writing.dml.merge_into import merge
from omnigraph_sql.writing.dml.returning import run_returning
from omnigraph_sql.writing.statement.session_transaction import SessionTransaction
from omnigraph_sql.writing.statement.write_parameters import numbered, require_values
from omnigraph_sql.writing.statement.write_statement import WriteStatement, run_write
from omnigraph_sql.writing.statement.write_target import target_name

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

__all__ = ["SessionTransaction", "ingest", "run", "run_with_rows"]

WriteAction = Callable[[WriteStatement], int]

_COMMANDS: dict[str, Callable[[Connection, str], int]] = {
    "CREATE BRANCH": branch_statements.create_branch,
    "DROP BRANCH": branch_statements.drop_branch,
    "MERGE BRANCH": branch_statements.merge_branch,
    "CREATE TAG": branch_statements.create_tag,
    "DROP TAG": branch_statements.drop_tag,
}


_DEFINING = (exp.Create, exp.Drop, exp.Alter, exp.Comment, exp.Command)


def run(connection: Connection, expression: exp.Expr, params: Params, text: str = "") -> int:
    """Run a statement that writes; how many rows it changed."""
    connection.action = "define" if isinstance(expression, _DEFINING) else "write"
    match expression:
        case exp.Transaction() | exp.Commit() | exp.Rollback():
            return _transaction(connection, expression)
        case exp.Use():
            return branch_statements.use(connection, expression)
        case exp.Command():
            command, body = str(expression.this).upper(), str(expression.expression or "")
            if command in _COMMANDS:
                return _COMMANDS[command](connection, body)
            if command in ("SAVEPOINT", "RELEASE"):
                return _savepoint(connection, command, body)
            if command == "VACUUM":
                return 0  # upkeep happens by itself; other databases need it said
        case exp.Analyze():
            return 0
    statement = numbered(expression)
    if isinstance(params, pa.RecordBatch | pa.Table):
        return run_for_each(connection, statement, params, text, _planned)
    if statement.find(exp.Query, exp.DML) is not None:
        require_values(statement, params)
    catalog, work = _planned(connection, statement)
    return run_write(connection, catalog, text or statement.sql(), params, work)


def run_with_rows(
    connection: Connection, expression: exp.Expr, params: Params, text: str = ""
) -> pa.RecordBatchReader:
    """Run a statement with RETURNING; the rows it changed."""
    return run_returning(connection, expression, params, text, _planned)


def _planned(connection: Connection, statement: exp.Expr) -> tuple[str, WriteAction]:
    """The branch a statement writes to, and what it does there."""
    match statement:
        case exp.Insert():
            return _on(connection, statement.this), lambda w: insert(w, statement)
        case exp.Delete():
            return _on(connection, statement.this), lambda w: delete(w, statement)
        case exp.Update():
            return _on(connection, statement.this), lambda w: update(w, statement)
        case exp.Merge():
            return _on(connection, statement.this), lambda w: merge(w, statement)
        case exp.TruncateTable():
            return _on(connection, statement.expressions[0]), lambda w: truncate(w, statement)
        case exp.Alter():
            return _on(connection, statement.this), lambda w: alter(w, statement)
        case exp.Comment():
            return connection.catalog, lambda w: comment(w, statement)
        case exp.Create():
            return _created(connection, statement)
        case exp.Drop():
            return _dropped(connection, statement)
        case exp.Command() if "TABLE" in str(statement.this).upper():
            made = read_create_type(statement, connection.dialect)
            return connection.catalog, lambda w: create_type(w, made)
    raise InvalidInput(
        f"{statement.key.upper()} is not a statement that can be run here",
        hint="See docs/sql.md for the statements there are.",
    )


def _created(connection: Connection, statement: exp.Create) -> tuple[str, WriteAction]:
    match statement.args["kind"]:
        case "TABLE":
            return _on(connection, statement.this), lambda w: create_table(w, statement)
        case "VIEW":
            return _on(connection, statement.this), lambda w: create_view(w, statement)
        case "SCHEMA" | "DATABASE":
            connection.pins().touch("define", connection.catalog)
            return connection.catalog, lambda w: create_schema(w, statement)
    raise InvalidInput(f"CREATE {statement.args['kind']} is not supported")


def _dropped(connection: Connection, statement: exp.Drop) -> tuple[str, WriteAction]:
    match statement.args["kind"]:
        case "TABLE" | "VIEW":
            first = (statement.args.get("tables") or [statement.this])[0]
            return _on(connection, first), lambda w: drop(w, statement)
        case "SCHEMA" | "DATABASE":
            connection.pins().touch("define", connection.catalog)
            return connection.catalog, lambda w: drop_schema(w, statement)
    raise InvalidInput(f"DROP {statement.args['kind']} is not supported")


def _on(connection: Connection, table: exp.Expr) -> str:
    return target_name(connection, table).catalog


def _transaction(connection: Connection, statement: exp.Expr) -> int:
    savepoint = statement.args.get("savepoint")
    if isinstance(statement, exp.Transaction):
        connection.begin()
    elif isinstance(statement, exp.Commit):
        connection.commit()
    elif savepoint is not None:
        connection.rollback_to(savepoint.name)
    else:
        connection.rollback()
    return 0


def _savepoint(connection: Connection, command: str, body: str) -> int:
    words = body.split()
    if len(words) == 2 and words[0].upper() == "SAVEPOINT":
        words = words[1:]
    if len(words) != 1:
        raise InvalidInput(f"{body!r} is not the name of a savepoint", hint="Write SAVEPOINT name.")
    name = words[0].strip('"')
    if command == "SAVEPOINT":
        connection.savepoint(name)
    else:
        connection.release(name)
    return 0
