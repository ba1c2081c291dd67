"""Values of the rows of fragments, which outlive the table versions they were read for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.exec.columns.arrays import AnyArray
from omnigraph.exec.columns.live_rows import LiveRows
from omnigraph.storage.tables.fragment_scan import TableSource
from omnigraph.storage.tables.fragment_stats import FragmentStats

A = TypeVar("A", bound=Any)


class FragmentCache(Generic[A]):
    """Arrays by row of a fragment, several per fragment by their `name`, within a byte budget.

    What an older state of the same files had holds every row that deletions left; `take` picks
    rows of an array.
    """

    def __init__(self, budget: int, live: LiveRows, take: Callable[[A, AnyArray], A]) -> None:
        self._live = live
        self._take = take
        self._exact: BoundedCache[tuple[Hashable, str], A] = BoundedCache(budget)
        self._last: BoundedCache[tuple[Hashable, str], tuple[FragmentStats, A]] = BoundedCache(
            budget
        )

    def exact(self, name: Hashable, fragment: FragmentStats) -> A | None:
        """What is known of a fragment in exactly this state."""
        return self._exact.get((name, fragment.key))

    def knows_files(self, name: Hashable, fragment: FragmentStats) -> bool:
        """Whether some state of the fragment's files is known."""
        return self._last.get((name, fragment.files)) is not None

    def find(
        self, name: Hashable, source: TableSource, index: int, fragment: FragmentStats
    ) -> A | None:
        """The values of a table's fragment, if they or those of an older state are known."""
        found = self.exact(name, fragment)
        older = self._last.get((name, fragment.files)) if found is None else None
        if older is None:
            return found
        indices = self._live.within(source, index, fragment, older[0])
        return None if indices is None else self.put(name, fragment, self._take(older[1], indices))

    def put(self, name: Hashable, fragment: FragmentStats, values: A) -> A:
        weight = values.nbytes + 64
        self._exact.put((name, fragment.key), values, weight)
        self._last.put((name, fragment.files), (fragment, values), weight)
        return values
