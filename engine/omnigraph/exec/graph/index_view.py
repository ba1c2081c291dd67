"""Reading a cold graph through its indexes: rows and neighbours are looked up as they are needed.

Gives the same results as adjacency in memory. Worth it when a query touches little of a large
graph that is not in memory: a look-up takes about a millisecond, loading depends on the size.
Handles are numbers given out as entities are met, and mean something in one run only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles, index_ranges
from omnigraph.exec.columns.type_source import TypeSource
from omnigraph.exec.graph.adjacency import EdgeDirection
from omnigraph.exec.graph.exec_context import ExecContext
from omnigraph.exec.graph.graph_view import GraphView, Neighbours
from omnigraph.schema.model.catalog import EdgeType
from omnigraph.storage.core.lance_filter import in_condition
from omnigraph.storage.core.table_version import PROBE_LIMIT
from omnigraph.storage.refs.snapshot import Snapshot


class LookupBudgetExceeded(Exception):  # noqa: N818
    """The query touches more than look-ups are good for."""


class IndexedView(GraphView):
    """A view that loads nothing. `limit` is how many rows it may look up, if there is one."""

    def __init__(self, snapshot: Snapshot, context: ExecContext, limit: int | None) -> None:
        super().__init__(snapshot, context)
        self._limit = limit
        self._read = 0
        self._indexed: dict[tuple[str, str], IndexedEntities] = {}
        self._found: dict[tuple[str, EdgeDirection, bool], IndexedNeighbours] = {}

    def nodes(self, type_name: str) -> IndexedEntities:
        return self._of("node", type_name)

    def edges(self, type_name: str) -> IndexedEntities:
        return self._of("edge", type_name)

    def neighbours(self, type_name: str, direction: EdgeDirection, *, bag: bool) -> Neighbours:
        key = (type_name, direction, bag)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = IndexedNeighbours(self, type_name, direction, bag)
        return found

    def look_up(
        self, source: TypeSource, column: str, values: Sequence[str], columns: Sequence[str]
    ) -> Iterable[dict[str, Any]]:
        """Rows whose text column has one of the values; columns by their stored names."""
        for start in range(0, len(values), PROBE_LIMIT):
            some = pa.array(values[start : start + PROBE_LIMIT], pa.string())
            yield from self.select(source, in_condition(column, some), columns)

    def select(
        self, source: TypeSource, condition: str | None, columns: Sequence[str]
    ) -> Iterable[dict[str, Any]]:
        """Rows that satisfy a condition of the table; all of them only where there is no limit."""
        if condition is None and self._limit is not None:
            raise LookupBudgetExceeded
        self.context.counters.lookups += 1
        table = source.table.read_where(columns, condition)
        self._read += table.num_rows
        if self._limit is not None and self._read > self._limit:
            raise LookupBudgetExceeded
        found: list[dict[str, Any]] = table.to_pylist()
        return found

    def _of(self, kind: str, type_name: str) -> IndexedEntities:
        found = self._indexed.get((kind, type_name))
        if found is None:
            source = self.source(kind, type_name)
            found = self._indexed[kind, type_name] = IndexedEntities(self, source)
        return found


class IndexedEntities:
    """Entities of one type, as far as the run has met them."""

    def __init__(self, view: IndexedView, source: TypeSource) -> None:
        self._view = view
        self.source = source
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._values: dict[str, dict[int, Any]] = {}
        self._codes: dict[str, dict[Any, int]] = {}
        self._all: Handles | None = None

    @property
    def rows(self) -> int:
        return self.source.table.rows

    @property
    def size(self) -> int:
        return len(self._ids)

    def number(self, text: str) -> int:
        """The handle of an id that is known to exist."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._ids)
            self._ids.append(text)
        return found

    def all(self) -> Handles:
        if self._all is None:
            self._all = self.where(None)
        return self._all

    def find(self, ids: Iterable[str]) -> Handles:
        rows = self._view.look_up(self.source, "id", list(dict.fromkeys(ids)), ["id"])
        return np.array([self.number(row["id"]) for row in rows], np.int32)

    def where(self, condition: str | None, columns: Sequence[str] = ()) -> Handles:
        rows = self._view.select(self.source, condition, ["id"])
        return np.array([self.number(row["id"]) for row in rows], np.int32)

    def ids(self, handles: Handles) -> pa.Array:
        return pa.array([self._ids[handle] for handle in handles.tolist()], pa.string())

    def values(self, name: str, handles: Handles) -> pa.Array:
        known = self._values.setdefault(name, {})
        wanted = handles.tolist()
        missing = [handle for handle in dict.fromkeys(wanted) if handle not in known]
        if missing:
            stored = self.source.stored(name)
            texts = [self._ids[handle] for handle in missing]
            for row in self._view.look_up(self.source, "id", texts, ["id", stored]):
                known[self._numbers[row["id"]]] = row[stored]
        return pa.array([known[handle] for handle in wanted], self.source.target(name))

    def group_codes(self, name: str, handles: Handles) -> AnyArray:
        codes = self._codes.setdefault(name, {})
        values = self.values(name, handles).to_pylist()
        keys = (tuple(value) if isinstance(value, list) else value for value in values)
        return np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)

    def decoded(self, name: str, codes: AnyArray) -> pa.Array:
        values = list(self._codes[name])
        return pa.array([values[code] for code in codes.tolist()], self.source.target(name))

    def by_handle(self, values: AnyArray) -> AnyArray:
        """Masks over all entities are made from `all`, which is in the order of handles met."""
        found = np.zeros(self.size, np.bool_)
        found[self.all()] = values
        return found


