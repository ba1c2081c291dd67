"""The target of a statement that writes: a table, a view, a node or edge type, by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from omnigraph import Snapshot
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.schema import GraphType
from omnigraph_sql.catalog.access_guard import Action
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES, TableKind, catalog_tables
from omnigraph_sql.catalog.find_relation import QualifiedName, qualified_name
from omnigraph_sql.catalog.information_schema import INFORMATION_SCHEMA, SYSTEM, schema_names
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.frontend.identifiers import name_parts, pick_name
from omnigraph_sql.writing.statement.write_statement import WriteStatement

TargetKind = TableKind | Literal["absent"]


@dataclass(frozen=True)
class WriteTarget:
    """What a name means on a branch."""

    schema: str
    name: str
    kind: TargetKind

    @property
    def full(self) -> str:
        """`<schema>.<name>`"""
        return f"{self.schema}.{self.name}"

    @property
    def type_name(self) -> str:
        """How the graph calls a node or edge type."""
        return f"{self.kind}:{self.name}"

    @property
    def is_type(self) -> bool:
        return self.kind in ("node", "edge")

    def type(self, snapshot: Snapshot) -> GraphType:
        """The node or edge type."""
        return snapshot.find_type(self.type_name)


def tables_in(snapshot: Snapshot, schema: str) -> dict[str, TableKind]:
    """The tables and views of a schema."""
    return {table.name: table.kind for table in catalog_tables(snapshot) if table.schema == schema}


def target_name(session: SessionContext, table: exp.Expr) -> QualifiedName:
    """The parts of a table's name; the branch is the session's unless the name says another."""
    if isinstance(table, exp.Schema):
        table = table.this
    if not isinstance(table, exp.Table):
        raise InvalidInput(f"{table.sql()} is not the name of a table")
    return qualified_name(session.pins(), name_parts(table))


def find_target(
    session: SessionContext, snapshot: Snapshot, named: QualifiedName, action: Action
) -> WriteTarget:
    """What a name means at a snapshot, perhaps nothing yet; the guard may refuse the action."""
    if named.schema is not None:
        schemas = [pick_name(named.schema, schema_names(snapshot)) or named.schema]
    else:
        schemas = [session.schema, NODES, EDGES]
    target = WriteTarget(schemas[0], named.name, "absent")
    for schema in schemas:
        tables = tables_in(snapshot, schema)
        name = pick_name(named.name, tables)
        if name is not None:
            target = WriteTarget(schema, name, tables[name])
            break
    session.pins().touch(action, named.catalog, target.schema, target.name)
    return target


def rows_target(work: WriteStatement, table: exp.Expr) -> WriteTarget:
    """The table or type whose rows a statement changes."""
    named = target_name(work.session, table)
    target = find_target(work.session, work.snapshot, named, "write")
    return require(target, "table", "node", "edge")


def defined_target(work: WriteStatement, table: exp.Expr) -> WriteTarget:
    """The target of a statement that alters or drops it."""
    named = target_name(work.session, table)
    return find_target(work.session, work.snapshot, named, "define")


def new_target(work: WriteStatement, named: QualifiedName, action: Action) -> WriteTarget:
    """Where a new table or view goes: types of the same name in the graph do not matter."""
    schema_name = named.schema or work.session.schema
    schema = pick_name(schema_name, schema_names(work.snapshot)) or schema_name
    if schema in (NODES, EDGES):
        kind = "NODE" if schema == NODES else "EDGE"
        raise InvalidInput(
            f"{schema} holds types of the graph", hint=f"Use CREATE {kind} TABLE to make one."
        )
    target = find_target(work.session, work.snapshot, named._replace(schema=schema), action)
    if schema in (INFORMATION_SCHEMA, SYSTEM):
        raise InvalidInput(
            f"the schema {schema} describes the database and holds nothing else",
            hint="Use another schema.",
        )
    if schema not in schema_names(work.snapshot):
        raise NotFound(
            f"there is no schema {schema!r}", hint=f'Make it with CREATE SCHEMA "{schema}".'
        )
    return target


def require(target: WriteTarget, *kinds: TargetKind) -> WriteTarget:
    """The target, if it is of one of these kinds."""
    if target.kind == "absent":
        raise NotFound(
            f"there is no table {target.full}", hint="Look at information_schema.tables."
        )
    if target.kind not in kinds:
        raise InvalidInput(f"{target.full} is a {target.kind}, which this statement cannot change")
    return target
