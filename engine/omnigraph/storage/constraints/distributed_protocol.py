"""The protocol of distributed constraint checks: questions about rows that are too many for one
process.

Whoever has many processes answers them (Spark, in omnigraph_spark); what is asked, and what follows
from an answer, is decided here. Every question is about keys: one text per row of a table version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from omnigraph.schema.model.catalog import GraphType
from omnigraph.schema.model.entity_ids import key_text, tuple_text
from omnigraph.schema.model.property_types import PropertyType, Scalar
from omnigraph.storage.core.row_addresses import Addresses
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.tables.table_slices import TableSlice, read_slice, split, whole_table
from omnigraph.storage.tables.tables import TableStore

ADDRESS = "_rowaddr"
_ENDPOINT = PropertyType("scalar", Scalar.STRING)
_ENDS = ("id", "src", "dst")


@dataclass(frozen=True)
class KeyColumn:
    """A key for every row of a table version: the text of one column, or of several as a tuple."""

    type: GraphType
    version: TableVersion
    members: tuple[str, ...] = ("id",)
    since: TableVersion | None = None
    """Only rows of fragments that this version does not have."""


class ConstraintChecker(Protocol):
    """Answers, found by many processes at once. Rows whose key is null are left out."""

    def first_repeated(self, keys: KeyColumn, /) -> str | None:
        """Of the keys that several rows have, the one that comes first."""

    def least_repeated(self, keys: KeyColumn, /) -> str | None:
        """Of the keys that several rows have, the smallest."""

    def earlier(self, keys: KeyColumn, /) -> Addresses:
        """Where rows are whose key a later row has, too."""

    def least_common(self, keys: KeyColumn, others: KeyColumn, /) -> str | None:
        """The smallest key that both have."""

    def common(self, keys: KeyColumn, others: KeyColumn, /) -> Addresses:
        """Where the rows of the first are whose key the second has."""

    def least_missing(self, keys: KeyColumn, others: KeyColumn, /) -> str | None:
        """The smallest key of the first that the second has not."""

    def least_above(self, keys: KeyColumn, among: KeyColumn, bound: int, /) -> str | None:
        """The smallest key among some that more rows have than allowed."""

    def least_below(
        self, keys: KeyColumn, before: KeyColumn, among: KeyColumn, within: KeyColumn, bound: int, /
    ) -> str | None:
        """The smallest key that fewer rows have than needed.

        Only keys count that are `within` others, and that are among some or which more rows had
        before.
        """


def tuples(type_: GraphType, members: Sequence[str], rows: pa.Table) -> pa.StringArray:
    """One text per row that is equal exactly when all members are."""
    return tuple_text([key_text(rows.column(m), member_type(type_, m)) for m in members])


def member_type(type_: GraphType, member: str) -> PropertyType:
    """The type of a property, or of what every entity has."""
    return _ENDPOINT if member in _ENDS else type_.property(member).type


def key_slices(tables: TableStore, root: str, keys: KeyColumn, rows_each: int) -> list[TableSlice]:
    """What processes read side by side to have the keys; about so many rows in each slice."""
    rows = sum(fragment.rows for fragment in tables.fragments(keys.version, since=keys.since))
    stored = tables.schema(keys.version)
    schema = pa.schema([*(stored.field(m) for m in keys.members), pa.field(ADDRESS, pa.int64())])
    at_most = max(-(-rows // rows_each), 1)
    whole = whole_table(root, keys.version, schema.names, None, schema)
    return split(tables, whole, at_most, since=keys.since)


def read_keys(
    part: TableSlice, keys: KeyColumn, options: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The keys of a slice and the addresses of their rows, as columns `text` and `at`."""
    for batch in read_slice(part, options):
        text = tuples(keys.type, keys.members, pa.Table.from_batches([batch]))
        yield pa.RecordBatch.from_arrays([text, batch.column(ADDRESS)], names=["text", "at"])
