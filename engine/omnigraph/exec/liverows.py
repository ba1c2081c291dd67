"""Which rows of a fragment are live, so that deleting a few does not mean reading all again.

A deletion leaves a fragment's files as they are and lists the offsets that are gone. What was read
of the same files with fewer deletions holds every row that is still there.
"""

from __future__ import annotations

import numpy as np

from omnigraph.exec.arrays import AnyArray
from omnigraph.exec.source import Fragment, TableSource
from omnigraph.storage.caches import BoundedCache

OFFSET_BYTES = 256 << 20


class LiveRows:
    """Offsets of live rows by fragment."""

    def __init__(self) -> None:
        self._offsets: BoundedCache[str, AnyArray] = BoundedCache(OFFSET_BYTES)

    def offsets(self, source: TableSource, place: int, fragment: Fragment) -> AnyArray:
        """The live offsets of a table's fragment, ascending."""
        found = self.known(fragment)
        if found is None:
            found = source.read_offsets(place)
            self._offsets.put(fragment.key, found, found.nbytes + 64)
        return found

    def known(self, fragment: Fragment) -> AnyArray | None:
        """The same for a fragment of any version, if nothing must be read for it."""
        if fragment.rows == fragment.physical:
            return np.arange(fragment.physical, dtype=np.int64)
        return self._offsets.get(fragment.key)

    def positions(
        self, source: TableSource, fragments: tuple[Fragment, ...], rows: list[tuple[int, int]]
    ) -> AnyArray:
        """The positions in the table of rows given by place of fragment and offset in it."""
        starts = np.cumsum([0, *(fragment.rows for fragment in fragments)])
        found = [
            starts[place]
            + (
                offset
                if fragments[place].rows == fragments[place].physical
                else np.searchsorted(self.offsets(source, place, fragments[place]), offset)
            )
            for place, offset in rows
        ]
        return np.array(found, np.int64)

    def within(
        self, source: TableSource, place: int, fragment: Fragment, older: Fragment
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
