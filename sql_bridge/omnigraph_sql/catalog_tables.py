"""The tables of a catalog as values: what information_schema, SHOW and clients' metadata tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from omnigraph.schema.catalog import EdgeType, GraphType
from omnigraph.storage.caches import BoundedCache
from omnigraph.storage.snapshot import Snapshot

NODES, EDGES, PUBLIC = "nodes", "edges", "public"
Kind = Literal["node", "edge", "table", "view"]


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
    kind: Kind
    columns: pa.Schema
    rows: int | None = None
    comment: str | None = None
    column_comments: Mapping[str, str] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    uniques: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    definition: str | None = None

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
        types = [_type_table(snapshot, type_) for type_ in snapshot.types()]
        found = tuple(sorted(types, key=lambda table: (table.schema, table.name)))
        _known.put(key, found)
    return found


def user_schemas(snapshot: Snapshot) -> list[str]:
    """The schemas of plain tables and views."""
    return [PUBLIC]


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
        columns=snapshot.schema(type_.table_key),
        rows=snapshot.count(type_.table_key),
        comment=type_.description,
        column_comments=comments,
        primary_key=("id",),
        uniques=tuple(dict.fromkeys(tuple(members) for members in uniques)),
        foreign_keys=foreign,
    )
