"""Compressed sparse rows: the neighbours of every node, in one array.

`Csr` is a set of neighbours per row; with `edges` it is a bag that names the edge of each entry.
Neighbours are in ascending order within a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omnigraph.common.array_types import Mask
from omnigraph.exec.columns.arrays import AnyArray, Handles, ascending, index_dtype, index_ranges

FEW = 64
"""Up to this many pairs are looked up one by one, without numbering every edge."""


@dataclass(frozen=True, eq=False)
class Csr:
    """`targets[starts[u]:starts[u + 1]]` are the neighbours of u; rows past the end have none."""

    starts: AnyArray
    targets: AnyArray
    edges: AnyArray | None = None

    @property
    def rows(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def along(self) -> dict[str, AnyArray]:
        """Edge properties in the order of the entries, for those who pass over all of them."""
        return {}

    @property
    def nbytes(self) -> int:
        edges = 0 if self.edges is None else self.edges.nbytes
        return int(self.starts.nbytes + self.targets.nbytes + edges)

    @cached_property
    def degrees(self) -> AnyArray:
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> AnyArray:
        """The row of every entry."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), self.degrees)

    @cached_property
    def keys(self) -> AnyArray:
        """Row and neighbour of every entry as one ascending number."""
        return (self.owners.astype(np.int64) << 32) | self.targets

    @cached_property
    def loops(self) -> Mask:
        """The rows that are their own neighbour."""
        found = np.zeros(self.rows, np.bool_)
        found[self.owners[self.owners == self.targets]] = True
        return found

    def looped(self, handles: Handles) -> Mask:
        """Which nodes are their own neighbour."""
        found: Mask = self.loops[handles]
        return found

    def between(self, left: Handles, right: Handles) -> tuple[AnyArray, AnyArray]:
        """For each pair of nodes, where its entries begin and end in `targets`."""
        if len(left) <= FEW:
            pairs = zip(left.tolist(), right.tolist(), strict=True)
            ends = np.array([self._between(u, v) for u, v in pairs], np.int64).reshape(-1, 2)
            return ends[:, 0], ends[:, 1]
        wanted = (left.astype(np.int64) << 32) | right
        keys = self.keys
        return np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")

    def _between(self, left: int, right: int) -> tuple[int, int]:
        start, stop = int(self.starts[left]), int(self.starts[left + 1])
        row = self.targets[start:stop]
        return (
            start + int(row.searchsorted(right, "left")),
            start + int(row.searchsorted(right, "right")),
        )

    def padded(self, rows: int) -> Csr:
        """The same with at least that many rows."""
        more = rows - self.rows
        if more <= 0:
            return self
        starts = np.concatenate([self.starts, np.full(more, self.starts[-1], self.starts.dtype)])
        return Csr(starts, self.targets, self.edges)

    def degree(self, handles: Handles) -> AnyArray:
        """How many neighbours each node has."""
        degrees: AnyArray = self.degrees[handles]
        return degrees

    def entries(self, handles: Handles) -> tuple[AnyArray, AnyArray]:
        """Where the neighbours of nodes are in `targets`, one node after the other; and counts."""
        if len(handles) == 1:
            start, stop = self.starts[handles[0]], self.starts[handles[0] + 1]
            return np.arange(start, stop), np.array([stop - start])
        counts = self.degrees[handles]
        return index_ranges(self.starts[handles], counts), counts

    def expand(self, handles: Handles) -> tuple[Handles, AnyArray]:
        """The neighbours of nodes, one node after the other, and how many each has."""
        if len(handles) == 1:
            start, stop = self.starts[handles[0]], self.starts[handles[0] + 1]
            return self.targets[start:stop], np.array([stop - start])
        entries, counts = self.entries(handles)
        return self.targets[entries], counts

    def without_parallel(self) -> Csr:
        """The set of neighbours of a bag."""
        if len(self.targets) < 2:
            return Csr(self.starts, self.targets)
        first = np.ones(len(self.targets), np.bool_)
        first[1:] = self.targets[1:] != self.targets[:-1]
        first[self.starts[:-1][self.degrees > 0]] = True
        if first.all():
            return Csr(self.starts, self.targets)
        before = np.zeros(len(first) + 1, self.starts.dtype)
        np.cumsum(first, out=before[1:])
        return Csr(before[self.starts], self.targets[first])


def build(rows: int, owners: AnyArray, targets: AnyArray, columns: int, edges: AnyArray) -> Csr:
    """The bag of neighbours of edges given as owner and target, each with its number."""
    count = len(owners)
    row_bits, column_bits = int(rows).bit_length(), int(columns).bit_length()
    edge_bits = int(edges.max()).bit_length() if count else 0
    if row_bits + column_bits + edge_bits <= 63:
        # One sort of packed numbers takes a third of an argsort.
        packed = owners.astype(np.int64) << (column_bits + edge_bits)
        packed |= targets.astype(np.int64) << edge_bits
        packed |= edges
        packed.sort()
        sorted_edges = (packed & ((1 << edge_bits) - 1)).astype(edges.dtype)
        packed >>= edge_bits
        sorted_targets = (packed & ((1 << column_bits) - 1)).astype(targets.dtype)
    else:
        order = np.lexsort((edges, targets, owners))
        sorted_edges, sorted_targets = edges[order], targets[order]
    return Csr(_starts(rows, owners), sorted_targets, sorted_edges)


def merge(base: Csr, mask: Mask | None, addition: Csr) -> Csr:
    """The entries of a bag that are kept, and those of another with as many rows."""
    if mask is not None:
        before = np.zeros(len(mask) + 1, base.starts.dtype)
        np.cumsum(mask, out=before[1:])
        assert base.edges is not None
        base = Csr(before[base.starts], base.targets[mask], base.edges[mask])
    if not len(addition.targets):
        return base
    assert base.edges is not None and addition.edges is not None
    rows = np.flatnonzero(addition.degrees)
    indices = np.concatenate(
        [
            base.starts[row]
            + np.searchsorted(
                base.targets[base.starts[row] : base.starts[row + 1]],
                addition.targets[addition.starts[row] : addition.starts[row + 1]],
                side="right",
            )
            for row in rows.tolist()
        ]
    )
    total = len(base.targets) + len(addition.targets)
    dtype = index_dtype(total)
    starts = base.starts.astype(dtype) + addition.starts.astype(dtype)
    return Csr(
        starts,
        np.insert(base.targets, indices, addition.targets),
        np.insert(base.edges, indices, addition.edges),
    )


def union(first: Csr, second: Csr, columns: int) -> Csr:
    """The neighbours in either of two sets over the same nodes."""
    rows = max(first.rows, second.rows)
    owners = np.concatenate([first.owners, second.owners])
    targets = np.concatenate([first.targets, second.targets])
    width = max(columns, 1)
    keys = ascending(owners.astype(np.int64) * width + targets)
    return Csr(_starts(rows, keys // width), (keys % width).astype(first.targets.dtype))


def union_bag(out: Csr, into: Csr) -> Csr:
    """Every edge from each end; one that starts and ends at the same node once."""
    assert out.edges is not None and into.edges is not None
    other = into.owners != into.targets
    owners = np.concatenate([out.owners, into.owners[other]])
    targets = np.concatenate([out.targets, into.targets[other]])
    edges = np.concatenate([out.edges, into.edges[other]])
    rows = max(out.rows, into.rows)
    return build(rows, owners, targets, rows, edges)


def _starts(rows: int, owners: AnyArray) -> AnyArray:
    starts = np.zeros(rows + 1, index_dtype(len(owners)))
    np.cumsum(np.bincount(owners, minlength=rows), out=starts[1:])
    return starts
