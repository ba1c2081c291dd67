"""A table version read fragment by fragment, by address or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.common.arrow_arrays import one_array, take
from omnigraph.storage.core.read_errors import drain
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.tables import TableStore


@dataclass(frozen=True, slots=True)
class Fragment:
    """Live rows of one immutable part of a table. Equal keys mean equal rows, in any version."""

    key: str
    rows: int
    files: str = ""
    """The same for every state of deletions."""
    physical: int = -1
    """How many rows the files hold, deleted ones included."""


@dataclass(frozen=True)
class TableSource:
    """A table version that can be read whole, in parts or by condition."""

    tables: TableStore = field(compare=False, repr=False)
    version: TableVersion
    identity: int
    rows: int
    keys: tuple[str, ...] = ("id",)
    """The columns that entities, or neighbours, are looked up by."""

    def fragments(self) -> tuple[Fragment, ...]:
        """The parts of the table, in the order that gives rows their positions."""
        found = []
        for fragment in self.tables.open(self.version).get_fragments():
            metadata = fragment.metadata
            files = "|".join(file.path for file in metadata.files)
            gone = metadata.deletion_file
            deletions = "" if gone is None else gone.path(fragment.fragment_id)
            files = f"{self.version.location}/{files}"
            rows, physical = fragment.count_rows(), fragment.physical_rows
            found.append(Fragment(f"{files}-{deletions}", rows, files, physical))
        return tuple(found)

    def read_offsets(self, place: int) -> npt.NDArray[np.int64]:
        """The offsets of the live rows of the fragment at a place."""
        dataset = self.tables.open(self.version)
        reader = dataset.scanner(
            columns=[], with_row_address=True, fragments=[dataset.get_fragments()[place]]
        ).to_reader()
        addresses = drain(reader, self.version).column("_rowaddr").to_numpy()
        return np.sort((addresses & np.uint64(0xFFFFFFFF)).astype(np.int64))

    def fragment_ids(self) -> npt.NDArray[np.int64]:
        """The upper half of the addresses of each fragment's rows, by the fragment's place."""
        fragments = self.tables.open(self.version).get_fragments()
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
        self, columns: Sequence[str], wanted: Sequence[int], rows: Sequence[int]
    ) -> list[list[pa.Array]]:
        """For each column, one array per wanted fragment (by its place), which has `rows` rows."""
        dataset = self.tables.open(self.version)
        fragments = dataset.get_fragments()
        reader = dataset.scanner(
            columns=list(columns), fragments=[fragments[i] for i in wanted], scan_in_order=True
        ).to_reader()
        table = drain(reader, self.version)
        result = []
        for column in table.columns:
            whole = one_array(column.chunks, column.type)
            parts, start = [], 0
            for count in rows:
                parts.append(whole.slice(start, count))
                start += count
            result.append(parts)
        return result

    @property
    def schema(self) -> pa.Schema:
        """The columns as the version stores them."""
        return self.tables.open(self.version).schema

    def stored_type(self, column: str) -> pa.DataType:
        return self.schema.field(column).type

    def has_index(self, column: str) -> bool:
        """Whether rows can be found by a column without reading all of them."""
        indexes = self.tables.open(self.version).describe_indices()
        return any(index.name == f"{column}_btree" for index in indexes)

    def read_where(self, columns: Sequence[str], condition: str | None) -> pa.Table:
        """Some columns of the rows that satisfy a condition; known to be few."""
        return self.tables.read(self.version, columns=columns, condition=condition)
