"""What a statement that writes is about: a table, a view, a node or edge type, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from omnigraph import Snapshot
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.schema import GraphType
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES, catalog_tables
from omnigraph_sql.catalog.information_schema import schema_names
from omnigraph_sql.frontend.identifiers import IdentifierPart

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection

TargetKind = Literal["node", "edge", "table", "view", "absent"]


@dataclass(frozen=True)
class TargetName:
    """A name as it was written, with the branch it is on."""

    catalog: str
    schema: IdentifierPart | None
    name: IdentifierPart


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


def names_in(snapshot: Snapshot, schema: str) -> list[str]:
    """The tables and views of a schema."""
    return [table.name for table in catalog_tables(snapshot) if table.schema == schema]


def target_name(connection: Connection, table: exp.Expr) -> TargetName:
    """The parts of a table's name; the branch is the session's unless the name says another."""
    if isinstance(table, exp.Schema):
        table = table.this
    if not isinstance(table, exp.Table):
        raise InvalidInput(f"{table.sql()} is not the name of a table")
    parts = [IdentifierPart(part.name, bool(part.args.get("quoted"))) for part in table.parts]
    return _placed(connection, parts)


def _placed(connection: Connection, parts: Sequence[IdentifierPart]) -> TargetName:
    match parts:
        case [name]:
            return TargetName(connection.catalog, None, name)
        case [first, name]:
            pins = connection.pins()
            known = schema_names(pins.snapshot())
            if first.pick(known) is None and pins.find(first.text) is not None:
                return TargetName(first.text, None, name)
            return TargetName(connection.catalog, first, name)
        case [catalog, schema, name]:
            return TargetName(catalog.text, schema, name)
    raise InvalidInput(
        f"{'.'.join(part.text for part in parts)!r} has {len(parts)} parts",
        hint="A table is named as catalog.schema.table.",
    )


def find_target(connection: Connection, snapshot: Snapshot, named: TargetName) -> WriteTarget:
    """What is there under a name, or that nothing is; where it would be made."""
    target = _find(connection, snapshot, named)
    connection.pins().touch(connection.action, named.catalog, target.schema, target.name)
    return target


def _find(connection: Connection, snapshot: Snapshot, named: TargetName) -> WriteTarget:
    if named.schema is not None:
        schema = named.schema.pick(schema_names(snapshot)) or named.schema.text
        found = named.name.pick(names_in(snapshot, schema))
        if found is None:
            return WriteTarget(schema, named.name.text, "absent")
        return WriteTarget(schema, found, _kind(snapshot, schema, found))
    schema = connection.schema or "public"
    for place in dict.fromkeys((schema, NODES, EDGES)):
        found = named.name.pick(names_in(snapshot, place))
        if found is not None:
            return WriteTarget(place, found, _kind(snapshot, place, found))
    return WriteTarget(schema, named.name.text, "absent")


def place_for(connection: Connection, snapshot: Snapshot, named: TargetName) -> WriteTarget:
    """Where a new table or view goes: types of the same name in the graph do not matter."""
    schema = named.schema or IdentifierPart(connection.schema or "public")
    place = schema.pick(schema_names(snapshot)) or schema.text
    if place in (NODES, EDGES):
        kind = "NODE" if place == NODES else "EDGE"
        raise InvalidInput(
            f"{place} holds types of the graph", hint=f"Use CREATE {kind} TABLE to make one."
        )
    return find_target(
        connection, snapshot, TargetName(named.catalog, IdentifierPart(place), named.name)
    )


def require(target: WriteTarget, *kinds: TargetKind) -> WriteTarget:
    """The target, if it is of one of these kinds."""
    if target.kind == "absent":
        raise NotFound(
            f"there is no table {target.full}", hint="Look at information_schema.tables."
        )
    if target.kind not in kinds:
        raise InvalidInput(f"{target.full} is a {target.kind}, which this statement cannot change")
    return target


def _kind(snapshot: Snapshot, schema: str, name: str) -> TargetKind:
    if schema in (NODES, EDGES):
        return "node" if schema == NODES else "edge"
    return "view" if snapshot.definition("view", f"{schema}.{name}") else "table"
