"""What a table name in a statement stands for, and how to find it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from omnigraph.errors import InvalidInput, NotFound, did_you_mean
from omnigraph.storage.providers import ReadableTable
from omnigraph.storage.snapshot import Snapshot
from omnigraph_sql.computed import ComputedRows
from omnigraph_sql.pins import Pins

Kind = Literal["node", "edge", "table", "view", "system", "function"]

NODES, EDGES, PUBLIC = "nodes", "edges", "public"


@dataclass(frozen=True)
class ViewText:
    """A view before it is expanded: its text, and where its names are looked up."""

    sql: str
    catalog: str
    schema: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    """Something with rows that a statement can name."""

    name: str
    kind: Kind
    rows: ReadableTable | ComputedRows | ViewText = field(repr=False)

    @property
    def schema(self) -> pa.Schema | None:
        """Its columns; none for a view, whose text says it."""
        return None if isinstance(self.rows, ViewText) else self.rows.schema


@dataclass(frozen=True)
class Name:
    """One part of a name as it was written."""

    text: str
    quoted: bool = False

    def pick(self, known: Iterable[str]) -> str | None:
        """The known name meant: the same, or the only one that differs in case alone."""
        names = list(known)
        if self.text in names:
            return self.text
        folded = self.text.casefold()
        close = [name for name in names if name.casefold() == folded]
        if len(close) > 1:
            raise InvalidInput(
                f"{self.text!r} may be {' or '.join(map(repr, sorted(close)))}",
                hint="Write the name in double quotes, exactly as it is.",
            )
        return close[0] if close else None


def find_relation(pins: Pins, schema: str | None, parts: Sequence[Name]) -> Relation:
    """The relation of a name of one to three parts, in the catalogs a statement has pinned."""
    match parts:
        case [name]:
            return _unqualified(pins, pins.current, schema, name)
        case [first, name]:
            return _of_two_parts(pins, first, name)
        case [catalog, in_schema, name]:
            return _qualified(pins, _catalog(pins, catalog), in_schema, name)
    raise InvalidInput(
        f"{'.'.join(p.text for p in parts)!r} has {len(parts)} parts",
        hint="A table is named as catalog.schema.table.",
    )


def schema_names(snapshot: Snapshot) -> list[str]:
    """The schemas of a catalog, besides the system's own."""
    return [NODES, EDGES, PUBLIC]


def _catalog(pins: Pins, name: Name) -> str:
    if pins.find(name.text) is not None:
        return name.text
    branches = [branch.name for branch in pins.graph.branches()]
    found = name.pick(branches) if not name.quoted else None
    if found is None:
        pins.snapshot(name.text)  # whose error says what is wrong with it
    return found or name.text


def _of_two_parts(pins: Pins, first: Name, name: Name) -> Relation:
    if first.pick(schema_names(pins.snapshot())) is None and pins.find(first.text) is not None:
        return _unqualified(pins, first.text, None, name)
    return _qualified(pins, pins.current, first, name)


def _unqualified(pins: Pins, catalog: str, schema: str | None, name: Name) -> Relation:
    snapshot = pins.snapshot(catalog)
    node, edge = name.pick(_nodes(snapshot)), name.pick(_edges(snapshot))
    if node is not None and edge is not None:
        raise InvalidInput(
            f"{name.text!r} is a node type and an edge type",
            hint=f'Write nodes."{node}" or edges."{edge}".',
        )
    if node is not None:
        return _type_relation(snapshot, NODES, node)
    if edge is not None:
        return _type_relation(snapshot, EDGES, edge)
    known = [*_nodes(snapshot), *_edges(snapshot)]
    raise NotFound(
        f"there is no table {name.text!r} in {catalog}{did_you_mean(name.text, known)}",
        hint=f"It has {', '.join(known[:20])}." if known else "It has no tables yet.",
    )


def _qualified(pins: Pins, catalog: str, schema: Name, name: Name) -> Relation:
    snapshot = pins.snapshot(catalog)
    found = schema.pick(schema_names(snapshot))
    if found is None:
        known = schema_names(snapshot)
        raise NotFound(
            f"{catalog} has no schema {schema.text!r}{did_you_mean(schema.text, known)}",
            hint=f"It has {', '.join(known)}.",
        )
    known = _nodes(snapshot) if found == NODES else _edges(snapshot) if found == EDGES else []
    table = name.pick(known)
    if table is None:
        raise NotFound(
            f"{catalog}.{found} has no table {name.text!r}{did_you_mean(name.text, known)}",
            hint=f"It has {', '.join(known[:20])}." if known else "It has no tables.",
        )
    return _type_relation(snapshot, found, table)


def _nodes(snapshot: Snapshot) -> list[str]:
    return [type_.name for type_ in snapshot.types() if type_.kind == "node"]


def _edges(snapshot: Snapshot) -> list[str]:
    return [type_.name for type_ in snapshot.types() if type_.kind == "edge"]


def _type_relation(snapshot: Snapshot, schema: str, name: str) -> Relation:
    kind: Literal["node", "edge"] = "node" if schema == NODES else "edge"
    return Relation(name, kind, snapshot.readable(f"{kind}:{name}"))
