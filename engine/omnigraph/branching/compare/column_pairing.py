"""Two declarations of one type side by side: which column holds which property.

Properties pair by identity, so that a rename is no change. Columns carry the names of today where
the property still exists, else those of the later declaration, else those of the earlier one; where
two properties would share a name, the dropped one has its identity appended (`flag@12`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from omnigraph.schema.model.arrow_schema import arrow_type
from omnigraph.schema.model.catalog import EdgeType, GraphType, Property
from omnigraph.schema.model.property_types import WIDENINGS, PropertyType


@dataclass(frozen=True, slots=True)
class PairedColumn:
    """One property, and what it is called on each side that has it."""

    name: str
    type: PropertyType
    before: str | None
    after: str | None


@dataclass(frozen=True)
class PairedColumns:
    """The columns in which rows of both sides are compared."""

    type: GraphType
    """The type as declared after, or before if it was dropped."""
    columns: tuple[PairedColumn, ...]

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """What rows have besides properties."""
        return ("id", "src", "dst") if isinstance(self.type, EdgeType) else ("id",)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns in Arrow terms; a property is null on a side that does not have it."""
        fixed = [pa.field(name, pa.utf8(), nullable=False) for name in self.fixed]
        return pa.schema([*fixed, *(pa.field(c.name, arrow_type(c.type)) for c in self.columns)])

    @cached_property
    def same_properties(self) -> bool:
        """Whether both sides have the same properties, so that equal files hold equal rows."""
        return all(c.before is not None and c.after is not None for c in self.columns)

    def stored(self, *, after: bool) -> dict[str, str]:
        """For each column that one side has, its name in that side's table."""
        names = {name: name for name in self.fixed}
        sided = {c.name: c.after if after else c.before for c in self.columns}
        return names | {name: stored for name, stored in sided.items() if stored is not None}


def pair_columns(
    before: GraphType | None, after: GraphType | None, today: GraphType | None = None
) -> PairedColumns:
    """The columns of a type between two declarations, of which at least one is there."""
    type_ = after or before
    assert type_ is not None
    old, new = _by_identity(before), _by_identity(after)
    names = _names((_by_identity(today), new, old))
    identities = (*new, *(i for i in old if i not in new))
    columns = (_column(names[i], old.get(i), new.get(i)) for i in identities)
    return PairedColumns(type_, tuple(columns))


def _by_identity(type_: GraphType | None) -> dict[int, Property]:
    return {p.identity: p for p in type_.properties} if type_ else {}


def _names(declarations: Iterable[Mapping[int, Property]]) -> dict[int, str]:
    """A name for every property, of the first declaration that has it."""
    names: dict[int, str] = {}
    for declared in declarations:
        used = set(names.values())
        for identity, prop in declared.items():
            free = prop.name not in used
            names.setdefault(identity, prop.name if free else f"{prop.name}@{identity}")
    return names


def _column(name: str, old: Property | None, new: Property | None) -> PairedColumn:
    shown = new or old
    assert shown is not None
    type_ = _wider(old.type, new.type) if old and new else shown.type
    return PairedColumn(name, type_, old.name if old else None, new.name if new else None)


def _wider(old: PropertyType, new: PropertyType) -> PropertyType:
    """The type that holds the values of both: what a schema change cast, whichever way we look."""
    return old if WIDENINGS.get(new.scalar) == old.scalar else new
