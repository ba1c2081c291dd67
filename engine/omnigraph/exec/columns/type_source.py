"""Where rows come from: a type's table at a snapshot, under the names it was stored with.

The door between execution and storage: everything execution reads from a table passes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.catalog import EdgeType, GraphType
from omnigraph.storage.refs.snapshot import Snapshot
from omnigraph.storage.tables.fragment_scan import TableSource


@dataclass(frozen=True)
class TypeSource:
    """A type at a snapshot: its table, and how its properties were called and stored then."""

    type: GraphType
    table: TableSource
    names: Mapping[str, str]
    snapshot: Snapshot = field(compare=False, repr=False)

    def stored(self, name: str) -> str:
        """The column that holds a property (or id, src, dst) of today."""
        try:
            return self.names[name]
        except KeyError:
            raise self.snapshot.no_property_then(self.type, name) from None

    def target(self, name: str) -> pa.DataType:
        """The Arrow type a property has today."""
        return arrow_type(self.type.property(name).type)


def type_source(snapshot: Snapshot, type_: GraphType) -> TypeSource:
    """The table of a type of today's schema at the snapshot's moment."""
    pointer = snapshot.pointer(type_)
    names = snapshot.stored_names(type_)
    table = TableSource(
        snapshot.tables,
        pointer.address,
        pointer.identity,
        pointer.rows,
        ("src", "dst") if isinstance(type_, EdgeType) else ("id",),
    )
    return TypeSource(type_, table, names, snapshot)
