"""Rows under the declaration that a merge leads to.

The sides of a merge may declare a type differently. Their rows are compared, and taken over, in the
columns of the merged type: by identity, widened, and with the default of a required property where
a side did not have it. So a schema change alone makes no row differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import (
    ADDRESS,
    CandidateRows,
    Changes,
    TableState,
    table_changes,
)
from omnigraph.schema.model.arrow_schema import table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.core.row_addresses import Addresses
from omnigraph.storage.tables.tables import TableStore
from omnigraph.storage.tables.version_diff import RowSet, read_rows
from omnigraph.storage.transaction.migrate_rows import evolved_column


@dataclass(frozen=True, slots=True)
class ProjectedChanges:
    """Entities that differ between two sides, in the columns of the merged type, by id."""

    inserted: pa.Table
    deleted: pa.Table
    updated_before: pa.Table
    updated_after: pa.Table
    updated_at: Addresses
    deleted_at: Addresses
    """Where the earlier side has the rows that were updated and deleted."""


def lifted_changes(
    tables: TableStore,
    before: TableState | None,
    after: TableState,
    merged: GraphType,
    candidates: CandidateRows | None = None,
) -> Iterator[ProjectedChanges]:
    """What became of a type since the base, as the merged declaration sees it.

    With `candidates`, only what became of these rows of the base is told rightly.
    """
    for changes in table_changes(tables, before, after, addresses=True, candidates=candidates):
        yield _lifted(changes, before.type if before else None, after.type, merged)


def _lifted(
    changes: Changes, before: GraphType | None, after: GraphType, merged: GraphType
) -> ProjectedChanges:
    earlier = before or after

    def later(rows: pa.Table) -> pa.Table:
        return project(rows, after, after, merged)

    def sooner(rows: pa.Table) -> pa.Table:
        return project(rows, earlier, after, merged)

    old, new = sooner(changes.updated_before), later(changes.updated_after)
    at = _addresses(changes.updated_before)
    if earlier is not merged or after is not merged:
        changed = differing(old, new)
        old, new, at = old.filter(pa.array(changed)), new.filter(pa.array(changed)), at[changed]
    deleted_at = _addresses(changes.deleted)
    return ProjectedChanges(
        later(changes.inserted), sooner(changes.deleted), old, new, at, deleted_at
    )


def _addresses(rows: pa.Table) -> Addresses:
    found: Addresses = rows.column(ADDRESS.name).to_numpy()
    return found


def project(rows: pa.Table, declared: GraphType, named: GraphType, merged: GraphType) -> pa.Table:
    """Rows of a side that declares the type one way, in columns named another way, as merged."""
    schema = table_schema(merged)
    columns = []
    for field in schema:
        source: str | None = field.name
        if field.name in merged.by_name:
            identity = merged.by_name[field.name].identity
            has = identity in declared.by_identity and identity in named.by_identity
            source = named.by_identity[identity].name if has else None
        columns.append(evolved_column(rows, field, source, merged))
    return pa.Table.from_arrays(columns, schema=schema)


def stored_names(declared: GraphType, merged: GraphType, columns: Sequence[str]) -> dict[str, str]:
    """What columns of the merged type are called in the table of a side that has them."""
    names = {}
    for column in columns:
        prop = merged.by_name.get(column)
        if prop is None:
            names[column] = column
        elif prop.identity in declared.by_identity:
            names[column] = declared.by_identity[prop.identity].name
    return names


def rows_with_ids(
    tables: TableStore, image: TableState, ids: pa.StringArray, merged: GraphType
) -> pa.Table:
    """The rows of a side that hold some (distinct) ids, by id."""
    schema = table_schema(merged)
    if not len(ids):
        return schema.empty_table()
    found = tables.locate(image.version, ids)
    chosen = RowSet(image.version, (), found.addresses, len(found.ids), 0)
    stored = table_schema(image.type)
    batches = list(read_rows(tables, chosen, stored.names))
    rows = pa.Table.from_batches(batches) if batches else stored.empty_table()
    return project(rows, image.type, image.type, merged).sort_by("id")
