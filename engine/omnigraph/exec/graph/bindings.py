"""Rows of a match in the making: one column of handles per variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from omnigraph.exec.columns.arrays import AnyArray, Handles

CHUNK = 1 << 18
"""About how many rows travel together; results of any size need memory for a few such chunks."""


class Bindings:
    """Bindings of some variables, row by row. Columns are never changed in place."""

    __slots__ = ("columns", "count")

    def __init__(self, columns: Mapping[str, Handles], count: int) -> None:
        self.columns = dict(columns)
        self.count = count

    def __getitem__(self, name: str) -> Handles:
        return self.columns[name]

    def take(self, indices: AnyArray) -> Bindings:
        """The rows at indices, or those where a mask is true."""
        columns = {name: column[indices] for name, column in self.columns.items()}
        count = int(np.count_nonzero(indices)) if indices.dtype == np.bool_ else len(indices)
        return Bindings(columns, count)

    def slice(self, start: int, stop: int) -> Bindings:
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return Bindings(columns, min(stop, self.count) - start)

    def keep(self, names: Iterable[str]) -> Bindings:
        """Only some variables; there are as many rows as before."""
        wanted = set(names)
        columns = {name: column for name, column in self.columns.items() if name in wanted}
        return Bindings(columns, self.count)

    def add(self, **columns: Handles) -> Bindings:
        return Bindings({**self.columns, **columns}, self.count)

    def chunks(self, size: int = CHUNK) -> Iterator[Bindings]:
        if self.count <= size:
            yield self
            return
        for start in range(0, self.count, size):
            yield self.slice(start, start + size)


def concat(parts: list[Bindings]) -> Bindings:
    """Rows one after the other; all have the same variables."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Bindings({}, 0)
    names = parts[0].columns
    columns: dict[str, Any] = {n: np.concatenate([p.columns[n] for p in parts]) for n in names}
    return Bindings(columns, sum(part.count for part in parts))
