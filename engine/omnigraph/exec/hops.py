"""Following edges from many nodes at once: one hop, hop bounds, and edges between two nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.exec.arrays import AnyArray, Handles, Ints, Mask
from omnigraph.exec.csr import Csr

BLOCK = 1 << 26
"""How many (source, node) pairs one breadth-first search marks at a time."""
FEW = 64
"""Up to this many pairs are looked up one by one, without numbering every edge."""


def reachable(
    csr: Csr, sources: Handles, low: int, high: int, loops: Mask, *, from_target: bool
) -> tuple[Ints, Handles]:
    """Pairs (place of the source, node) whose distance lies in [low, high].

    A node with a loop is also produced one hop after it was reached (section 3): the node at the
    end of the path, which is the source when edges are followed backwards (`from_target`).
    """
    if low > high:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    size = max(csr.rows, 1)
    per_block = max(1, BLOCK // size)
    owners: list[AnyArray] = []
    nodes: list[AnyArray] = []
    for start in range(0, len(sources), per_block):
        block = sources[start : start + per_block]
        for owner, node in _search(csr, block, low, high, loops, from_target):
            owners.append(owner + start)
            nodes.append(node)
    if not owners:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    return np.concatenate(owners), np.concatenate(nodes)


def _search(
    csr: Csr, sources: Handles, low: int, high: int, loops: Mask, from_target: bool
) -> Iterator[tuple[AnyArray, AnyArray]]:
    size = max(csr.rows, 1)
    owner: AnyArray = np.arange(len(sources), dtype=np.int64)
    node: AnyArray = sources
    seen = np.zeros(len(sources) * size, np.bool_)
    seen[owner * size + node] = True
    last = np.empty(len(seen), np.int32)
    for distance in range(high + 1):
        if distance >= low and distance:
            yield owner, node
        elif distance == low - 1:
            looped = loops[sources[owner]] if from_target else loops[node]
            if looped.any():
                yield owner[looped], node[looped]
        if distance == high or not len(node):
            return
        node, counts = csr.expand(node)
        owner = np.repeat(owner, counts)
        keys = owner * size + node
        new = ~seen[keys]
        owner, node, keys = owner[new], node[new], keys[new]
        seen[keys] = True
        # Of equal keys the last one written stays: that one is kept.
        numbers = np.arange(len(keys), dtype=np.int32)
        last[keys] = numbers
        once = last[keys] == numbers
        owner, node = owner[once], node[once]


def joined(csr: Csr, left: Handles, right: Handles) -> tuple[AnyArray, AnyArray]:
    """For each pair of nodes, where its entries begin and end in `targets`."""
    if len(left) <= FEW:
        ends = np.array(
            [_between(csr, u, v) for u, v in zip(left.tolist(), right.tolist(), strict=True)],
            np.int64,
        ).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]
    wanted = (left.astype(np.int64) << 32) | right
    return np.searchsorted(csr.keys, wanted, "left"), np.searchsorted(csr.keys, wanted, "right")


def _between(csr: Csr, left: int, right: int) -> tuple[int, int]:
    start, stop = int(csr.starts[left]), int(csr.starts[left + 1])
    row = csr.targets[start:stop]
    return start + int(row.searchsorted(right, "left")), start + int(
        row.searchsorted(right, "right")
    )
