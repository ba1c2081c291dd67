"""SET: options of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from omnigraph.errors import InvalidInput
from omnigraph_sql.catalog.find_relation import find_schema
from omnigraph_sql.frontend.identifiers import IdentifierPart

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


def is_set(statement: exp.Expr) -> bool:
    """Whether a statement sets options of the session, in a form that is understood or not."""
    return isinstance(statement, exp.Set) or (
        isinstance(statement, exp.Command) and str(statement.this).upper() == "SET"
    )


def set_options(connection: Connection, statement: exp.Expr) -> None:
    """`SET dialect = 'duckdb'`; options of other databases are taken and mean nothing here."""
    for item in statement.expressions:
        if isinstance(item.this, exp.EQ):
            option = item.this.this.name.lower()
            _set(connection, option, item.this.expression.name)


def _set(connection: Connection, option: str, value: str) -> None:
    match option:
        case "catalog" | "branch":
            connection.check_out(value)
        case "schema" | "search_path":
            connection.schema = find_schema(
                connection, IdentifierPart(value.split(",")[0].strip(' "'))
            )
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
            f"{text!r} is no batch of a stream", hint="Write SET commit_once = 'events@7'."
        )
    return stream, int(number)
