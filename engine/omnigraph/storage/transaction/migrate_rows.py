"""Rows of a table brought to the next version of its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from omnigraph.schema import Catalog
from omnigraph.schema.model.arrow_schema import default_scalar, table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.uniqueness import unique_everywhere
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.layout import new_table_location
from omnigraph.storage.core.model import Pointers, TablePointer, pointer_to
from omnigraph.storage.core.table_version import TableVersion
from omnigraph.storage.graph_store import GraphStore


def migrated_tables(
    store: GraphStore, pointers: Pointers, accepted: Catalog, desired: Catalog
) -> Mapping[str, TablePointer | None]:
    """Where every pointer goes: moved, made, dropped; tables that stay are not in it."""
    moved: dict[str, TablePointer | None] = {}
    for old in accepted.types():
        new = desired.by_identity(old.identity)
        if new is None or new.table_key != old.table_key:
            moved[old.table_key] = None
    for new in desired.types():
        known = accepted.by_identity(new.identity)
        if known is None:
            created = store.tables.create(new_table_location(new.table_key), table_schema(new))
            moved[new.table_key] = pointer_to(created, 0, new.identity)
            continue
        base = pointers[known.table_key]
        pointer = _evolved(store, base, known, new)
        if pointer != base or new.table_key != known.table_key:
            moved[new.table_key] = pointer
    return moved


def _evolved(store: GraphStore, base: TablePointer, old: GraphType, new: GraphType) -> TablePointer:
    """The table under its new declaration; the same pointer when its columns stay as they are."""
    version = evolved_version(store, base.address, old, new)
    _check_new_constraints(StoredTable(store.tables, version, base.rows), old, new)
    return base.at(version)


def evolved_version(
    store: GraphStore, version: TableVersion, old: GraphType, new: GraphType
) -> TableVersion:
    """The rows of a table in the columns of a later declaration; the same version if it has them.

    Columns that are new hold the default of a required property, or null.
    """
    schema = table_schema(new)
    if table_schema(old).equals(schema):
        return version
    old_names = {p.identity: p.name for p in old.properties}
    sources = {p.name: old_names.get(p.identity) for p in new.properties}
    wanted = [f.name for f in schema if f.name not in sources]
    wanted += [name for name in sources.values() if name is not None]
    stored = store.tables.scan(version, columns=wanted)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in stored:
            columns = [evolved_column(batch, f, sources.get(f.name, f.name), new) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    target = store.tables.replace(version, schema)
    files = store.tables.write(target, pa.RecordBatchReader.from_batches(schema, batches()))
    return store.tables.replace(target, schema, files)


def evolved_column(
    batch: pa.RecordBatch | pa.Table, target: pa.Field, source: str | None, type_: GraphType
) -> pa.Array | pa.ChunkedArray:
    """A column of a later declaration from the rows of an earlier one, which may not have it."""
    if source is not None:
        column = batch.column(source)
        return column if column.type == target.type else column.cast(target.type)
    default = default_scalar(type_.property(target.name))
    if default is None or not default.is_valid:
        return pa.nulls(batch.num_rows, target.type)
    return pa.repeat(default, batch.num_rows)


def _check_new_constraints(view: StoredTable, old: GraphType, new: GraphType) -> None:
    """Every existing row is checked against constraints that are new."""
    known = {str(rule) for rule in (*old.ranges, *old.checks)}
    if any(str(rule) not in known for rule in (*new.ranges, *new.checks)):
        for rows in view.scan(table_schema(new).names):
            check_values(new, rows)
    renamed = {p.identity: p.name for p in new.properties}
    before = {
        tuple(sorted(_now(member, old, renamed) for member in rule.members)) for rule in old.uniques
    }
    for rule in new.uniques:
        if tuple(sorted(rule.members)) not in before:
            for violation in unique_everywhere(view, new, rule.members):
                raise violation


def _now(member: str, old: GraphType, names: Mapping[int, str]) -> str:
    prop = old.by_name.get(member)
    return member if prop is None else names.get(prop.identity, member)
