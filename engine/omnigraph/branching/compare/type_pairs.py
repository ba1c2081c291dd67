"""The types of two moments side by side, paired by identity: a renamed type is the same type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from omnigraph.branching.compare.table_diff import Changes, TableState, table_changes
from omnigraph.errors import OmniGraphError, StorageError
from omnigraph.schema import Catalog
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.model import TablePointer
from omnigraph.storage.core.read_errors import translating
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import Moment, reclaimed, reclaimed_since


@dataclass(frozen=True, slots=True)
class TypeAtMoment:
    """A type at one moment."""

    moment: Moment
    type: GraphType
    pointer: TablePointer

    @property
    def state(self) -> TableState:
        """The version to compare, unless its data was reclaimed."""
        if self.moment.version < self.moment.purged.get(str(self.pointer.identity), 0):
            raise reclaimed(self.moment.commit)
        return TableState(self.type, self.pointer.address)


@dataclass(frozen=True, slots=True)
class Pair:
    """One type at two moments; a side is none where the type did not exist."""

    before: TypeAtMoment | None
    after: TypeAtMoment | None
    today: GraphType | None
    """The type as the reader's schema has it, if it still does."""

    @property
    def type(self) -> GraphType:
        """The type as it was last declared among the two moments."""
        side = self.after or self.before
        assert side is not None
        return side.type

    @property
    def name(self) -> str:
        """What the type is called: today if it still exists, else as it was."""
        return (self.today or self.type).name

    @property
    def names(self) -> tuple[str, ...]:
        """Everything the type goes by."""
        sides = (self.before, self.after)
        return (self.name, *(side.type.name for side in sides if side is not None))

    @property
    def order(self) -> tuple[bool, int]:
        """Nodes before edges, then by identity."""
        return self.type.kind != "node", self.type.identity

    @property
    def moved(self) -> bool:
        """Whether the two sides can differ at all."""
        if self.before is None or self.after is None:
            return True
        return self.before.pointer.address != self.after.pointer.address


def pairs(store: GraphStore, before: Moment, after: Moment, today: Catalog) -> list[Pair]:
    """Every type of either moment, nodes before edges, then by identity."""
    old, new = _by_identity(store, before), _by_identity(store, after)
    types = [Pair(old.get(i), new.get(i), today.by_identity(i)) for i in old.keys() | new.keys()]
    return sorted(types, key=lambda pair: pair.order)


def pair_changes(store: GraphStore, pair: Pair) -> Iterator[Changes]:
    """The entities of a type that differ, in parts of ascending ids."""
    if not pair.moved:
        return

    def explain(error: StorageError) -> OmniGraphError:
        moments = [side.moment for side in (pair.before, pair.after) if side is not None]
        unreadable = (moment for moment in moments if reclaimed_since(store, moment))
        moment = next(unreadable, None) if error.code == "corruption" else None
        return error if moment is None else reclaimed(moment.commit)

    with translating(explain):
        yield from table_changes(
            store.tables,
            pair.before.state if pair.before else None,
            pair.after.state if pair.after else None,
            pair.today,
        )


def _by_identity(store: GraphStore, moment: Moment) -> dict[int, TypeAtMoment]:
    catalog = store.catalog(moment.schema)
    return {
        type_.identity: TypeAtMoment(moment, type_, moment.tables[type_.table_key])
        for type_ in catalog.types()
        if type_.table_key in moment.tables
    }
