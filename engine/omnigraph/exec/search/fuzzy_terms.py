"""Which terms of a vocabulary are within an edit distance of a query's term.

Two cheap tests rule out nearly every term before a distance is computed: an edit changes the length
by at most one, and adds or removes at most one distinct character.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omnigraph.common.array_types import Ints

Points = npt.NDArray[np.uint32]

BATCH = 1 << 16
"""Distances are computed for this many terms at a time, which bounds the memory they take."""


class Vocabulary:
    """Terms, ready to be compared with one another by their characters. Immutable."""

    def __init__(self, terms: Sequence[str]) -> None:
        self._points = _code_points("".join(terms))
        self._lengths = np.fromiter(map(len, terms), np.int64, len(terms))
        self._starts = np.cumsum(self._lengths) - self._lengths
        bits = np.uint64(1) << (self._points & np.uint32(63)).astype(np.uint64)
        self._characters = (
            np.bitwise_or.reduceat(bits, self._starts) if len(terms) else bits.astype(np.uint64)
        )

    def within(self, term: str, distance: int) -> Ints:
        """The indices of the terms at most `distance` insertions, deletions or changes away."""
        points = _code_points(term)
        candidates = self._candidates(points, distance)
        near = [
            batch[self._distances(points, batch) <= distance]
            for batch in (candidates[i : i + BATCH] for i in range(0, len(candidates), BATCH))
        ]
        return np.concatenate(near) if near else candidates

    def _candidates(self, points: Points, distance: int) -> Ints:
        mine = np.bitwise_or.reduce(np.uint64(1) << (points & np.uint32(63)).astype(np.uint64))
        return np.flatnonzero(
            (np.abs(self._lengths - len(points)) <= distance)
            & (np.bitwise_count(self._characters & ~mine) <= distance)
            & (np.bitwise_count(~self._characters & mine) <= distance)
        )

    def _distances(self, points: Points, indices: Ints) -> Ints:
        """Levenshtein's table for all terms at once, one row per character of the query.

        Within a row a value may come from its left neighbour plus one; taking the column's number
        off turns that into a running minimum.
        """
        lengths = self._lengths[indices]
        columns = np.arange(lengths.max(initial=0) + 1, dtype=np.int32)
        inside = self._starts[indices][:, None] + np.minimum(columns[:-1], lengths[:, None] - 1)
        letters = self._points[inside]
        row = np.broadcast_to(columns, (len(indices), len(columns)))
        for i, point in enumerate(points.tolist()):
            below = row + 1
            below[:, 0] = i + 1
            np.minimum(below[:, 1:], row[:, :-1] + (letters != point), out=below[:, 1:])
            below -= columns
            row = np.minimum.accumulate(below, axis=1) + columns
        return row[np.arange(len(indices)), lengths].astype(np.int64)


def _code_points(text: str) -> Points:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
