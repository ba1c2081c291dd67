"""Table versions in memory: columns in position order, read once and shared by later versions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import one_array, take
from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.exec.columns.arrays import AnyArray, ranked
from omnigraph.exec.columns.fragment_cache import FragmentCache
from omnigraph.exec.columns.live_rows import LiveRows
from omnigraph.storage.tables.fragment_scan import TableSource
from omnigraph.storage.tables.fragment_stats import FragmentStats

SPARED_FROM = 200_000
"""Reading fewer rows of a column takes about as long as finding some of them."""
SPARSE = 100
"""At most one row in so many is fetched by itself."""
PATIENCE = 8
"""After so many fetches, loading the column has been worth it; a scan counts as several."""
SCAN = 4

T = TypeVar("T")


class ColumnCache:
    """Columns of table versions and of their fragments, within one byte budget.

    A fragment is immutable, so a new version of a table reads only the fragments it added.
    The lock keeps two threads from reading the same column at once.
    """

    def __init__(self, budget: int, live: LiveRows) -> None:
        self.live = live
        self._whole: BoundedCache[tuple[str, int, str], pa.Array] = BoundedCache(budget)
        self._parts: FragmentCache[pa.Array] = FragmentCache(budget, live, take)
        self._derived: BoundedCache[Hashable, Any] = BoundedCache(budget)
        self._spared: BoundedCache[tuple[str, int, str], int] = BoundedCache(1 << 16)
        self._lock = threading.RLock()

    def spares(self, table: LoadedTable, name: str) -> bool:
        """Whether a column is large, not in memory, and not used often enough to load it."""
        key = (*table.key, name)
        if table.rows < SPARED_FROM or self._whole.get(key) is not None:
            return False
        unread = sum(f.rows for f in table.fragments if not self._parts.knows_files(name, f))
        return unread >= SPARED_FROM and (self._spared.get(key) or 0) < PATIENCE

    def count_spared(self, table: LoadedTable, name: str, times: int = 1) -> None:
        key = (*table.key, name)
        self._spared.put(key, (self._spared.get(key) or 0) + times)

    def whole(self, table: LoadedTable, name: str) -> pa.Array:
        """One column of a version, all positions."""
        found = self._whole.get((*table.key, name))
        return self.load(table, [name])[name] if found is None else found

    def load(self, table: LoadedTable, names: Sequence[str]) -> dict[str, pa.Array]:
        """Columns of a version, those that are not there read in one pass."""
        with self._lock:
            found = {name: self._whole.get((*table.key, name)) for name in names}
            wanted = [name for name, column in found.items() if column is None]
            if wanted:
                found.update(self._read(table, wanted))
            return found

    def _read(self, table: LoadedTable, names: Sequence[str]) -> dict[str, pa.Array]:
        known = {
            (index, name): self._parts.find(name, table.source, index, fragment)
            for index, fragment in enumerate(table.fragments)
            for name in names
        }
        missing = sorted({index for (index, _), part in known.items() if part is None})
        if missing:
            rows = [table.fragments[index].rows for index in missing]
            fresh = table.source.read_fragments(names, missing, rows)
            for name, parts in zip(names, fresh, strict=True):
                known.update({(index, name): p for index, p in zip(missing, parts, strict=True)})
        indices = range(len(table.fragments))
        return {n: self._remember(table, n, [known[index, n] for index in indices]) for n in names}

    def _remember(self, table: LoadedTable, name: str, chunks: list[pa.Array]) -> pa.Array:
        type_ = chunks[0].type if chunks else table.source.stored_type(name)
        whole = one_array(chunks, type_)
        self._whole.put((*table.key, name), whole, whole.nbytes + 64)
        start = 0
        for fragment in table.fragments:
            self._parts.put(name, fragment, whole.slice(start, fragment.rows))
            start += fragment.rows
        return whole

    def derived(self, table: LoadedTable, name: str, make: Callable[[pa.Array], T]) -> T:
        """Something with `nbytes`, or several such, computed from a column once per version."""
        key = (*table.key, name, make)
        found: T | None = self._derived.get(key)
        if found is None:
            found = make(self.whole(table, name))
            parts: Any = found if isinstance(found, tuple) else (found,)
            self._derived.put(key, found, sum(part.nbytes for part in parts) + 64)
        return found


class LoadedTable:
    """One table version by position. Rows have positions in the order of the fragments."""

    def __init__(self, source: TableSource, columns: ColumnCache) -> None:
        self.source = source
        self.columns = columns
        self.fragments: tuple[FragmentStats, ...] = source.fragments()
        self.rows = sum(fragment.rows for fragment in self.fragments)

    @cached_property
    def key(self) -> tuple[str, int]:
        return self.source.version.location, self.source.version.lance

    def locate(self, ids: Sequence[str]) -> AnyArray:
        """The positions of the rows with these (distinct) ids, found by index."""
        found = self.source.locate(ids)
        return self.columns.live.positions(self.source, self.fragments, found)

    def where(self, condition: str, names: Sequence[str]) -> AnyArray | None:
        """The positions of the rows that satisfy a condition on some columns, ascending.

        The table evaluates it, unless one of the columns is in memory or ought to be: then none.
        """
        if not all(self.columns.spares(self, name) for name in names):
            return None
        for name in names:
            self.columns.count_spared(self, name, 1 if self.source.has_index(name) else SCAN)
        found = self.source.addresses_where(condition)
        return np.sort(self.columns.live.positions(self.source, self.fragments, found))

    def at(self, name: str, positions: AnyArray) -> pa.Array:
        """A stored column at positions: fetched from the table if they are few of many."""
        if len(positions) * SPARSE > self.rows or not self.columns.spares(self, name):
            return take(self.column(name), positions)
        self.columns.count_spared(self, name)
        rows = self.columns.live.addresses(self.source, self.fragments, positions)
        return self.source.read_at(name, rows)

    def column(self, name: str) -> pa.Array:
        """A stored column, in position order."""
        return self.columns.whole(self, name)

    def codes(self, name: str) -> tuple[AnyArray, pa.Array]:
        """A column as small numbers and what they stand for; null has a number of its own."""
        return self.columns.derived(self, name, _codes)

    def ranks(self, name: str) -> tuple[AnyArray, pa.Array]:
        """The rank of each value among the column's distinct ones, -1 for null; and these."""
        return self.columns.derived(self, name, ranked)


def _codes(column: pa.Array) -> tuple[AnyArray, pa.Array]:
    if not pa.types.is_nested(column.type):
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        return codes, encoded.dictionary
    # Arrow has no such encoding for lists and vectors.
    numbers: dict[object, int] = {}
    texts = (None if value is None else tuple(value) for value in column.to_pylist())
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32)
    return codes, pa.array([None if v is None else list(v) for v in numbers], column.type)  # type: ignore[call-overload]
