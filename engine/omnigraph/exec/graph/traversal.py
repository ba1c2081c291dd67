"""Following edges from many nodes at once: one hop, hop bounds, and edges between two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from omnigraph.common.array_types import Ints
from omnigraph.exec.columns.arrays import AnyArray, Handles
from omnigraph.exec.graph.graph_view import Neighbours

BLOCK = 1 << 22
"""How many (source, node) pairs a search holds at a time, unless it has one source."""

SOURCES = 1 << 14
"""The most sources that are searched from at a time."""

STEP = 4
"""How many times as many edges it follows at once."""

SMALL = 1 << 20
"""Marks for this many pairs cost next to nothing."""

SPARSE = 16
"""A search that meets fewer than one in so many pairs does without marks."""

DEEP = 16
"""More hops than this make no difference to an estimate, and would leave what a float can hold."""


@dataclass(frozen=True)
class Reached:
    """What the sources from `start` to `stop` reach: pairs (index of the source, node)."""

    start: int
    stop: int
    owners: Ints
    nodes: Handles


def reachable(
    csr: Neighbours, sources: Handles, low: int, high: int, *, from_target: bool
) -> Iterator[Reached]:
    """Pairs (index of the source, node) whose distance lies in [low, high], some sources at a time.

    A node with a loop is also produced one hop after it was reached
    (docs/design/query-language.md#3-matching): the node at the
    end of the path, which is the source when edges are followed backwards (`from_target`).
    """
    if low > high:
        return
    marked = csr.rows is not None and not _sparse(csr, csr.rows, len(sources), high)
    per_block = SOURCES
    if marked:
        per_block = max(1, BLOCK // max(csr.rows or 1, len(csr.targets) // STEP))
    waiting = [
        (start, min(start + per_block, len(sources))) for start in range(0, len(sources), per_block)
    ][::-1]
    while waiting:
        start, stop = waiting.pop()
        found = _search(csr, sources[start:stop], low, high, from_target, marked)
        if found is None:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            yield Reached(start, stop, found[0] + start, found[1])


def _sparse(csr: Neighbours, size: int, sources: int, high: int) -> bool:
    """Whether a search meets so few of the pairs there can be that marks would be wasted."""
    reached = sources * (1 + len(csr.targets) / max(size, 1)) ** min(high, DEEP)
    return sources * size > SMALL and SPARSE * reached < sources * size


def _search(
    csr: Neighbours, sources: Handles, low: int, high: int, from_target: bool, marked: bool
) -> tuple[AnyArray, AnyArray] | None:
    """The pairs, or nothing where several sources meet too many of them at once."""
    owner: AnyArray = np.arange(len(sources), dtype=np.int64)
    node: AnyArray = sources
    seen = _Marks(len(sources), csr.rows or 1) if marked else Pairs()
    seen.first(owner, node)
    owners, nodes = [owner[:0]], [node[:0]]
    for distance in range(high + 1):
        if distance >= low:
            owners.append(owner)
            nodes.append(node)
        elif distance == low - 1:
            looped = csr.looped(sources[owner] if from_target else node)
            owners.append(owner[looped])
            nodes.append(node[looped])
        if distance == high or not len(node):
            break
        if len(sources) > 1 and csr.degree(node).sum() > STEP * BLOCK:
            return None
        node, counts = csr.expand(node)
        owner = np.repeat(owner, counts)
        once = seen.first(owner, node)
        owner, node = owner[once], node[once]
    return np.concatenate(owners), np.concatenate(nodes)


class _Marks:
    """Which pairs were seen, with a mark for every pair there can be."""

    def __init__(self, sources: int, size: int) -> None:
        self._size = size
        self._seen = np.zeros(sources * size, np.bool_)
        self._last = np.empty(sources * size, np.int32)

    def first(self, owner: AnyArray, node: AnyArray) -> AnyArray:
        """Indices of pairs that were not seen before, one each; they are now."""
        keys = owner * self._size + node
        new = np.flatnonzero(~self._seen[keys])
        keys = keys[new]
        self._seen[keys] = True
        # Of equal keys the last one written stays.
        numbers = np.arange(len(keys), dtype=np.int32)
        self._last[keys] = numbers
        return np.asarray(new[self._last[keys] == numbers])


class Pairs:
    """The same where the number of nodes is not known."""

    def __init__(self) -> None:
        self._seen: Ints = np.empty(0, np.int64)

    def first(self, owner: AnyArray, node: AnyArray) -> AnyArray:
        keys, indices = np.unique(owner << 32 | node, return_index=True)
        new = ~np.isin(keys, self._seen, assume_unique=True)
        self._seen = np.concatenate([self._seen, keys[new]])
        return np.asarray(indices[new])
