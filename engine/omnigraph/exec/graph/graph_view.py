"""A snapshot as execution sees it: nodes and edges of each type in memory, by handle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles, truth
from omnigraph.exec.columns.column_cache import LoadedTable
from omnigraph.exec.columns.node_numbering import NodeNumbering
from omnigraph.exec.columns.type_source import TypeSource, type_source
from omnigraph.exec.graph.adjacency import Adjacency, EdgeDirection
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.query.logical.logical_plan import VariableInfo
from omnigraph.storage.core.table_version import PROBE_LIMIT
from omnigraph.storage.refs.snapshot import Snapshot

T = TypeVar("T")


class Neighbours(Protocol):
    """Adjacency as matching uses it. `rows` is above every node, or none if not known."""

    @property
    def rows(self) -> int | None: ...
    @property
    def targets(self) -> AnyArray: ...
    @property
    def edges(self) -> AnyArray | None: ...
    def degree(self, handles: Handles) -> AnyArray: ...
    def entries(self, handles: Handles) -> tuple[AnyArray, AnyArray]: ...
    def expand(self, handles: Handles) -> tuple[Handles, AnyArray]: ...
    def looped(self, handles: Handles) -> Mask: ...
    def between(self, left: Handles, right: Handles) -> tuple[AnyArray, AnyArray]: ...


class EntitySet(Protocol):
    """Entities of one type by handle, wherever they are."""

    source: TypeSource

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def size(self) -> int:
        """Above every handle."""

    def all(self) -> Handles:
        """Every entity; always the same array."""

    def find(self, ids: Iterable[str]) -> Handles:
        """The entities that have one of the ids, each once."""

    def where(self, condition: str, columns: Sequence[str]) -> Handles | None:
        """The entities a condition on stored columns selects; none if these are in memory."""

    def ids(self, handles: Handles) -> pa.Array: ...

    def values(self, name: str, handles: Handles) -> pa.Array:
        """A property of some entities."""

    def by_handle(self, values: AnyArray) -> AnyArray:
        """A mask over `all` as one by handle."""

    def group_codes(self, name: str, handles: Handles) -> AnyArray:
        """Small numbers that are equal where a property is."""

    def decoded(self, name: str, codes: AnyArray) -> pa.Array:
        """The values that such numbers stand for."""


class Entities:
    """Entities of one type in memory. A handle is a dense id for nodes, a position for edges."""

    def __init__(self, source: TypeSource, table: LoadedTable) -> None:
        self.source = source
        self.table = table
        self._all: Handles | None = None

    @property
    def rows(self) -> int:
        return self.table.rows

    @property
    def size(self) -> int:
        return self.rows

    def find(self, ids: Iterable[str]) -> Handles:
        raise AssertionError("no query names an edge by its id")

    def all(self) -> Handles:
        if self._all is None:
            self._all = self._every()
        return self._all

    def _every(self) -> Handles:
        return np.arange(self.rows, dtype=np.int32)

    def positions(self, handles: Handles) -> Handles:
        return handles

    def by_handle(self, values: AnyArray, absent: object = False) -> AnyArray:
        """Values by position as values by handle, `absent` for handles without a row."""
        return values

    def ids(self, handles: Handles) -> pa.Array:
        return self._at("id", handles)

    def where(self, condition: str, columns: Sequence[str]) -> Handles | None:
        found = self.table.where(condition, columns)
        return None if found is None else self._placed(found)

    def _placed(self, positions: AnyArray) -> Handles:
        """The entities whose rows are at positions."""
        return positions

    def values(self, name: str, handles: Handles) -> pa.Array:
        found = self._at(self.source.stored(name), handles)
        target = self.source.target(name)
        return found if found.type == target else found.cast(target)

    def column(self, name: str) -> pa.Array:
        """A stored property of all entities, in position order."""
        return self.table.column(self.source.stored(name))

    def codes(self, name: str) -> tuple[AnyArray, pa.Array]:
        """A property as small numbers by position, and what they stand for."""
        return self.table.codes(self.source.stored(name))

    def numbers(self, name: str) -> AnyArray:
        """A numeric property as numpy values by position, 0 where it is null."""
        column = self.column(name)
        whole = column.fill_null(0) if column.null_count else column
        numbers: AnyArray = whole.to_numpy(zero_copy_only=False)
        return numbers

    def nulls(self, name: str) -> Mask | None:
        """Where a property is null, by position; none if nowhere."""
        column = self.column(name)
        if not column.null_count:
            return None
        nulls: Mask = column.is_null().to_numpy(zero_copy_only=False)
        return nulls

    def group_codes(self, name: str, handles: Handles) -> AnyArray:
        found: AnyArray = self.codes(name)[0][self.positions(handles)]
        return found

    def decoded(self, name: str, codes: AnyArray) -> pa.Array:
        return self.codes(name)[1].take(pa.array(codes)).cast(self.source.target(name))

    def ranks(self, name: str) -> tuple[AnyArray, pa.Array]:
        """The rank of each value of a property, by position, -1 for null; and values by rank."""
        return self.table.ranks(self.source.stored(name))

    def derived(self, name: str, make: Callable[[pa.Array], T]) -> T:
        """Something with `nbytes` that is made from a property once per table version."""
        return self.table.columns.derived(self.table, self.source.stored(name), make)

    def _at(self, name: str, handles: Handles) -> pa.Array:
        if handles is self._all:
            return self.table.column(name)
        return self.table.at(name, self.positions(handles))


class Nodes(Entities):
    def __init__(self, source: TypeSource, numbering: NodeNumbering) -> None:
        super().__init__(source, numbering.table)
        self.numbering = numbering

    @property
    def size(self) -> int:
        return self.numbering.size

    def _every(self) -> Handles:
        return self.numbering.all()

    def positions(self, handles: Handles) -> Handles:
        return self.numbering.positions(handles)

    def _placed(self, positions: AnyArray) -> Handles:
        return self.numbering.at(positions)

    def by_handle(self, values: AnyArray, absent: object = False) -> AnyArray:
        return self.numbering.by_dense(values, absent)

    def ids(self, handles: Handles) -> pa.Array:
        return self.numbering.dictionary.take(handles)

    def find(self, ids: Iterable[str]) -> Handles:
        wanted = list(dict.fromkeys(ids))
        if not self.numbering.dictionary.mapped and len(wanted) <= PROBE_LIMIT:
            return self.numbering.at(self.table.locate(wanted))
        return self.numbering.present(self.numbering.dictionary.find_each(wanted))


class PositionedNodes(Entities):
    """Nodes of a read that follows no edges: positions will do as handles, and no ids are read."""

    def find(self, ids: Iterable[str]) -> Handles:
        wanted = list(dict.fromkeys(ids))
        if len(wanted) > PROBE_LIMIT:
            known = pa.array(wanted, pa.string())
            return np.flatnonzero(truth(pc.is_in(self.table.column("id"), value_set=known)))
        return self.table.locate(wanted)


class GraphView:
    """The types of one snapshot, opened when first needed. Lives for one run."""

    numbered = True
    """Whether nodes have their dense ids, which edges lead from and to."""

    def __init__(self, snapshot: Snapshot, context: ExecContext) -> None:
        self.snapshot = snapshot
        self.context = context
        self._entities: dict[tuple[str, str], Entities] = {}
        self._sources: dict[tuple[str, str], TypeSource] = {}
        self._adjacency: dict[str, Adjacency] = {}

    def source(self, kind: str, type_name: str) -> TypeSource:
        key = (kind, type_name)
        found = self._sources.get(key)
        if found is None:
            catalog = self.snapshot.catalog
            find = catalog.node if kind == "node" else catalog.edge
            found = self._sources[key] = self.context.planned(
                self.snapshot, key, lambda: type_source(self.snapshot, find(type_name))
            )
        return found

    def count(self, kind: str, type_name: str) -> int:
        """How many entities a type has; reads nothing."""
        return self.source(kind, type_name).table.rows

    def entities(self, info: VariableInfo) -> EntitySet:
        return self.nodes(info.type_name) if info.kind == "node" else self.edges(info.type_name)

    def nodes(self, type_name: str) -> EntitySet:
        found = self._entities.get(("node", type_name))
        if found is None:
            source = self.source("node", type_name)
            if self.numbered or not self.context.spares_ids(source.table):
                found = Nodes(source, self.context.numbering(source.table))
            else:
                found = PositionedNodes(source, self.context.table(source.table))
            self._entities["node", type_name] = found
        return found

    def edges(self, type_name: str) -> EntitySet:
        found = self._entities.get(("edge", type_name))
        if found is None:
            source = self.source("edge", type_name)
            found = Entities(source, self.context.table(source.table))
            self._entities["edge", type_name] = found
        return found

    def loaded(self, info: VariableInfo) -> Entities:
        """The same as `entities`, for those who pass over whole columns."""
        found = self.entities(info)
        assert isinstance(found, Entities)
        return found

    def neighbours(self, type_name: str, direction: EdgeDirection, *, bag: bool) -> Neighbours:
        """Adjacency of an edge type, by the dense ids of its endpoint types."""
        adjacency = self._adjacency.get(type_name)
        edge = self.snapshot.catalog.edges[type_name]
        if adjacency is None:
            source = self.source("edge", type_name)
            src, dst = self.source("node", edge.src), self.source("node", edge.dst)
            adjacency = self.context.adjacency(source.table, src.table, dst.table)
            self._adjacency[type_name] = adjacency
        rows = self.nodes(edge.dst if direction == "reverse" else edge.src).size
        return adjacency.bag(direction, rows) if bag else adjacency.set(direction, rows)
