"""Tables as validation reads them: by columns, by a set of values, by ids.

A view is a stored version, or one that is not built yet (see `branching.merge.projected_table`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph.common.arrow_arrays import chunks
from omnigraph.storage.core.lance_filter import in_condition
from omnigraph.storage.core.table_version import PROBE_LIMIT, TableVersion
from omnigraph.storage.tables.key_lookup import KEYS
from omnigraph.storage.tables.tables import TableStore

Among = tuple[str, pa.Array]
"""A text column, and the values to look for in it."""


class TableView(Protocol):
    """The rows of one table."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        """Some columns of all rows, or of at least those with certain values in a column."""

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        """Those of some (distinct, few) ids that are there."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A version that is in the store."""

    tables: TableStore
    version: TableVersion
    rows: int
    ready: Callable[[str], TableVersion] | None = None
    """Called before a few values of a key column are looked up: a version of the same rows in
    which that does not read whole fragments."""

    def scan(self, columns: Sequence[str], among: Among | None = None) -> Iterator[pa.Table]:
        few = among is not None and len(among[1]) <= PROBE_LIMIT
        if among is not None and few and {among[0], *columns} <= set(KEYS):
            # Other columns are read only to say what is wrong: a refusal builds no index.
            version = self._ready(among[0]) if list(columns) == [among[0]] else self.version
            return iter([self.tables.matching(version, *among, columns)])
        condition = in_condition(*among) if among is not None and few else None
        return chunks(self.tables.scan(self.version, columns=columns, condition=condition))

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Some columns of all rows, in batches of so many, with little read ahead."""
        return self.tables.scan(self.version, columns=columns, batch_rows=rows, frugal=True)

    def present_ids(self, ids: pa.StringArray) -> pa.Array:
        version = self._ready("id") if len(ids) <= PROBE_LIMIT else self.version
        return self.tables.locate(version, ids).ids

    def _ready(self, column: str) -> TableVersion:
        return self.ready(column) if self.ready is not None else self.version
