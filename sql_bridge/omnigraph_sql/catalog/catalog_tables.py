"""The tables of a catalog as values, for information_schema, SHOW and clients' metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import pyarrow as pa
from sqlglot import exp

from omnigraph import Snapshot
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
    """Called when they are needed: it opens a plain table."""
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


def catalog_tables(snapshot: Snapshot) -> tuple[CatalogTable, ...]:
    """Every table and view of a moment, by schema and name."""
    moment = _Moment(snapshot.commit, snapshot.moment.reading_schema, snapshot.unrecorded())
    return _tables_at(moment)


@dataclass(frozen=True)
class _Moment:
    """What the tables of a catalog depend on; snapshots of one moment are the same key."""

    commit: str
    reading_schema: str
    snapshot: Snapshot = field(repr=False, compare=False)


@lru_cache(maxsize=256)
def _tables_at(moment: _Moment) -> tuple[CatalogTable, ...]:
    snapshot = moment.snapshot
    tables = [
        *(_type_table(snapshot, type_) for type_ in snapshot.types()),
        *(_plain_table(table) for table in snapshot.plain_tables()),
        *(_view(view) for view in snapshot.definitions("view").values()),
    ]
    return tuple(sorted(tables, key=lambda table: (table.schema, table.name)))


def user_schemas(snapshot: Snapshot) -> list[str]:
    """The schemas of plain tables and views."""
    used = {table.schema for table in catalog_tables(snapshot)} - {NODES, EDGES}
    return sorted({PUBLIC, *snapshot.unrecorded().definitions("schema"), *used})


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
    is_edge = isinstance(type_, EdgeType)
    ends = (("src", type_.src), ("dst", type_.dst)) if isinstance(type_, EdgeType) else ()
    keys = [unique.members for unique in type_.uniques]
    if type_.key is not None:
        keys.insert(0, type_.key.members)
    return CatalogTable(
        schema=EDGES if is_edge else NODES,
        name=type_.name,
        kind="edge" if is_edge else "node",
        read_columns=lambda: snapshot.schema(type_.table_key),
        rows=snapshot.count(type_.table_key),
        comment=type_.description,
        column_comments={p.name: p.description for p in type_.properties if p.description},
        primary_key=("id",),
        uniques=tuple(dict.fromkeys(keys)),
        foreign_keys=tuple(
            ForeignKey(f"{type_.name}_{column}", (column,), NODES, node, ("id",))
            for column, node in ends
        ),
    )
