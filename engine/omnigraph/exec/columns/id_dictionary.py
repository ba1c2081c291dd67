"""Dense numbers for node ids, which stay the same for as long as a table lives.

Adjacency is written in these numbers, so it survives updates, appends, branches and restarts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.common.arrow_arrays import one_array, take
from omnigraph.exec.columns.arrays import Handles

BULK = 2_000
"""From this many ids on, a whole column is matched at once instead of id by id."""

MAPPED_UP_TO = 3_000_000
"""Up to this many ids, a map from id to number is made when the first id is looked up."""


class IdDictionary:
    """Ids of one node table's lifetime, numbered in the order they were first seen.

    Append-only. The lock protects the chunks and the map from ids to numbers.
    """

    def __init__(self, chunks: Sequence[pa.Array] = ()) -> None:
        self._lock = threading.RLock()
        self._chunks: list[pa.Array] = list(chunks)
        self._numbers: dict[str, int] | None = None
        self.size = sum(len(chunk) for chunk in self._chunks)
        self.lineage = ""
        """What tells these numbers from those another process gave to the same ids."""
        self.on_disk = 0
        """How many of the ids are in the disk cache under the lineage; -1 if they never can be."""

    def ids(self) -> pa.Array:
        """Every id, by its number."""
        with self._lock:
            if len(self._chunks) != 1:
                self._chunks = [one_array(self._chunks, pa.string())]
            return self._chunks[0]

    def take(self, handles: Handles) -> pa.Array:
        """The ids that some numbers stand for."""
        return take(self.ids(), handles)

    def add(self, ids: pa.Array) -> Handles:
        """The numbers of distinct ids, new ones for those that were never seen."""
        with self._lock:
            if not self.size:
                return self._append(ids)
            numbers = self.find(ids)
            fresh = np.flatnonzero(numbers < 0)
            if len(fresh):
                numbers[fresh] = self._append(take(ids, fresh))
            return numbers

    def _append(self, ids: pa.Array) -> Handles:
        start = self.size
        self._chunks.append(ids)
        self.size += len(ids)
        if self._numbers is not None:
            self._numbers.update(zip(ids.to_pylist(), range(start, self.size), strict=True))
        return np.arange(start, self.size, dtype=np.int32)

    def find(self, ids: pa.Array) -> Handles:
        """The numbers of ids, -1 where there is none."""
        if len(ids) < BULK:
            return self.find_each(ids.to_pylist())
        known = self.ids()
        if ids.type != known.type:
            ids = ids.cast(known.type)
        found = pc.index_in(ids, value_set=known).fill_null(-1)
        numbers: Handles = np.array(found.to_numpy(zero_copy_only=False))
        return numbers

    @property
    def mapped(self) -> bool:
        """Whether single ids are found without a scan of all."""
        return self._numbers is not None or self.size <= MAPPED_UP_TO

    def find_each(self, ids: Iterable[str]) -> Handles:
        """The same for a few ids, one by one."""
        if not self.mapped:
            return self._find_by_scan(list(ids))
        numbers = self._map()
        return np.array([numbers.get(text, -1) for text in ids], dtype=np.int32)

    def _find_by_scan(self, ids: Sequence[str]) -> Handles:
        known = self.ids()
        wanted = list(dict.fromkeys(ids))
        hits = pc.index_in(known, value_set=pa.array(wanted, known.type))
        indices = np.flatnonzero(hits.is_valid().to_numpy(zero_copy_only=False)).tolist()
        numbers = {wanted[hits[index].as_py()]: index for index in indices}
        return np.array([numbers.get(text, -1) for text in ids], np.int32)

    def _map(self) -> dict[str, int]:
        numbers = self._numbers
        if numbers is None:
            with self._lock:
                if self._numbers is None:
                    texts = self.ids().to_pylist()
                    self._numbers = dict(zip(texts, range(len(texts)), strict=True))
                numbers = self._numbers
        return numbers