class IndexedNeighbours:
    """Neighbours of the nodes looked up so far, each node's in ascending order."""

    def __init__(
        self, view: IndexedView, type_name: str, direction: EdgeDirection, bag: bool
    ) -> None:
        self._view = view
        self._type: EdgeType = view.snapshot.catalog.edges[type_name]
        self._direction = direction
        self._bag = bag
        self._source = view.source("edge", type_name)
        self._edge_set = view.edges(type_name)
        self._known: set[int] = set()
        self._starts = np.zeros(0, np.int64)
        self._degrees = np.zeros(0, np.int64)
        self.targets: Handles = np.empty(0, np.int64)
        self.edges: AnyArray | None = np.empty(0, np.int64) if bag else None

    rows = None

    def degree(self, handles: Handles) -> AnyArray:
        self._learn(handles)
        return self._degrees[handles]

    def entries(self, handles: Handles) -> tuple[AnyArray, AnyArray]:
        counts = self.degree(handles)
        return index_ranges(self._starts[handles], counts), counts

    def expand(self, handles: Handles) -> tuple[Handles, AnyArray]:
        entries, counts = self.entries(handles)
        return self.targets[entries], counts

    def looped(self, handles: Handles) -> Mask:
        starts, stops = self.between(handles, handles)
        return np.asarray(stops > starts)

    def between(self, left: Handles, right: Handles) -> tuple[AnyArray, AnyArray]:
        self._learn(left)
        ends = np.empty((len(left), 2), np.int64)
        for row, (u, v) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            start = self._starts[u]
            mine = self.targets[start : start + self._degrees[u]]
            ends[row] = start + mine.searchsorted(v, "left"), start + mine.searchsorted(v, "right")
        return ends[:, 0], ends[:, 1]

    def _learn(self, handles: Handles) -> None:
        fresh = [h for h in dict.fromkeys(handles.tolist()) if h not in self._known]
        if not fresh:
            return
        found: dict[int, list[tuple[int, int]]] = {handle: [] for handle in fresh}
        if self._direction != "reverse":
            self._follow(found, "src", "dst", self._type.src, self._type.dst)
        if self._direction != "forward":
            self._follow(found, "dst", "src", self._type.dst, self._type.src)
        self._remember(found)

    def _follow(
        self, found: dict[int, list[tuple[int, int]]], near: str, far: str, own: str, other: str
    ) -> None:
        origins, targets = self._view.nodes(own), self._view.nodes(other)
        texts = origins.ids(np.array(list(found), np.int64)).to_pylist()
        columns = ["id", "src", "dst"] if self._bag else ["src", "dst"]
        loops_done = self._direction == "undirected" and near == "dst"
        for row in self._view.look_up(self._source, near, texts, columns):
            if loops_done and row["src"] == row["dst"]:
                continue
            edge = self._edge_set.number(row["id"]) if self._bag else 0
            entry = (targets.number(row[far]), edge)
            found[origins.number(row[near])].append(entry)

    def _remember(self, found: dict[int, list[tuple[int, int]]]) -> None:
        high = max(found) + 1
        if high > len(self._starts):
            more = np.zeros(high - len(self._starts), np.int64)
            self._starts = np.concatenate([self._starts, more])
            self._degrees = np.concatenate([self._degrees, more])
        flat: list[tuple[int, int]] = []
        for handle, entries in found.items():
            entries = sorted(entries if self._bag else set(entries))
            self._starts[handle] = len(self.targets) + len(flat)
            self._degrees[handle] = len(entries)
            flat.extend(entries)
        self._known.update(found)
        pairs = np.array(flat, np.int64).reshape(-1, 2)
        self.targets = np.concatenate([self.targets, pairs[:, 0]])
        if self.edges is not None:
            self.edges = np.concatenate([self.edges, pairs[:, 1]])
