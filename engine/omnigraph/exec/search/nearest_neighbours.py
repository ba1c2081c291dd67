"""Exact nearest neighbours by L2 distance.

A fast pass in single precision finds every vector that could be among the nearest, with a bound on
its error; those few are measured again in double precision. The answer is that of measuring all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.common.array_types import Floats, Ints
from omnigraph.errors import InvalidInput

Singles = npt.NDArray[np.float32]

BLOCK_BYTES = 1 << 20
"""Vectors are measured in blocks whose doubles take about this much, to stay in cache."""
GATHER = 8
"""Fewer candidates than one in this many are copied together; else all vectors are multiplied."""

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53
_SMALLEST_SINGLE = 2.0**-126


class VectorColumn:
    """A column of vectors as a matrix over Arrow's own memory, with their squared lengths.

    A null vector, and one with a null or NaN in it, has no distance to anything. Immutable.
    """

    def __init__(self, column: pa.Array | pa.ChunkedArray) -> None:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        self.dimension = array.type.list_size
        self.matrix = _matrix(array)
        self._absent = array.is_null().to_numpy(zero_copy_only=False).copy()
        self._squares = _joined(
            np.square(block, dtype=np.float64).sum(axis=1)
            for block in _split(self.matrix, self.dimension)
        )
        self._squares[self._absent] = np.nan
        self._absent |= np.isnan(self._squares)
        self._some_absent = bool(self._absent.any())
        self._lengths = np.sqrt(self._squares)
        self._longest = float(np.max(self._lengths, where=~self._absent, initial=0.0))

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def nbytes(self) -> int:
        """The memory it keeps alive, that of the column included."""
        arrays = (self.matrix, self._absent, self._squares, self._lengths)
        return sum(array.nbytes for array in arrays)

    def distances(self, query: npt.ArrayLike, positions: Ints | None = None) -> Floats:
        """The distance of each vector, or of those at the positions; NaN for a null."""
        target = self._target(query)
        if positions is None:
            blocks: Iterable[Singles] = _split(self.matrix, self.dimension)
        else:
            blocks = (self.matrix[indices] for indices in _split(positions, self.dimension))
        found = _joined(_measure(block, target) for block in blocks)
        found[self._absent if positions is None else self._absent[positions]] = np.nan
        return found

    def top(
        self,
        query: npt.ArrayLike,
        k: int,
        positions: Ints | None = None,
        *,
        ties: bool = False,
    ) -> tuple[Ints, Floats]:
        """The k nearest and their distances, nearest first; equal ones by ascending position.

        With `ties`, those as far as the last one come too, for a caller that orders them otherwise.
        """
        if k < 0:
            raise InvalidInput(f"{k} is not a number of neighbours", hint="Ask for 0 or more.")
        target = self._target(query)
        candidates = self._candidates(target, k, positions)
        found = self.distances(target, candidates)
        present = ~np.isnan(found)
        candidates, found = candidates[present], found[present]
        order = np.lexsort((candidates, found))
        count = min(k, len(order))
        if ties and count:
            count = int(np.searchsorted(found[order], found[order[count - 1]], "right"))
        return candidates[order[:count]], found[order[:count]]

    def _candidates(self, target: Floats, k: int, positions: Ints | None) -> Ints:
        """Positions that hold every one of the k nearest, and few others."""
        count = len(self) if positions is None else len(positions)
        chosen = slice(None) if positions is None else positions
        if k == 0 or count <= 2 * k:
            indices = np.arange(count if k else 0)
        else:
            indices = self._near(target, k, positions, chosen)
        return indices if positions is None else positions[indices]

    def _near(self, target: Floats, k: int, positions: Ints | None, chosen: slice | Ints) -> Ints:
        """Indices into what was chosen that the fast pass cannot rule out.

        Works in three arrays, because fresh memory costs more here than arithmetic.
        """
        absent = self._absent[chosen] if self._some_absent else None
        with np.errstate(all="ignore"):
            near = self._products(target.astype(np.float32), positions) * np.float64(-2)
            near += self._squares[chosen]
            slack = self._slack(target, self._lengths[chosen])
            near -= slack
            far = np.add(near, np.multiply(slack, 2, out=slack), out=slack)
            sure = np.isfinite(far)
            if absent is not None:
                sure |= absent
                far[absent] = np.inf
            if not sure.all():
                return np.arange(len(far))
            far.partition(k - 1)
            return np.flatnonzero(near <= far[k - 1])

    def _slack(self, target: Floats, lengths: Floats) -> Floats:
        """How far a squared distance of the fast pass, less the query's own square, may be off.

        Adding n products of singles, in any order, errs by at most n roundings of the two lengths'
        product; the query was rounded once, too. What is done in doubles errs by about n of their
        roundings, and distances that tie only after their root is taken need as much again.
        """
        n, length = self.dimension + 8, float(np.linalg.norm(target))
        slack: Floats = lengths * (2 * n * _SINGLE * length + 8 * n * _DOUBLE * self._longest)
        slack += 8 * n * _DOUBLE * length**2 + 4 * n * _SMALLEST_SINGLE
        return slack

    def _products(self, target: Singles, positions: Ints | None) -> Singles:
        few = positions is not None and len(positions) * GATHER < len(self)
        products: Singles = (self.matrix[positions] if few else self.matrix) @ target
        return products if few or positions is None else products[positions]

    def _target(self, query: npt.ArrayLike) -> Floats:
        target = np.asarray(query, np.float64)
        if target.shape != (self.dimension,):
            raise InvalidInput(
                f"the query has {target.size} dimensions, the vectors have {self.dimension}",
                hint="Search with a vector of the property's dimension.",
            )
        if not np.isfinite(target).all():
            raise InvalidInput(
                "the query vector holds a value that is not finite", hint="Use finite numbers."
            )
        return target


def _matrix(array: pa.FixedSizeListArray) -> Singles:
    size = array.type.list_size
    values = array.values.slice(array.offset * size, len(array) * size)
    if values.null_count:
        # What memory holds under a null is undefined.
        values = values.fill_null(np.nan)
    matrix: Singles = values.to_numpy(zero_copy_only=True).reshape(len(array), size)
    return matrix


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])


def _split(rows: npt.NDArray[Any], dimension: int) -> list[npt.NDArray[Any]]:
    """Vectors, or positions of vectors, in blocks."""
    step = max(1, BLOCK_BYTES // (8 * dimension))
    return [rows[i : i + step] for i in range(0, len(rows), step)]


def _measure(block: Singles, target: Floats) -> Floats:
    """Distances row by row; a row's result does not depend on the rows it is measured with."""
    found: Floats = np.sqrt(np.square(block - target).sum(axis=1))
    return found
