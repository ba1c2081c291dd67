"""Which rows of a fragment are live, so that deleting a few does not mean reading all again.

A deletion leaves a fragment's files as they are and lists the offsets that are gone. What was read
of the same files with fewer deletions holds every row that is still there.
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

    def offsets(self, source: TableSource, place: int, fragment: FragmentStats) -> AnyArray:
        """The live offsets of a table's fragment, ascending."""
        found = self.known(fragment)
        if found is None:
            found = source.read_offsets(place)
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
        places = by_id[np.searchsorted(ids[by_id], addresses >> 32)]
        found = addresses & 0xFFFFFFFF
        for place, rows in _thinned(fragments, places):
            found[rows] = np.searchsorted(
                self.offsets(source, place, fragments[place]), found[rows]
            )
        return np.asarray(_starts(fragments)[places] + found)

    def addresses(
        self, source: TableSource, fragments: tuple[FragmentStats, ...], positions: AnyArray
    ) -> AnyArray:
        """The addresses of rows at positions in the table."""
        starts = _starts(fragments)
        places = np.searchsorted(starts, positions, "right") - 1
        offsets = positions - starts[places]
        for place, rows in _thinned(fragments, places):
            offsets[rows] = self.offsets(source, place, fragments[place])[offsets[rows]]
        return np.asarray(source.fragment_ids()[places] << 32 | offsets)

    def within(
        self, source: TableSource, place: int, fragment: FragmentStats, older: FragmentStats
    ) -> AnyArray | None:
        """Where the rows of a fragment are among those of an older state of the same files.

        None if some are not: then the two were changed apart from each other.
        """
        before = self.known(older) if older.files == fragment.files else None
        if before is None or fragment.rows > older.rows:
            return None
        now = self.offsets(source, place, fragment)
        places = np.searchsorted(before, now)
        inside = places < len(before)
        if not inside.all() or not np.array_equal(before[places], now):
            return None
        return places


def _starts(fragments: tuple[FragmentStats, ...]) -> AnyArray:
    """The position of the first row of each fragment."""
    return np.cumsum([0, *(fragment.rows for fragment in fragments[:-1])])


def _thinned(
    fragments: tuple[FragmentStats, ...], places: AnyArray
) -> Iterator[tuple[int, AnyArray]]:
    """Those fragments that lost rows, each with which of the given rows are in it."""
    for place in np.unique(places).tolist():
        if fragments[place].rows != fragments[place].physical:
            yield place, np.flatnonzero(places == place)
