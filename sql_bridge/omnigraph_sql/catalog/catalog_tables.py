"""The tables of a catalog as values: what information_schema, SHOW and clients' metadata tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from omnigraph import Snapshot
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.schema import EdgeType, GraphType
from omnigraph.tables import Definition, PlainTable
from omnigraph_sql.frontend.sql_types import arrow_type

NODES, EDGES, PUBLIC = "nodes", "edges", "public"
TableKind = Literal["node", "edge", "table", "view"]


@dataclass(frozen=True)
class ForeignKey:
    """Columns of a table that name rows of another one of the same catalog."""

    name: str
    columns: tuple[str, ...]
    schema: str
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True)
class CatalogTable:
    """One table or view of a catalog at a moment."""

    schema: str
    name: str
    kind: TableKind
    read_columns: Callable[[], pa.Schema] = field(repr=False, compare=False)
    """A plain table is opened to know them, so not before somebody asks."""
    rows: int | None = None
    comment: str | None = None
    column_comments: Mapping[str, str] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    definition: str | None = None

    @cached_property
    def columns(self) -> pa.Schema:
        """Its columns."""
        return self.read_columns()

    @property
    def table_type(self) -> str:
        """What SQL calls it."""
        return "VIEW" if self.kind == "view" else "BASE TABLE"


_known: BoundedCache[tuple[str, str], tuple[CatalogTable, ...]] = BoundedCache(256)


def catalog_tables(snapshot: Snapshot) -> tuple[CatalogTable, ...]:
    """Every table and view of a moment, by schema and name."""
    key = (snapshot.commit, snapshot.moment.reading_schema)
    found = _known.get(key)
    if found is None:
        tables = [
            *(_type_table(snapshot, type_) for type_ in snapshot.types()),
            *(_plain_table(table) for table in snapshot.plain_tables()),
            *(_view(view) for view in snapshot.definitions("view").values()),
        ]
        found = tuple(sorted(tables, key=lambda table: (table.schema, table.name)))
        _known.put(key, found)
    return found


def user_schemas(snapshot: Snapshot) -> list[str]:
    """The schemas of plain tables and views."""
    used = {table.schema for table in catalog_tables(snapshot)} - {NODES, EDGES}
    return sorted({PUBLIC, *snapshot.definitions("schema"), *used})


def _plain_table(table: PlainTable) -> CatalogTable:
    schema, _, name = table.name.partition(".")
    declared = table.declaration
    return CatalogTable(
        schema=schema,
        name=name,
        kind="table",
        read_columns=lambda: table.schema,
        rows=table.rows,
        comment=declared.comment,
        column_comments=declared.column_comments,
        primary_key=declared.primary_key,
        uniques=declared.uniques,
    )


def _view(definition: Definition) -> CatalogTable:
    schema, _, name = definition.name.partition(".")
    body = definition.body
    columns = body.get("columns", ())
    return CatalogTable(
        schema=schema,
        name=name,
        kind="view",
        read_columns=lambda: pa.schema(
            [pa.field(c["name"], _declared(c.get("type"))) for c in columns]
        ),
        comment=body.get("comment"),
        column_comments={c["name"]: c["comment"] for c in columns if c.get("comment")},
        definition=body["sql"],
    )


def _declared(text: str | None) -> pa.DataType:
    return pa.string() if text is None else arrow_type(exp.DataType.build(text, "duckdb"))


def _type_table(snapshot: Snapshot, type_: GraphType) -> CatalogTable:
    foreign: tuple[ForeignKey, ...] = ()
    if isinstance(type_, EdgeType):
        foreign = tuple(
            ForeignKey(f"{type_.name}_{column}", (column,), NODES, node, ("id",))
            for column, node in (("src", type_.src), ("dst", type_.dst))
        )
    uniques = [unique.members for unique in type_.uniques]
    if type_.key is not None:
        uniques.insert(0, type_.key.members)
    comments = {p.name: p.description for p in type_.properties if p.description}
    return CatalogTable(
        schema=EDGES if isinstance(type_, EdgeType) else NODES,
        name=type_.name,
        kind="edge" if isinstance(type_, EdgeType) else "node",
        read_columns=lambda: snapshot.schema(type_.table_key),
        rows=snapshot.count(type_.table_key),
        comment=type_.description,
        column_comments=comments,
        primary_key=("id",),
        uniques=tuple(dict.fromkeys(tuple(members) for members in uniques)),
        foreign_keys=foreign,
    )
