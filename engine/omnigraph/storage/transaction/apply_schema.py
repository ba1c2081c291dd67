"""Apply a schema to one branch: plan, move the data, publish; all in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omnigraph.schema import Catalog, SchemaPlan, compile_schema, plan_evolution
from omnigraph.storage.commit.publish_plan import PublishPlan, read_allocator
from omnigraph.storage.commit.retry import Attempt, collected_reads, publish_with_retry
from omnigraph.storage.core.model import Commit, Pointers, TablePointer, schema_record
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.maintenance.collect import collect
from omnigraph.storage.plain.plain_table import PREFIX
from omnigraph.storage.transaction.migrate_rows import migrated_tables


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
            relies_on=plan.relies_on | {k for k in plan.base.tables if not k.startswith(PREFIX)},
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


def stage_schema(
    store: GraphStore,
    accepted: Catalog,
    pointers: Pointers,
    source: str,
    *,
    file: str | None = None,
    allow_data_loss: bool = False,
) -> SchemaChange:
    """Plan the steps from one schema to another, and migrate its data; nothing is visible yet."""
    first_identity = max(read_allocator(store.publisher.view), accepted.next_identity)
    desired = compile_schema(source, accepted=accepted, first_identity=first_identity, file=file)
    plan = plan_evolution(accepted, desired, allow_data_loss=allow_data_loss)
    plan.raise_unsupported()
    return SchemaChange(
        plan,
        source,
        desired,
        first_identity,
        migrated_tables(store, pointers, accepted, desired) if plan.steps else {},
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

    def publish(attempt: Attempt) -> tuple[SchemaChange, Commit | None]:
        head = attempt.head()
        with collected_reads(store.publisher, head):
            change = stage_schema(
                store,
                store.catalog(head.schema),
                head.tables,
                source,
                file=file,
                allow_data_loss=allow_data_loss,
            )
        if not change.plan.steps:
            return change, None
        plan = PublishPlan(
            commit=attempt.commit,
            base=head,
            actor=actor,
            message=message or "apply a schema",
        )
        return change, attempt.publish(change.on(plan))

    change, commit = publish_with_retry(store.publisher, branch, publish)
    if change.purge:
        collect(store)
    return SchemaApplied(commit is not None, change.plan, commit)


def _purged(accepted: Catalog, desired: Catalog) -> tuple[int, ...]:
    """Identities of the tables whose past goes with a hard drop."""
    purged = []
    for old in accepted.types():
        new = desired.by_identity(old.identity)
        if new is None or not set(old.by_identity) <= set(new.by_identity):
            purged.append(old.identity)
    return tuple(sorted(purged))
