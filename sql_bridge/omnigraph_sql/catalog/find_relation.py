"""What a table name in a statement stands for, and how to find it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog import information_schema, system_tables
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES, CatalogTable, catalog_tables
from omnigraph_sql.catalog.information_schema import INFORMATION_SCHEMA, SYSTEM, schema_names
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.identifiers import IdentifierPart

if TYPE_CHECKING:
    from omnigraph_sql.session.connection import Connection


@dataclass(frozen=True)
class ViewText:
    """A view before it is expanded: its text, and where its names are looked up."""

    sql: str
    catalog: str
    schema: str
    dialect: str = "postgres"


@dataclass(frozen=True)
class Relation:
    """Something with rows that a statement can name."""

    name: str
    rows: ReadableTable | ComputedRows | ViewText = field(repr=False)

    @property
    def schema(self) -> pa.Schema | None:
        """Its columns; none for a view, whose text says it."""
        return None if isinstance(self.rows, ViewText) else self.rows.schema


def find_relation(pins: PinnedSnapshots, schema: str, parts: Sequence[IdentifierPart]) -> Relation:
    """The relation of a name of one to three parts, in the catalogs a statement has pinned."""
    match parts:
        case [name]:
            return _unqualified(pins, pins.current, schema, name)
        case [first, name]:
            return _of_two_parts(pins, schema, first, name)
        case [catalog, in_schema, name]:
            return _qualified(pins, _catalog(pins, catalog), in_schema, name)
    raise InvalidInput(
        f"{'.'.join(p.text for p in parts)!r} has {len(parts)} parts",
        hint="A table is named as catalog.schema.table.",
    )


def _catalog(pins: PinnedSnapshots, name: IdentifierPart) -> str:
    if pins.find(name.text) is not None:
        return name.text
    found = name.pick(branch.name for branch in pins.graph.branches())
    if found is None:
        pins.snapshot(name.text)  # whose error says what is wrong with it
    return found or name.text


def _of_two_parts(
    pins: PinnedSnapshots, schema: str, first: IdentifierPart, name: IdentifierPart
) -> Relation:
    if first.pick(schema_names(pins.snapshot())) is None and pins.find(first.text) is not None:
        return _unqualified(pins, first.text, schema, name)
    return _qualified(pins, pins.current, first, name)


def _unqualified(
    pins: PinnedSnapshots, catalog: str, schema: str, name: IdentifierPart
) -> Relation:
    """A table of the session's schema, else a node or edge type."""
    snapshot = pins.snapshot(catalog)
    tables = catalog_tables(snapshot)
    for candidates in (
        [table for table in tables if table.schema == schema],
        [table for table in tables if table.schema in (NODES, EDGES)],
    ):
        both = [name.pick(t.name for t in candidates if t.schema == s) for s in (NODES, EDGES)]
        if all(both):
            raise InvalidInput(
                f"{name.text!r} is a node type and an edge type",
                hint=f'Write nodes."{both[0]}" or edges."{both[1]}".',
            )
        found = name.pick({table.name for table in candidates})
        if found is not None:
            table = next(table for table in candidates if table.name == found)
            return _table_relation(pins, catalog, table)
    known = sorted({table.name for table in tables})
    raise NotFound(
        f"there is no table {name.text!r} in {catalog}{did_you_mean(name.text, known)}",
        hint=f"It has {', '.join(known[:20])}." if known else "It has no tables yet.",
    )


def _qualified(
    pins: PinnedSnapshots, catalog: str, schema: IdentifierPart, name: IdentifierPart
) -> Relation:
    snapshot = pins.snapshot(catalog)
    schemas = schema_names(snapshot)
    found = schema.pick(schemas)
    if found is None:
        raise NotFound(
            f"{catalog} has no schema {schema.text!r}{did_you_mean(schema.text, schemas)}",
            hint=f"It has {', '.join(schemas)}.",
        )
    if found == INFORMATION_SCHEMA:
        picked = _picked(catalog, found, name, information_schema.TABLES)
        return Relation(picked, information_schema.information_rows(picked, catalog, snapshot))
    if found == SYSTEM:
        picked = _picked(catalog, found, name, system_tables.TABLES)
        return Relation(picked, system_tables.system_rows(picked, pins.graph, snapshot))
    tables = {t.name: t for t in catalog_tables(snapshot) if t.schema == found}
    return _table_relation(pins, catalog, tables[_picked(catalog, found, name, tables)])


def _picked(catalog: str, schema: str, name: IdentifierPart, known: Iterable[str]) -> str:
    names = list(known)
    found = name.pick(names)
    if found is None:
        raise NotFound(
            f"{catalog}.{schema} has no table {name.text!r}{did_you_mean(name.text, names)}",
            hint=f"It has {', '.join(names[:20])}." if names else "It has no tables.",
        )
    return found


def _table_relation(pins: PinnedSnapshots, catalog: str, table: CatalogTable) -> Relation:
    pins.touch("read", catalog, table.schema, table.name)
    snapshot = pins.snapshot(catalog)
    if table.kind in ("node", "edge"):
        return Relation(table.name, snapshot.readable(f"{table.kind}:{table.name}"))
    full = f"{table.schema}.{table.name}"
    view = snapshot.definition("view", full)
    if view is None:
        return Relation(table.name, snapshot.plain_table(full).readable())
    body = view.body
    return Relation(table.name, ViewText(body["sql"], catalog, body["schema"], body["dialect"]))


def find_schema(connection: Connection, name: IdentifierPart) -> str:
    """The schema of the current catalog that a name means."""
    known = schema_names(connection.pins().snapshot())
    found = name.pick(known)
    if found is None:
        raise NotFound(
            f"{connection.catalog} has no schema {name.text!r}{did_you_mean(name.text, known)}",
            hint=f"It has {', '.join(known)}.",
        )
    return found
