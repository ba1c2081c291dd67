"""The three sides of a merge, type by type: what each declares and which version holds its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from omnigraph.branching.compare.table_diff import TableState
from omnigraph.schema import Catalog
from omnigraph.schema.evolution.merge_schemas import MergedSchema
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.model import Pointers, TablePointer
from omnigraph.storage.core.table_version import TableVersion

MergeStrategy = Literal["keep", "take", "rows"]
"""Leave the target's table as it is, take the source's as a whole, or merge rows."""


@dataclass(frozen=True, slots=True)
class MergeSide:
    """A type on one side."""

    type: GraphType
    pointer: TablePointer

    @property
    def image(self) -> TableState:
        return TableState(self.type, version_of(self.pointer))


@dataclass(frozen=True, slots=True)
class ThreeWayType:
    """One type of the merged schema, or one that it no longer has."""

    merged: GraphType | None
    base: MergeSide | None
    source: MergeSide | None
    target: MergeSide | None

    @property
    def known(self) -> GraphType:
        """The type as the newest side that has it declares it."""
        return self.merged or next(s.type for s in (self.target, self.source, self.base) if s)

    @property
    def source_moved(self) -> bool:
        return not same_rows(self.base, self.source)

    @property
    def target_moved(self) -> bool:
        return not same_rows(self.base, self.target)

    @property
    def strategy(self) -> MergeStrategy:
        """How the rows come together: by pointers wherever one side alone moved."""
        assert self.merged is not None
        if self.target is None:
            return "take"
        if self.source is None:
            return "keep"
        if not self.source_moved or same_rows(self.source, self.target):
            return "keep" if _stored_alike(self.target.type, self.merged) else "rows"
        if not self.target_moved and _stored_alike(self.source.type, self.merged):
            return "take"
        return "rows"


def version_of(pointer: TablePointer) -> TableVersion:
    """The address that a pointer names."""
    return TableVersion(pointer.location, pointer.lance)


def same_rows(one: MergeSide | None, other: MergeSide | None) -> bool:
    """Whether two sides show the very same version of a table."""
    if one is None or other is None:
        return one is other
    return version_of(one.pointer) == version_of(other.pointer)


def _stored_alike(one: GraphType, other: GraphType) -> bool:
    return bool(table_schema(one).equals(table_schema(other)))


def type_sides(
    schema: MergedSchema,
    base: Pointers,
    source: Pointers,
    target: tuple[Catalog, Pointers],
) -> Iterator[ThreeWayType]:
    """Every type that any side has: those of the merged schema, then those that are gone."""
    merged = schema.merged.catalog
    sides = (
        _by_identity(schema.base, base),
        _by_identity(schema.source, source),
        _by_identity(*target),
    )
    for type_ in merged.types():
        yield ThreeWayType(type_, *(side.get(type_.identity) for side in sides))
    kept = {type_.identity for type_ in merged.types()}
    for identity in sorted({i for side in sides for i in side} - kept):
        yield ThreeWayType(None, *(side.get(identity) for side in sides))


def _by_identity(catalog: Catalog, pointers: Pointers) -> dict[int, MergeSide]:
    return {
        type_.identity: MergeSide(
            type_, replace(pointers[type_.table_key], identity=type_.identity)
        )
        for type_ in catalog.types()
    }
