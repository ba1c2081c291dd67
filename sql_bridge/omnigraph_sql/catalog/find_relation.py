"""What a table name in a statement stands for, and how to find it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from omnigraph import Snapshot
from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.tables import ReadableTable
from omnigraph_sql.catalog import information_schema, system_tables
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES, CatalogTable, catalog_tables
from omnigraph_sql.catalog.information_schema import INFORMATION_SCHEMA, SYSTEM, schema_names
from omnigraph_sql.catalog.pinned_snapshots import PinnedSnapshots
from omnigraph_sql.catalog.session_context import SessionContext
from omnigraph_sql.datafusion.computed_table import ComputedRows
from omnigraph_sql.frontend.identifiers import pick_name


class QualifiedName(NamedTuple):
    """A table's name as it was written, with the catalog it is in."""

    catalog: str
    schema: str | None
    name: str


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


def qualified_name(pins: PinnedSnapshots, parts: Sequence[str]) -> QualifiedName:
    """A name of one to three parts; of two, the first is a schema, or else a catalog."""
    match parts:
        case [name]:
            return QualifiedName(pins.current, None, name)
        case [first, name]:
            is_schema = pick_name(first, schema_names(pins.snapshot())) is not None
            if not is_schema and pins.find(first) is not None:
                return QualifiedName(first, None, name)
            return QualifiedName(pins.current, first, name)
        case [catalog, schema, name]:
            return QualifiedName(catalog, schema, name)
    raise InvalidInput(
        f"{'.'.join(parts)!r} has {len(parts)} parts",
        hint="A table is named as catalog.schema.table.",
    )


def find_relation(pins: PinnedSnapshots, schema: str, parts: Sequence[str]) -> Relation:
    """The relation of a name, in the catalogs a statement has pinned."""
    named = qualified_name(pins, parts)
    catalog = _catalog(pins, named.catalog) if len(parts) == 3 else named.catalog
    if named.schema is None:
        return _unqualified(pins, catalog, schema, named.name)
    return _qualified(pins, catalog, named.schema, named.name)


def find_schema(session: SessionContext, name: str) -> str:
    """The schema of the current catalog that a name means."""
    return _schema(session.catalog, session.pins().snapshot(), name)


def _catalog(pins: PinnedSnapshots, name: str) -> str:
    if pins.find(name) is not None:
        return name
    branch = pick_name(name, (branch.name for branch in pins.graph.branches()))
    if branch is None:
        pins.snapshot(name)  # its error says what is wrong with the name
    return branch or name


def _schema(catalog: str, snapshot: Snapshot, name: str) -> str:
    known = schema_names(snapshot)
    schema = pick_name(name, known)
    if schema is None:
        raise NotFound(
            f"{catalog} has no schema {name!r}{did_you_mean(name, known)}",
            hint=f"It has {', '.join(known)}.",
        )
    return schema


def _unqualified(pins: PinnedSnapshots, catalog: str, schema: str, name: str) -> Relation:
    """A table of the session's schema, else a node or edge type."""
    tables = catalog_tables(pins.snapshot(catalog))
    for schemas in ((schema,), (NODES, EDGES)):
        candidates = [table for table in tables if table.schema in schemas]
        both = [
            pick_name(name, (t.name for t in candidates if t.schema == s)) for s in (NODES, EDGES)
        ]
        if all(both):
            raise InvalidInput(
                f"{name!r} is a node type and an edge type",
                hint=f'Write nodes."{both[0]}" or edges."{both[1]}".',
            )
        by_name = {table.name: table for table in candidates}
        picked = pick_name(name, by_name)
        if picked is not None:
            return _table_relation(pins, catalog, by_name[picked])
    known = sorted({table.name for table in tables})
    raise NotFound(
        f"there is no table {name!r} in {catalog}{did_you_mean(name, known)}",
        hint=f"It has {', '.join(known[:20])}." if known else "It has no tables yet.",
    )


def _qualified(pins: PinnedSnapshots, catalog: str, schema_name: str, name: str) -> Relation:
    snapshot = pins.snapshot(catalog)
    schema = _schema(catalog, snapshot, schema_name)
    if schema == INFORMATION_SCHEMA:
        picked = _table_name(catalog, schema, name, information_schema.TABLES)
        snapshot.note_reads_of_all()
        return Relation(picked, information_schema.information_rows(picked, catalog, snapshot))
    if schema == SYSTEM:
        picked = _table_name(catalog, schema, name, system_tables.TABLES)
        return Relation(picked, system_tables.system_rows(picked, pins.graph, snapshot))
    tables = {t.name: t for t in catalog_tables(snapshot) if t.schema == schema}
    return _table_relation(pins, catalog, tables[_table_name(catalog, schema, name, tables)])


def _table_name(catalog: str, schema: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    picked = pick_name(name, names)
    if picked is None:
        raise NotFound(
            f"{catalog}.{schema} has no table {name!r}{did_you_mean(name, names)}",
            hint=f"It has {', '.join(names[:20])}." if names else "It has no tables.",
        )
    return picked


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
