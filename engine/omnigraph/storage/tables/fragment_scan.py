"""A table version read fragment by fragment, by address or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.common.arrow_arrays import one_array, take
from omnigraph.storage.core.row_addresses import OFFSETS
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.fragment_stats import FragmentStats
from omnigraph.storage.tables.tables import TableStore


@dataclass(frozen=True)
class TableSource:
    """A table version that can be read whole, in parts or by condition."""

    tables: TableStore = field(compare=False, repr=False)
    version: TableVersion
    identity: int
    rows: int
    keys: tuple[str, ...] = ("id",)
    """The columns that entities, or neighbours, are looked up by."""

    def fragments(self) -> tuple[FragmentStats, ...]:
        """The parts of the table, in the order that gives rows their positions."""
        return self.tables.fragments(self.version)

    def read_offsets(self, index: int) -> npt.NDArray[np.int64]:
        """The offsets of the live rows of the fragment at an index."""
        fragment_id = int(self.fragment_ids()[index])
        rows = self.tables.read(self.version, columns=[], addresses=True, fragments=[fragment_id])
        return np.sort((rows.column("_rowaddr").to_numpy() & OFFSETS).astype(np.int64))

    def fragment_ids(self) -> npt.NDArray[np.int64]:
        """The upper half of the addresses of each fragment's rows, by the fragment's index."""
        fragments = self.tables.handle(self.version).dataset.get_fragments()
        return np.array([fragment.fragment_id for fragment in fragments], np.int64)

    def locate(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """The addresses of the rows with these ids, found by index."""
        found = self.tables.locate(self.version, pa.array(ids, pa.string()))
        return found.addresses.astype(np.int64)

    def addresses_where(self, condition: str) -> npt.NDArray[np.int64]:
        """The addresses of rows that satisfy a condition; reads only the columns it is about."""
        found = self.tables.read(self.version, columns=[], condition=condition, addresses=True)
        return np.asarray(found.column("_rowaddr").to_numpy(), np.int64)

    def read_at(self, column: str, addresses: npt.NDArray[np.int64]) -> pa.Array:
        """One column of the rows at addresses, in their order."""
        distinct, which = np.unique(addresses, return_inverse=True)
        found = self.tables.take(self.version, distinct.astype(np.uint64), [column]).column(0)
        return take(one_array(found.chunks, found.type), which)

    def read_fragments(
        self, columns: Sequence[str], indices: Sequence[int], rows: Sequence[int]
    ) -> list[list[pa.Array]]:
        """For each column, one array per fragment (given by its index), which has `rows` rows."""
        fragments = self.fragment_ids()[list(indices)].tolist()
        table = self.tables.read(self.version, columns=columns, fragments=fragments)
        starts = [0, *accumulate(rows)]
        arrays = (one_array(column.chunks, column.type) for column in table.columns)
        return [[array.slice(*at) for at in zip(starts, rows, strict=False)] for array in arrays]

    @property
    def schema(self) -> pa.Schema:
        """The columns as the version stores them."""
        return self.tables.schema(self.version)

    def stored_type(self, column: str) -> pa.DataType:
        return self.schema.field(column).type

    def has_index(self, column: str) -> bool:
        """Whether rows can be found by a column without reading all of them."""
        return f"{column}_btree" in self.tables.index_names(self.version)

    def read_where(self, columns: Sequence[str], condition: str | None) -> pa.Table:
        """Some columns of the rows that satisfy a condition; known to be few."""
        return self.tables.read(self.version, columns=columns, condition=condition)
