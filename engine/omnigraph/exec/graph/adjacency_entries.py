"""Entries of adjacency taken together: targets and edges of many nodes, summed up per node."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.graph.csr import Csr

MOST = 0.8
_HIGH = np.iinfo(np.int64).max
_KEPT_COLUMNS = 8


@dataclass
class Entries:
    """The entries of some nodes, one node after the other. `indices` are none for all entries."""

    csr: Csr
    size: int
    indices: AnyArray | None
    owners: AnyArray
    counts: AnyArray
    targets: AnyArray
    mask: Mask | None = None
    """Where set, only these entries count."""

    @property
    def edges(self) -> AnyArray:
        """The edge of every entry."""
        assert self.csr.edges is not None
        return self.csr.edges if self.indices is None else self.csr.edges[self.indices]

    def along(self, name: str, values: AnyArray) -> AnyArray:
        """A property of the edge of every entry, given by position."""
        if self.indices is not None and 8 * len(self.indices) < len(self.csr.targets):
            return values[self.edges]
        # Edges lie scattered over the column: fetch them once, then read in order.
        known = self.csr.along.get(name)
        if known is None:
            assert self.csr.edges is not None
            known = values[self.csr.edges]
            if len(self.csr.along) >= _KEPT_COLUMNS:
                self.csr.along.clear()
            self.csr.along[name] = known
        return known if self.indices is None else known[self.indices]

    def only(self, chosen: Mask) -> Entries:
        """Without the entries for which the mask is false."""
        if np.count_nonzero(chosen) > MOST * len(chosen):
            return replace(self, mask=chosen)
        before = np.zeros(len(chosen) + 1, np.int64)
        np.cumsum(chosen, out=before[1:])
        ends = np.cumsum(self.counts)
        counts = before[ends] - before[ends - self.counts]
        indices = np.flatnonzero(chosen)
        targets = self.targets[indices]
        if self.indices is not None:
            indices = self.indices[indices]
        return Entries(self.csr, self.size, indices, self.owners, counts, targets)

    def sums(self, values: AnyArray | None) -> AnyArray:
        """Values of entries (1 when none are given) added up per node, by handle."""
        if self.mask is not None:
            values = self.mask if values is None else values * self.mask
        if values is None:
            return self._placed(self.counts.astype(np.int64), None)
        filled = self.counts > 0
        starts = (np.cumsum(self.counts) - self.counts)[filled]
        dtype = np.float64 if values.dtype.kind == "f" else np.int64
        if not len(starts):
            return np.zeros(self.size, dtype)
        return self._placed(np.add.reduceat(values, starts, dtype=dtype), filled)

    def best(self, ranks: AnyArray, function: str) -> AnyArray:
        """The smallest or largest rank of each node, -1 where there is none."""
        if self.mask is not None:
            ranks = np.where(self.mask, ranks, -1)
        found = np.full(self.size, -1, np.int64)
        filled = self.counts > 0
        starts = (np.cumsum(self.counts) - self.counts)[filled]
        if not len(starts):
            return found
        if function == "max":
            found[self.owners[filled]] = np.maximum.reduceat(ranks, starts)
            return found
        lowest = np.minimum.reduceat(np.where(ranks < 0, _HIGH, ranks), starts)
        found[self.owners[filled]] = np.where(lowest == _HIGH, -1, lowest)
        return found

    def _placed(self, sums: AnyArray, filled: Mask | None) -> AnyArray:
        owners = self.owners if filled is None else self.owners[filled]
        if len(owners) == self.size and self.indices is None:
            return sums
        found = np.zeros(self.size, sums.dtype)
        found[owners] = sums
        return found


def all_entries(csr: Csr, size: int, handles: Handles | None) -> Entries:
    """The entries of some nodes, or of all."""
    if handles is None:
        rows = min(csr.rows, size)
        return Entries(csr, size, None, np.arange(rows), csr.degrees[:rows], csr.targets)
    indices, counts = csr.entries(handles)
    return Entries(csr, size, indices, handles, counts, csr.targets[indices])
