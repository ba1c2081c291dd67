"""Surveys: questions about rows that are too many for one machine.

Whoever has many machines answers them (Spark, in omnigraph_spark); what is asked, and what follows
from an answer, is decided here. Every question is about texts: one per row of a table version.
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
from omnigraph.storage.tables.table_slices import TableSlice, read_slice, slices_of
from omnigraph.storage.tables.tables import TableStore

ADDRESS = "_rowaddr"
_ENDPOINT = PropertyType("scalar", Scalar.STRING)
_ENDS = ("id", "src", "dst")


@dataclass(frozen=True)
class KeyColumn:
    """A text for every row of a table version: of one column, or of several as a tuple."""

    type: GraphType
    version: TableVersion
    members: tuple[str, ...] = ("id",)
    since: TableVersion | None = None
    """Only rows of fragments that this version does not have."""


class ConstraintChecker(Protocol):
    """Answers, found by many processes at once. Rows whose text is null are left out."""

    def first_repeated(self, texts: KeyColumn) -> str | None:
        """Of the texts that several rows have, the one that comes first."""

    def least_repeated(self, texts: KeyColumn) -> str | None:
        """Of the texts that several rows have, the smallest."""

    def earlier(self, texts: KeyColumn) -> Addresses:
        """Where rows are whose text a later row has, too."""

    def least_common(self, texts: KeyColumn, others: KeyColumn) -> str | None:
        """The smallest text that both have."""

    def common(self, texts: KeyColumn, others: KeyColumn) -> Addresses:
        """Where the rows of the first are whose text the second has."""

    def least_missing(self, texts: KeyColumn, others: KeyColumn) -> str | None:
        """The smallest text of the first that the second has not."""

    def least_above(self, texts: KeyColumn, among: KeyColumn, bound: int) -> str | None:
        """The smallest text among some that more rows have than allowed."""

    def least_below(
        self, texts: KeyColumn, before: KeyColumn, among: KeyColumn, within: KeyColumn, bound: int
    ) -> str | None:
        """The smallest text that fewer rows have than needed.

        Only texts count that are `within` others, and that are among some or which more rows had
        before.
        """


def tuples(type_: GraphType, members: Sequence[str], rows: pa.Table) -> pa.StringArray:
    """One text per row that is equal exactly when all members are."""
    return tuple_text([key_text(rows.column(m), member_type(type_, m)) for m in members])


def member_type(type_: GraphType, member: str) -> PropertyType:
    """The type of a property, or of what every entity has."""
    return _ENDPOINT if member in _ENDS else type_.property(member).type


def key_slices(tables: TableStore, root: str, texts: KeyColumn, rows_each: int) -> list[TableSlice]:
    """What processes read side by side to have the texts; about so many rows in each slice."""
    fragments = tables.fragments(texts.version, since=texts.since)
    stored = tables.schema(texts.version)
    schema = pa.schema([*(stored.field(m) for m in texts.members), pa.field(ADDRESS, pa.int64())])
    at_most = -(-sum(fragment.rows for fragment in fragments) // rows_each)
    columns = (*texts.members, ADDRESS)
    return slices_of(root, texts.version, fragments, columns, None, schema, at_most)


def read_keys(
    part: TableSlice, texts: KeyColumn, options: Mapping[str, str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The texts of a slice and the addresses of their rows, as columns `text` and `at`."""
    for batch in read_slice(part, options):
        text = tuples(texts.type, texts.members, pa.Table.from_batches([batch]))
        yield pa.RecordBatch.from_arrays([text, batch.column(ADDRESS)], names=["text", "at"])
