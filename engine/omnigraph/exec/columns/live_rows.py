"""Which rows of a fragment are live, so that deleting a few does not mean reading all again.

A deletion leaves a fragment's files as they are and lists the offsets of deleted rows. What was
read of the same files with fewer deletions holds every row that is still there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.exec.columns.arrays import AnyArray
from omnigraph.storage.tables.fragment_scan import TableSource
from omnigraph.storage.tables.fragment_stats import FragmentStats

OFFSET_BYTES = 256 << 20


class LiveRows:
    """Offsets of live rows by fragment."""

    def __init__(self) -> None:
        self._offsets: BoundedCache[str, AnyArray] = BoundedCache(OFFSET_BYTES)

    def offsets(self, source: TableSource, index: int, fragment: FragmentStats) -> AnyArray:
        """The live offsets of a table's fragment, ascending."""
        found = self.known(fragment)
        if found is None:
            found = source.read_offsets(index)
            self._offsets.put(fragment.key, found, found.nbytes + 64)
        return found

    def known(self, fragment: FragmentStats) -> AnyArray | None:
        """The same for a fragment of any version, if nothing must be read for it."""
        if fragment.rows == fragment.physical:
            return np.arange(fragment.physical, dtype=np.int64)
        return self._offsets.get(fragment.key)

    def positions(
        self, source: TableSource, fragments: tuple[FragmentStats, ...], addresses: AnyArray
    ) -> AnyArray:
        """The positions in the table of rows at addresses."""
        ids = source.fragment_ids()
        by_id = np.argsort(ids)
        indices = by_id[np.searchsorted(ids[by_id], addresses >> 32)]
        found = addresses & 0xFFFFFFFF
        for index, rows in _thinned(fragments, indices):
            found[rows] = np.searchsorted(
                self.offsets(source, index, fragments[index]), found[rows]
            )
        return np.asarray(_starts(fragments)[indices] + found)

    def addresses(
        self, source: TableSource, fragments: tuple[FragmentStats, ...], positions: AnyArray
    ) -> AnyArray:
        """The addresses of rows at positions in the table."""
        starts = _starts(fragments)
        indices = np.searchsorted(starts, positions, "right") - 1
        offsets = positions - starts[indices]
        for index, rows in _thinned(fragments, indices):
            offsets[rows] = self.offsets(source, index, fragments[index])[offsets[rows]]
        return np.asarray(source.fragment_ids()[indices] << 32 | offsets)

    def within(
        self, source: TableSource, index: int, fragment: FragmentStats, older: FragmentStats
    ) -> AnyArray | None:
        """Where the rows of a fragment are among those of an older state of the same files.

        None if some are not: then the two were changed apart from each other.
        """
        before = self.known(older) if older.files == fragment.files else None
        if before is None or fragment.rows > older.rows:
            return None
        now = self.offsets(source, index, fragment)
        indices = np.searchsorted(before, now)
        inside = indices < len(before)
        if not inside.all() or not np.array_equal(before[indices], now):
            return None
        return indices


def _starts(fragments: tuple[FragmentStats, ...]) -> AnyArray:
    """The position of the first row of each fragment."""
    return np.cumsum([0, *(fragment.rows for fragment in fragments[:-1])])


def _thinned(
    fragments: tuple[FragmentStats, ...], indices: AnyArray
) -> Iterator[tuple[int, AnyArray]]:
    """Those fragments that lost rows, each with which of the given rows are in it."""
    for index in np.unique(indices).tolist():
        if fragments[index].rows != fragments[index].physical:
            yield index, np.flatnonzero(indices == index)
