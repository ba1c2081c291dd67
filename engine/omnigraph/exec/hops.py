"""Following edges from many nodes at once: one hop, hop bounds, and edges between two nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.exec.arrays import AnyArray, Handles, Ints
from omnigraph.exec.view import Neighbours

BLOCK = 1 << 24
"""How many (source, node) pairs one breadth-first search marks at a time."""

SMALL = 1 << 20
"""Marks for this many pairs cost next to nothing."""

DEEP = 16
"""More hops than this make no difference to an estimate, and would leave what a float can hold."""


def reachable(
    csr: Neighbours, sources: Handles, low: int, high: int, *, from_target: bool
) -> tuple[Ints, Handles]:
    """Pairs (place of the source, node) whose distance lies in [low, high].

    A node with a loop is also produced one hop after it was reached (section 3): the node at the
    end of the path, which is the source when edges are followed backwards (`from_target`).
    """
    if low > high:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    marked = csr.rows is not None and not _sparse(csr, csr.rows, len(sources), high)
    per_block = max(1, BLOCK // max(csr.rows or 1, 1)) if marked else max(len(sources), 1)
    owners: list[AnyArray] = []
    nodes: list[AnyArray] = []
    for start in range(0, len(sources), per_block):
        block = sources[start : start + per_block]
        for owner, node in _search(csr, block, low, high, from_target, marked):
            owners.append(owner + start)
            nodes.append(node)
    if not owners:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    return np.concatenate(owners), np.concatenate(nodes)


def _sparse(csr: Neighbours, size: int, sources: int, high: int) -> bool:
    """Whether a search meets so few of the pairs there can be that marks would be wasted."""
    reached = sources * (1 + len(csr.targets) / max(size, 1)) ** min(high, DEEP)
    return sources * size > SMALL and 16 * reached < sources * size


def _search(
    csr: Neighbours, sources: Handles, low: int, high: int, from_target: bool, marked: bool
) -> Iterator[tuple[AnyArray, AnyArray]]:
    owner: AnyArray = np.arange(len(sources), dtype=np.int64)
    node: AnyArray = sources
    seen = _Marks(len(sources), csr.rows or 1) if marked else Pairs()
    seen.first(owner, node)
    for distance in range(high + 1):
        if distance >= low:
            yield owner, node
        elif distance == low - 1:
            looped = csr.looped(sources[owner] if from_target else node)
            if looped.any():
                yield owner[looped], node[looped]
        if distance == high or not len(node):
            return
        node, counts = csr.expand(node)
        owner = np.repeat(owner, counts)
        once = seen.first(owner, node)
        owner, node = owner[once], node[once]


class _Marks:
    """Which pairs were seen, with a mark for every pair there can be."""

    def __init__(self, sources: int, size: int) -> None:
        self._size = size
        self._seen = np.zeros(sources * size, np.bool_)
        self._last = np.empty(sources * size, np.int32)

    def first(self, owner: AnyArray, node: AnyArray) -> AnyArray:
        """Places of pairs that were not seen before, one each; they are now."""
        keys = owner * self._size + node
        new = np.flatnonzero(~self._seen[keys])
        keys = keys[new]
        self._seen[keys] = True
        # Of equal keys the last one written stays: that one is kept.
        numbers = np.arange(len(keys), dtype=np.int32)
        self._last[keys] = numbers
        return np.asarray(new[self._last[keys] == numbers])


class Pairs:
    """The same where nobody knows how many nodes there are."""

    def __init__(self) -> None:
        self._seen: Ints = np.empty(0, np.int64)

    def first(self, owner: AnyArray, node: AnyArray) -> AnyArray:
        keys, places = np.unique(owner << 32 | node, return_index=True)
        new = ~np.isin(keys, self._seen, assume_unique=True)
        self._seen = np.concatenate([self._seen, keys[new]])
        return np.asarray(places[new])
