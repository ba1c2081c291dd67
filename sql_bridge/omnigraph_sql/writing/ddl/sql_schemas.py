"""CREATE SCHEMA and DROP SCHEMA: names under which plain tables and views are kept."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph.tables import define
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.catalog.information_schema import INFORMATION_SCHEMA, SYSTEM, schema_names
from omnigraph_sql.frontend.identifiers import IdentifierPart
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import names_in

_FIXED = frozenset({NODES, EDGES, INFORMATION_SCHEMA, SYSTEM})


def create_schema(work: WriteStatement, statement: exp.Create) -> int:
    """Make a schema."""
    name = schema_part(statement.this)
    known = name.pick(schema_names(work.snapshot))
    if known is not None:
        if statement.args.get("exists"):
            return 0
        raise AlreadyExists(
            f"there is a schema {known} already", hint="Use CREATE SCHEMA IF NOT EXISTS."
        )
    if "." in name.text or not name.text:
        raise InvalidInput(f"{name.text!r} cannot be the name of a schema", hint="Use no dots.")
    work.txn.plain.define(define("schema", name.text, {"owner": work.connection.user}))
    return 0


def drop_schema(work: WriteStatement, statement: exp.Drop) -> int:
    """Remove a schema, with CASCADE also what is in it; all in one publish."""
    for part in statement.args.get("tables") or [statement.this]:
        name = schema_part(part)
        found = name.pick(schema_names(work.snapshot))
        if found is None:
            if statement.args.get("exists"):
                continue
            raise NotFound(f"there is no schema {name.text!r}")
        if found in _FIXED:
            raise InvalidInput(f"the schema {found} cannot be dropped")
        names = names_in(work.snapshot, found)
        if names and not statement.args.get("cascade"):
            raise InvalidInput(
                f"the schema {found} holds {', '.join(names[:5])}",
                hint="Add CASCADE to drop them too.",
            )
        for table in names:
            full = f"{found}.{table}"
            if work.snapshot.definition("view", full):
                work.txn.plain.undefine("view", full)
            else:
                work.txn.plain.drop(full)
        if work.snapshot.definition("schema", found):
            work.txn.plain.undefine("schema", found)
    return 0


def schema_part(table: exp.Expr) -> IdentifierPart:
    """The name of a schema where the grammar has a table."""
    identifier = table.args.get("db") or table.this if isinstance(table, exp.Table) else table
    if not isinstance(identifier, exp.Expr):
        raise InvalidInput(f"{table.sql()} is not the name of a schema")
    return IdentifierPart(identifier.name, bool(identifier.args.get("quoted")))


def require_schema(work: WriteStatement, schema: str) -> None:
    """A schema that is there: tables and views do not make theirs by themselves."""
    if schema in (INFORMATION_SCHEMA, SYSTEM):
        raise InvalidInput(
            f"the schema {schema} describes the database and holds nothing else",
            hint="Use another schema.",
        )
    if schema not in schema_names(work.snapshot):
        raise NotFound(
            f"there is no schema {schema!r}", hint=f'Make it with CREATE SCHEMA "{schema}".'
        )
