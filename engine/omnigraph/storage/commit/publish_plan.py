"""What a transaction wants to become true, judged on the head it finds (architecture §2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from omnigraph.errors import (
    AlreadyApplied,
    BranchProtected,
    Conflict,
    ExpectedVersionMismatch,
    NotFound,
    PreconditionFailed,
)
from omnigraph.storage.core.model import (
    ALLOCATOR_ID,
    Commit,
    Head,
    Row,
    SchemaRecord,
    TablePointer,
    commit_row,
    head_id,
    now,
    parse_allocator,
    parse_head,
    schema_id,
    schema_row,
    table_id,
    table_row,
    tombstone_row,
    version_row,
)
from omnigraph.storage.manifest.definitions import Definition, definition_id, definition_row
from omnigraph.storage.manifest.manifest import ManifestView

APPLIED = "applied"
"""The head property that keeps the last batch of every stream."""
UNIFIED = "unified"
"""A head property: identities that merges found to be one thing, each to the one that was kept."""


class HeadMoved(Exception):
    """The branch moved in a way that the plan must not be rebased on by itself."""

    def __init__(self, head: Head, member: str, expired: bool = False) -> None:
        super().__init__(member)
        self.head = head
        self.member = member
        """The table, `schema`, `head` or the key of a definition that moved."""
        self.expired = expired
        """A collection ran: files staged before it may be gone."""


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What one transaction wants to become true, all at once."""

    commit: str
    """The id of the commit, fixed before the first attempt and kept across retries."""
    base: Head
    tables: Mapping[str, TablePointer | None]
    """Where pointers go; none drops the table. Version numbers are given out by the publisher."""
    relies_on: frozenset[str]
    """Tables whose contents the plan was validated against, besides those it moves."""
    relies_on_schema: bool = True
    """Whether it matters that the schema stays; it does not to plain tables and views."""
    actor: str | None = None
    message: str | None = None
    time: datetime = field(default_factory=now)
    merged: str | None = None
    schema: SchemaRecord | None = None
    identities: range | None = None
    """The identities that its schema gives out for the first time."""
    definitions: Mapping[str, Definition | None] = field(default_factory=dict)
    """Definitions that are set, or with none removed, by key."""
    if_commit: str | None = None
    expected_table_versions: Mapping[str, int] = field(default_factory=dict)
    purge: tuple[int, ...] = ()
    """Identities of tables whose data before this commit is given up."""
    once: tuple[str, int] | None = None
    """A stream's name and the number of its batch, which may land only once, and in order."""
    only_on_base: bool = False
    """Whether it was decided on everything the head shows, and holds on no other commit."""
    deletes: Head | None = None
    """A branch that goes with this commit, which must still be exactly this."""
    unified: Mapping[int, int] = field(default_factory=dict)
    """Identities of declarations that a merge found to be one thing."""
    registration: str | None = None
    """The name of the row by which this transaction asked collections to spare its files."""
    direct: bool = True
    """Whether it is a write of its own, which a protected branch refuses.

    Merges of branches are not, nor is upkeep that changes no entity.
    """


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan that holds on a head: the head after it, its commit, and the rows to add."""

    head: Head
    commit: Commit
    rows: tuple[Row, ...]


def judge(
    plan: PublishPlan,
    head: Head | None,
    view: ManifestView,
    next_identity: int,
    deleted: Head | None = None,
) -> Judged:
    """The outcome of a plan on the current head of its branch, or the reason it cannot be.

    `next_identity` is the next free one, `deleted` the current head of the branch it deletes.
    """
    base = plan.base
    if head is None or head.incarnation != base.incarnation:
        raise NotFound(
            f"branch {base.branch!r} was deleted while this write was prepared",
            hint="Create the branch again or write to another one.",
        )
    if plan.direct:
        require_unprotected(head)
    if plan.if_commit is not None and head.commit != plan.if_commit:
        raise PreconditionFailed(base.branch, plan.if_commit, head.commit)
    for key, expected in plan.expected_table_versions.items():
        actual = head.tables[key].version if key in head.tables else None
        if actual != expected:
            raise ExpectedVersionMismatch(key, expected, actual)
    require_new(head, plan.once)
    if plan.identities and next_identity > plan.identities.start:
        # Somebody else, on whatever branch, has given out the same ones.
        raise HeadMoved(head, "identities")
    if plan.only_on_base and head.commit != base.commit:
        raise HeadMoved(head, "head")
    if plan.deletes is not None and deleted != plan.deletes:
        raise HeadMoved(head, head_id(plan.deletes.branch))
    if head.commit != base.commit or head.epoch != base.epoch:
        _require_unmoved(plan, head, view)
    return _moved(plan, head, view)


def require_unprotected(head: Head) -> None:
    """Refuse direct writes to a protected branch."""
    if head.protected:
        raise BranchProtected(head.branch)


def _require_unmoved(plan: PublishPlan, head: Head, view: ManifestView) -> None:
    spared = plan.registration is not None and plan.registration in view.named
    if head.epoch != plan.base.epoch and not spared:
        raise HeadMoved(head, "collection", expired=True)
    if plan.relies_on_schema and head.schema != plan.base.schema:
        raise HeadMoved(head, "schema")
    for key in sorted(plan.relies_on | plan.tables.keys()):
        if head.tables.get(key) != plan.base.tables.get(key):
            raise HeadMoved(head, key)
    for key in sorted(plan.definitions):
        if head.definitions.get(key) != plan.base.definitions.get(key):
            raise HeadMoved(head, key)


def _moved(plan: PublishPlan, head: Head, view: ManifestView) -> Judged:
    tables, retired = dict(head.tables), dict(head.retired)
    rows: list[Row] = []
    for key, target in sorted(plan.tables.items()):
        if target is None:
            dropped = tables.pop(key)
            retired[key] = dropped.version
            rows.append(tombstone_row(head.branch, key, dropped.version, plan.commit))
            continue
        last = tables[key].version if key in tables else retired.pop(key, 0)
        tables[key] = replace(target, version=last + 1)
        rows.append(version_row(head.branch, key, tables[key], plan.commit))
        if table_id(key) not in view.named:
            rows.append(table_row(key, target.location, target.identity))
    if plan.schema is not None and schema_id(plan.schema.hash) not in view.named:
        rows.append(schema_row(plan.schema))
    schema = plan.schema.hash if plan.schema else head.schema
    definitions = dict(head.definitions)
    for key, definition in sorted(plan.definitions.items()):
        definitions.pop(key, None)
        if definition is None:
            continue
        definitions[key] = definition.hash
        if definition_id(key, definition.hash) not in view.named:
            rows.append(definition_row(definition))
    commit = Commit(
        id=plan.commit,
        branch=head.branch,
        version=head.version + 1,
        parents=(head.commit, plan.merged) if plan.merged else (head.commit,),
        time=plan.time,
        actor=plan.actor,
        message=plan.message,
        schema=schema,
        changed=tuple(sorted(plan.tables)),
        tables=tables,
        definitions=definitions,
    )
    after = replace(
        head,
        commit=plan.commit,
        version=commit.version,
        schema=schema,
        tables=tables,
        retired=retired,
        definitions=definitions,
        properties=_with_unified(
            _with_applied(_with_purged(head.properties, plan.purge, commit.version), plan.once),
            plan.unified,
        ),
    )
    return Judged(after, commit, (commit_row(commit), *rows))


def _with_purged(
    properties: Mapping[str, Any], identities: Sequence[int], version: int
) -> Mapping[str, Any]:
    if not identities:
        return properties
    purged = dict(properties.get("purged", {})) | {str(i): version for i in identities}
    return dict(properties) | {"purged": purged}


def _with_applied(properties: Mapping[str, Any], once: tuple[str, int] | None) -> Mapping[str, Any]:
    if once is None:
        return properties
    return dict(properties) | {APPLIED: dict(properties.get(APPLIED, {})) | dict([once])}


def require_new(head: Head, once: tuple[str, int] | None) -> None:
    """Refuse a batch of a stream that a branch has."""
    if once is not None and applied(head, once[0]) >= once[1]:
        raise AlreadyApplied(head.branch, *once)


def applied(head: Head, stream: str) -> int:
    """The number of the last batch of a stream that a branch has; below 0 when it has none."""
    return int(head.properties.get(APPLIED, {}).get(stream, -1))


def _with_unified(properties: Mapping[str, Any], unified: Mapping[int, int]) -> Mapping[str, Any]:
    known = dict(properties.get(UNIFIED, {})) | {str(i): kept for i, kept in unified.items()}
    return dict(properties) | {UNIFIED: known} if known else properties


def read_head(view: ManifestView, branch: str) -> Head | None:
    """The head of a branch in a view."""
    head = view.heads.get(branch)
    row = view.row(head_id(branch)) if head is None else None
    if row is not None:
        head = view.heads[branch] = parse_head(row)
    return head


def read_allocator(view: ManifestView) -> int:
    """The next free identity in a view."""
    row = view.row(ALLOCATOR_ID)
    if row is None:
        raise Conflict("the graph has no identity allocator", hint="Run `omnigraph verify`.")
    return parse_allocator(row)
