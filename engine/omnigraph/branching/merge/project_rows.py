"""Rows projected to the merged schema.

The sides of a merge may declare a type differently. Their rows are compared and written in the
columns of the merged type: by identity, widened, and with the default of a required property where
a side did not have it. So a schema change alone makes no row differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.branching.compare.range_partition import ADDRESS
from omnigraph.branching.compare.row_equality import differing
from omnigraph.branching.compare.table_diff import (
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
    """Entities that differ between two sides, projected to the merged type, by id."""

    inserted: pa.Table
    deleted: pa.Table
    updated_before: pa.Table
    updated_after: pa.Table
    updated_at: Addresses
    deleted_at: Addresses
    """Where the earlier side has the rows that were updated and deleted."""


def projected_changes(
    tables: TableStore,
    before: TableState | None,
    after: TableState,
    merged: GraphType,
    candidates: CandidateRows | None = None,
) -> Iterator[ProjectedChanges]:
    """What changed of a type since the base, projected to the merged type.

    With `candidates`, the answer is exact only for these rows of the base.
    """
    for changes in table_changes(tables, before, after, addresses=True, candidates=candidates):
        yield _projected(changes, before.type if before else None, after.type, merged)


def _projected(
    changes: Changes, before: GraphType | None, after: GraphType, merged: GraphType
) -> ProjectedChanges:
    before = before or after
    old = project(changes.updated_before, before, after, merged)
    new = project(changes.updated_after, after, after, merged)
    updated_at = _addresses(changes.updated_before)
    if before is not merged or after is not merged:
        changed = differing(old, new)
        old, new = old.filter(pa.array(changed)), new.filter(pa.array(changed))
        updated_at = updated_at[changed]
    return ProjectedChanges(
        inserted=project(changes.inserted, after, after, merged),
        deleted=project(changes.deleted, before, after, merged),
        updated_before=old,
        updated_after=new,
        updated_at=updated_at,
        deleted_at=_addresses(changes.deleted),
    )


def _addresses(rows: pa.Table) -> Addresses:
    addresses: Addresses = rows.column(ADDRESS.name).to_numpy()
    return addresses


def project(rows: pa.Table, declared: GraphType, named: GraphType, merged: GraphType) -> pa.Table:
    """Rows of a side that declares the type one way, in columns named another way, as merged."""
    schema = table_schema(merged)
    available = stored_names(declared, merged, schema.names)
    names = {n: c for n, c in stored_names(named, merged, schema.names).items() if n in available}
    columns = [evolved_column(rows, field, names.get(field.name), merged) for field in schema]
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
    tables: TableStore, state: TableState, ids: pa.StringArray, merged: GraphType
) -> pa.Table:
    """The rows of a side with some (distinct) ids, by id."""
    if not len(ids):
        return table_schema(merged).empty_table()
    located = tables.locate(state.version, ids)
    chosen = RowSet(state.version, (), located.addresses, len(located.ids), 0)
    stored = table_schema(state.type)
    batches = list(read_rows(tables, chosen, stored.names))
    rows = pa.Table.from_batches(batches) if batches else stored.empty_table()
    return project(rows, state.type, state.type, merged).sort_by("id")
