"""Tables as validation reads them: by columns, by a set of values, by ids.

A view may be a version that is stored, or one that does not exist yet (see `branching.overlay`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph.storage.reading import PROBE_LIMIT, TableVersion, chunks, guarded, in_condition
from omnigraph.storage.tables import Tables

Among = tuple[str, pa.Array]
"""A text column, and the values that are wanted in it."""


class TableView(Protocol):
    """The rows of one table."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        """Some columns of all rows, or of at least those with certain values in a column."""

    def held(self, ids: pa.StringArray) -> pa.Array:
        """Those of some (distinct, few) ids that are there."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A version that is in the store."""

    tables: Tables
    version: TableVersion
    rows: int

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        condition = in_condition(*among) if among and len(among[1]) <= PROBE_LIMIT else None
        reader = self.tables.scan(self.version, columns=list(columns), condition=condition)
        return chunks(guarded(reader, self.version))

    def held(self, ids: pa.StringArray) -> pa.Array:
        return self.tables.locate(self.version, ids).ids
