"""Node numberings: which dense ids a node table version holds, and where their rows are."""

from __future__ import annotations

import numpy as np

from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.columns.column_cache import LoadedTable
from omnigraph.exec.columns.id_dictionary import IdDictionary


class NodeNumbering:
    """The nodes of one table version. `size` is above every dense id in it."""

    def __init__(
        self, dictionary: IdDictionary, table: LoadedTable, dense_parts: list[Handles]
    ) -> None:
        self.dictionary = dictionary
        self.table = table
        if len(dense_parts) == 1:
            dense = dense_parts[0]
        else:
            dense = np.concatenate([np.empty(0, np.int32), *dense_parts])
        self.size = dictionary.size
        self.rows = len(dense)
        ordered = bool(np.array_equal(dense, np.arange(self.rows, dtype=dense.dtype)))
        self._all = dense
        self._dense: AnyArray | None = None if ordered else dense
        self._positions: AnyArray | None = None
        if not ordered:
            self._positions = np.full(self.size, -1, np.int32)
            self._positions[dense] = np.arange(self.rows, dtype=np.int32)

    def all(self) -> Handles:
        """Every node, in position order."""
        return self._all

    def at(self, positions: AnyArray) -> Handles:
        """The nodes whose rows are at positions."""
        return positions if self._dense is None else self._dense[positions]

    def positions(self, handles: Handles) -> Handles:
        """Where the rows of nodes are; every node must be in this version."""
        return handles if self._positions is None else self._positions[handles]

    def present(self, handles: Handles) -> Handles:
        """Those that are nodes of this version."""
        if len(handles) == 1:
            return handles if self.holds(int(handles[0])) else handles[:0]
        known = handles[(handles >= 0) & (handles < self.size)]
        if self._positions is None:
            return known[known < self.rows]
        return known[self._positions[known] >= 0]

    def holds(self, handle: int) -> bool:
        """Whether a dense id is a node of this version."""
        if self._positions is None:
            return 0 <= handle < self.rows
        return 0 <= handle < self.size and bool(self._positions[handle] >= 0)

    def by_dense(self, by_position: AnyArray, absent: object) -> AnyArray:
        """Values in position order turned into values by dense id."""
        if self._dense is None and self.size == self.rows:
            return by_position
        values = np.full(self.size, absent, by_position.dtype)
        values[slice(self.rows) if self._dense is None else self._dense] = by_position
        return values
