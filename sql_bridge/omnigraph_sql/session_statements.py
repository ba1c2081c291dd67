"""Statements about the session itself: USE a branch or schema, SET an option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph_sql.information_schema import schema_names
from omnigraph_sql.relations import Name

if TYPE_CHECKING:
    from omnigraph_sql.connection import Connection


def is_session_statement(tree: exp.Expr) -> bool:
    """Whether a statement changes the session and nothing else."""
    return isinstance(tree, exp.Use | exp.Set)


def change_session(connection: Connection, tree: exp.Expr) -> None:
    """Do what USE or SET says."""
    if isinstance(tree, exp.Use):
        _use(connection, tree)
        return
    for item in tree.expressions:
        _set(connection, item)


def _use(connection: Connection, tree: exp.Use) -> None:
    """`USE branch`, `USE branch.schema`, `USE SCHEMA s`; a schema of this branch goes first."""
    table = tree.this
    if not isinstance(table, exp.Table):
        raise InvalidInput("USE names a branch or a schema", hint="Write USE main.")
    parts = [Name(part.name, bool(part.args.get("quoted"))) for part in table.parts]
    kind = tree.args.get("kind")
    said = kind.name.upper() if kind is not None else ""
    if len(parts) == 2:
        connection.catalog = _catalog(connection, parts[0])
        connection.schema = _schema(connection, parts[1])
    elif said == "SCHEMA":
        connection.schema = _schema(connection, parts[0])
    else:
        connection.catalog = _catalog(connection, parts[0])


def _catalog(connection: Connection, name: Name) -> str:
    pins = connection.pins()
    if pins.find(name.text) is None:
        found = name.pick(branch.name for branch in connection.graph.branches())
        if found is None:
            pins.snapshot(name.text)  # whose error says what is wrong with it
        return found or name.text
    return name.text


def _schema(connection: Connection, name: Name) -> str:
    known = schema_names(connection.pins().snapshot())
    found = name.pick(known)
    if found is None:
        raise NotFound(
            f"{connection.catalog} has no schema {name.text!r}{did_you_mean(name.text, known)}",
            hint=f"It has {', '.join(known)}.",
        )
    return found


def _set(connection: Connection, item: exp.Expr) -> None:
    """`SET dialect = 'duckdb'`; options of other databases are taken and mean nothing here."""
    pair = item.this
    if not isinstance(pair, exp.EQ):
        return
    option = pair.this.name.lower().removeprefix("omnigraph.")
    value = pair.expression.name
    match option:
        case "catalog" | "branch":
            connection.catalog = _catalog(connection, Name(value))
        case "schema" | "search_path":
            connection.schema = _schema(connection, Name(value.split(",")[0].strip(' "')))
        case "dialect":
            connection.dialect = value
