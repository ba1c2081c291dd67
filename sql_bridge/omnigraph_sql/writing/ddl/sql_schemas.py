"""CREATE SCHEMA and DROP SCHEMA: namespaces of plain tables and views."""

from __future__ import annotations

from sqlglot import exp

from omnigraph.errors import AlreadyExists, InvalidInput, NotFound
from omnigraph.tables import define
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES
from omnigraph_sql.catalog.information_schema import INFORMATION_SCHEMA, SYSTEM, schema_names
from omnigraph_sql.frontend.identifiers import pick_name
from omnigraph_sql.writing.statement.write_statement import WriteStatement
from omnigraph_sql.writing.statement.write_target import tables_in

_FIXED = frozenset({NODES, EDGES, INFORMATION_SCHEMA, SYSTEM})


def create_schema(work: WriteStatement, statement: exp.Create) -> int:
    """Make a schema."""
    work.session.pins().touch("define", work.catalog)
    name = _schema_name(statement.this)
    known = pick_name(name, schema_names(work.snapshot))
    if known is not None:
        if statement.args.get("exists"):
            return 0
        raise AlreadyExists(
            f"there is a schema {known} already", hint="Use CREATE SCHEMA IF NOT EXISTS."
        )
    if "." in name or not name:
        raise InvalidInput(f"{name!r} cannot be the name of a schema", hint="Use no dots.")
    work.txn.plain.define(define("schema", name, {"owner": work.session.user}))
    return 0


def drop_schema(work: WriteStatement, statement: exp.Drop) -> int:
    """Remove a schema, with CASCADE also what is in it; all in one publish."""
    work.session.pins().touch("define", work.catalog)
    for part in statement.args.get("tables") or [statement.this]:
        name = _schema_name(part)
        schema = pick_name(name, schema_names(work.snapshot))
        if schema is None:
            if statement.args.get("exists"):
                continue
            raise NotFound(f"there is no schema {name!r}")
        if schema in _FIXED:
            raise InvalidInput(f"the schema {schema} cannot be dropped")
        tables = tables_in(work.snapshot, schema)
        if tables and not statement.args.get("cascade"):
            raise InvalidInput(
                f"the schema {schema} holds {', '.join(list(tables)[:5])}",
                hint="Add CASCADE to drop them too.",
            )
        for table, kind in tables.items():
            if kind == "view":
                work.txn.plain.undefine("view", f"{schema}.{table}")
            else:
                work.txn.plain.drop(f"{schema}.{table}")
        if work.snapshot.definition("schema", schema):
            work.txn.plain.undefine("schema", schema)
    return 0


def _schema_name(table: exp.Expr) -> str:
    """The name of a schema where the grammar has a table."""
    identifier = table.args.get("db") or table.this if isinstance(table, exp.Table) else table
    if not isinstance(identifier, exp.Expr):
        raise InvalidInput(f"{table.sql()} is not the name of a schema")
    return identifier.name
