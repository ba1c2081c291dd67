"""A type as base, source and target of a merge have it: its declaration and table version."""

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

MergeStrategy = Literal["keep_target", "take_source", "merge_rows"]
"""Keep the target's table, make the source's table the target's, or merge row by row."""


@dataclass(frozen=True, slots=True)
class MergeSide:
    """A type on one side."""

    type: GraphType
    pointer: TablePointer

    @property
    def state(self) -> TableState:
        return TableState(self.type, self.pointer.address)


@dataclass(frozen=True, slots=True)
class ThreeWayType:
    """One type of the merged schema, or one that the merge drops."""

    merged: GraphType | None
    base: MergeSide | None
    source: MergeSide | None
    target: MergeSide | None

    @property
    def source_changed(self) -> bool:
        return not same_version(self.base, self.source)

    @property
    def target_changed(self) -> bool:
        return not same_version(self.base, self.target)

    @property
    def strategy(self) -> MergeStrategy:
        """How the rows come together: by pointers wherever only one side changed."""
        assert self.merged is not None
        if self.target is None:
            return "take_source"
        if self.source is None:
            return "keep_target"
        if not self.source_changed or same_version(self.source, self.target):
            return "keep_target" if _same_columns(self.target.type, self.merged) else "merge_rows"
        if not self.target_changed and _same_columns(self.source.type, self.merged):
            return "take_source"
        return "merge_rows"


def same_version(one: MergeSide | None, other: MergeSide | None) -> bool:
    """Whether two sides show the very same version of a table."""
    if one is None or other is None:
        return one is other
    return one.pointer.address == other.pointer.address


def _same_columns(one: GraphType, other: GraphType) -> bool:
    return bool(table_schema(one).equals(table_schema(other)))


def three_way_types(
    schema: MergedSchema, base: Pointers, source: Pointers, target: tuple[Catalog, Pointers]
) -> Iterator[ThreeWayType]:
    """Every type that any side has: those of the merged schema, then those that it drops."""
    sides = (
        _by_identity(schema.base, base),
        _by_identity(schema.source, source),
        _by_identity(*target),
    )
    merged = {type_.identity: type_ for type_ in schema.merged.catalog.types()}
    dropped = sorted({identity for side in sides for identity in side} - merged.keys())
    for identity in (*merged, *dropped):
        yield ThreeWayType(merged.get(identity), *(side.get(identity) for side in sides))


def _by_identity(catalog: Catalog, pointers: Pointers) -> dict[int, MergeSide]:
    return {
        type_.identity: MergeSide(
            type_, replace(pointers[type_.table_key], identity=type_.identity)
        )
        for type_ in catalog.types()
    }
