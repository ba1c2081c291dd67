"""Statements about the session itself: SET, USE, transactions and savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.find_relation import find_schema
from omnigraph_sql.frontend.identifiers import name_parts, pick_name

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


def is_set(statement: exp.Expr) -> bool:
    """Whether a statement sets options of the session, also in a form that has no effect."""
    return isinstance(statement, exp.Set) or _command(statement) == "SET"


def run_session_statement(connection: Connection, statement: exp.Expr) -> bool:
    """Run a statement about the session; false for any other."""
    match statement:
        case exp.Transaction():
            connection.begin()
        case exp.Commit():
            connection.commit()
        case exp.Rollback(args={"savepoint": exp.Expr() as savepoint}):
            connection.rollback_to(savepoint.name)
        case exp.Rollback():
            connection.rollback()
        case exp.Use():
            _use(connection, statement)
        case exp.Command() if _command(statement) in ("SAVEPOINT", "RELEASE"):
            _savepoint(connection, statement)
        case _ if is_set(statement):
            for item in statement.expressions:
                if isinstance(item.this, exp.EQ):
                    _set(connection, item.this.this.name.lower(), item.this.expression.name)
        case _:
            return False
    return True


def _command(statement: exp.Expr) -> str | None:
    return str(statement.this).upper() if isinstance(statement, exp.Command) else None


def _set(connection: Connection, option: str, value: str) -> None:
    """`SET dialect = 'duckdb'`; options of other databases are accepted and have no effect."""
    match option:
        case "catalog" | "branch":
            connection.check_out(value)
        case "schema" | "search_path":
            connection.schema = find_schema(connection, value.split(",")[0].strip(' "'))
        case "dialect":
            connection.dialect = value
        case "commit_message":
            connection.explain_commit(value)
        case "commit_once":
            connection.commit_once(*_batch(value))


def _batch(text: str) -> tuple[str, int]:
    """`events@7`: a stream, and the number of a batch of it."""
    stream, _, number = text.rpartition("@")
    if not stream or not (number.isascii() and number.isdigit()):
        raise InvalidInput(
            f"{text!r} is not a batch of a stream", hint="Write SET commit_once = 'events@7'."
        )
    return stream, int(number)


def _use(connection: Connection, statement: exp.Use) -> None:
    """USE b, USE SCHEMA s, USE b.s: the current catalog and schema."""
    kind = str(statement.args.get("kind") or "").upper()
    match kind, name_parts(statement.this):
        case "SCHEMA" | "DATABASE", [schema]:
            connection.schema = find_schema(connection, schema)
        case "SCHEMA" | "DATABASE" | "", [catalog, schema]:
            _use_catalog(connection, catalog)
            connection.schema = find_schema(connection, schema)
        case "CATALOG" | "", [catalog]:
            _use_catalog(connection, catalog)
        case _:
            raise InvalidInput(
                f"unsupported USE statement: {statement.sql()}", hint="Write USE branch."
            )


def _use_catalog(connection: Connection, name: str) -> None:
    branches = [branch.name for branch in connection.graph.branches()]
    connection.check_out(pick_name(name, branches) or name)


def _savepoint(connection: Connection, statement: exp.Command) -> None:
    body = str(statement.expression or "")
    words = body.split()
    if len(words) == 2 and words[0].upper() == "SAVEPOINT":
        words = words[1:]
    if len(words) != 1:
        raise InvalidInput(f"{body!r} is not the name of a savepoint", hint="Write SAVEPOINT name.")
    name = words[0].strip('"')
    if _command(statement) == "SAVEPOINT":
        connection.savepoint(name)
    else:
        connection.release(name)
