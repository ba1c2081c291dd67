"""Apply a schema to one branch: plan, move the data, publish; all in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from omnigraph.errors import PublishContention, StorageError
from omnigraph.schema import Catalog, SchemaPlan, compile_schema, plan_evolution
from omnigraph.schema.model.arrow_schema import default_scalar, table_schema
from omnigraph.schema.model.catalog import GraphType
from omnigraph.schema.model.entity_ids import new_ulid
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan, read_allocator
from omnigraph.storage.constraints.rule_order import check_unique_everywhere
from omnigraph.storage.constraints.table_view import StoredTable
from omnigraph.storage.constraints.value_checks import check_values
from omnigraph.storage.core.layout import table_location
from omnigraph.storage.core.model import Commit, Head, Pointers, TablePointer, schema_record
from omnigraph.storage.core.table_version import TableVersion, guarded
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.collect import collect


@dataclass(frozen=True)
class SchemaApplied:
    """What became of a schema that was applied."""

    applied: bool
    plan: SchemaPlan
    commit: Commit | None = field(default=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "applied": self.applied,
            **self.plan.to_json(),
            "commit": self.commit.to_json() if self.commit else None,
        }


@dataclass(frozen=True)
class SchemaChange:
    """A schema that a head can be brought to: the steps, and the tables already moved."""

    plan: SchemaPlan
    source: str
    desired: Catalog
    first_identity: int
    """The next free identity when it was planned."""
    tables: Mapping[str, TablePointer | None]
    purge: tuple[int, ...]

    def on(self, plan: PublishPlan) -> PublishPlan:
        """A plan that also makes this change; what it moves itself goes over what is moved here."""
        return replace(
            plan,
            tables={**self.tables, **plan.tables},
            relies_on=plan.relies_on | _graph_tables(plan.base),
            relies_on_schema=True,
            schema=schema_record(self.source, self.desired),
            identities=range(self.first_identity, self.desired.next_identity),
            purge=self.purge,
        )

    def then(self, later: SchemaChange, base: Pointers) -> SchemaChange:
        """This change of a head and, on top of it, another one; the head has the pointers `base`.

        What one made and the other dropped was never there.
        """
        moved = {**self.tables, **later.tables}
        return replace(
            later,
            first_identity=self.first_identity,
            tables={key: to for key, to in moved.items() if to is not None or key in base},
            purge=tuple(sorted({*self.purge, *later.purge})),
        )

    def after(self, pointers: Pointers) -> Pointers:
        """A pointer map with the tables moved."""
        moved = {**pointers, **self.tables}
        return {key: pointer for key, pointer in moved.items() if pointer is not None}


def _graph_tables(head: Head) -> frozenset[str]:
    return frozenset(key for key in head.tables if not key.startswith("table:"))


def stage_schema(
    store: GraphStore,
    accepted: Catalog,
    pointers: Pointers,
    source: str,
    *,
    file: str | None = None,
    allow_data_loss: bool = False,
) -> SchemaChange:
    """Plan the way from one schema to another, and move its data; nothing is visible yet."""
    first_identity = max(read_allocator(store.publisher.view), accepted.next_identity)
    desired = compile_schema(source, accepted=accepted, first_identity=first_identity, file=file)
    plan = plan_evolution(accepted, desired, allow_data_loss=allow_data_loss)
    plan.raise_unsupported()
    return SchemaChange(
        plan,
        source,
        desired,
        first_identity,
        _moved_tables(store, pointers, accepted, desired) if plan.steps else {},
        _purged(accepted, desired) if allow_data_loss and plan.steps else (),
    )


def apply_schema(
    store: GraphStore,
    source: str,
    branch: str,
    *,
    file: str | None = None,
    allow_data_loss: bool = False,
    actor: str | None = None,
    message: str | None = None,
) -> SchemaApplied:
    """Bring a branch to a schema. An unsupported change raises; an empty plan commits nothing."""
    store.ready_to_write()
    commit_id = new_ulid()
    for _ in range(store.publisher.retry_budget):
        head = store.head(branch)
        try:
            change = stage_schema(
                store,
                store.catalog(head.schema),
                head.tables,
                source,
                file=file,
                allow_data_loss=allow_data_loss,
            )
        except StorageError:
            if store.head(branch).epoch == head.epoch:
                raise
            continue  # not damage: a collection took what was staged
        if not change.plan.steps:
            return SchemaApplied(False, change.plan)
        publish = PublishPlan(
            commit=commit_id,
            base=head,
            tables={},
            relies_on=frozenset(),
            actor=actor,
            message=message or "apply a schema",
        )
        try:
            commit = store.publisher.publish(change.on(publish))
        except HeadMoved:
            continue
        if change.purge:
            collect(store)
        return SchemaApplied(True, change.plan, commit)
    raise PublishContention(
        f"other writers of {branch} were faster every time; nothing was changed",
        hint="Try again when fewer writers are busy.",
    )


def _purged(accepted: Catalog, desired: Catalog) -> tuple[int, ...]:
    """Identities of the tables whose past goes with a hard drop."""
    gone = []
    for old in accepted.types():
        new = desired.by_identity(old.identity)
        if new is None or not set(old.by_identity) <= set(new.by_identity):
            gone.append(old.identity)
    return tuple(sorted(gone))


def _moved_tables(
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
            created = store.tables.create(table_location(new.table_key), table_schema(new))
            moved[new.table_key] = TablePointer(created.location, 0, created.lance, 0, new.identity)
            continue
        base = pointers[known.table_key]
        pointer = _evolved(store, base, known, new)
        if pointer != base or new.table_key != known.table_key:
            moved[new.table_key] = pointer
    return moved


def _evolved(store: GraphStore, base: TablePointer, old: GraphType, new: GraphType) -> TablePointer:
    """The table under its new declaration; the same pointer when its columns stay as they are."""
    version = TableVersion(base.location, base.lance)
    version = evolved_version(store, version, old, new)
    _check_new_constraints(StoredTable(store.tables, version, base.rows), old, new)
    return TablePointer(base.location, base.version, version.lance, base.rows, base.identity)


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
    reader = store.tables.scan(version, columns=wanted)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in guarded(reader, version):
            columns = [evolved_column(batch, f, sources.get(f.name, f.name), new) for f in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    target = store.tables.replace(version, schema, [])
    fragments = store.tables.write(target, pa.RecordBatchReader.from_batches(schema, batches()))
    return store.tables.replace(target, schema, fragments)


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
            check_unique_everywhere(view, new, rule.members)


def _now(member: str, old: GraphType, names: Mapping[int, str]) -> str:
    prop = old.by_name.get(member)
    return member if prop is None else names.get(prop.identity, member)
