"""A plan validated on the head that it finds: the head after it, or why it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from omnigraph.errors import (
    ExpectedVersionMismatch,
    NotFound,
    PreconditionFailed,
)
from omnigraph.storage.commit.publish_plan import (
    APPLIED,
    UNIFIED,
    HeadMoved,
    PublishPlan,
    require_new,
    require_unprotected,
)
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.core.read_log import is_unmoved
from omnigraph.storage.manifest.definitions import definition_id, definition_row
from omnigraph.storage.manifest.manifest import ManifestView
from omnigraph.storage.manifest.row_codec import (
    ManifestRow,
    commit_row,
    head_id,
    parse_registration,
    schema_id,
    schema_row,
    table_id,
    table_row,
    tombstone_row,
    version_row,
)

NO_OTHERS: Mapping[str, Head | None] = {}


@dataclass(frozen=True, slots=True)
class ValidatedPlan:
    """A plan that holds on a head: the head after it, its commit, and the rows to add."""

    head: Head
    commit: Commit
    rows: tuple[ManifestRow, ...]


def validate_plan(
    plan: PublishPlan,
    head: Head | None,
    view: ManifestView,
    next_identity: int,
    others: Mapping[str, Head | None] = NO_OTHERS,
) -> ValidatedPlan:
    """The outcome of a plan on the current head of its branch, or the reason it cannot be.

    `next_identity` is the next free one; `others` are the current heads of the other branches that
    it names.
    """
    base = plan.base
    head = _same_branch(base, head)
    for source in plan.sources:
        _same_branch(source, others.get(source.branch))
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
    if plan.deletes is not None and others.get(plan.deletes.branch) != plan.deletes:
        raise HeadMoved(head, head_id(plan.deletes.branch))
    if head.commit != base.commit or head.epoch != plan.epoch:
        _require_unmoved(plan, head, view)
    return _moved(plan, head, view)


def _same_branch(known: Head, current: Head | None) -> Head:
    """The current head of a branch, unless that is gone or another one has its name."""
    if current is None or current.incarnation != known.incarnation:
        raise NotFound(
            f"branch {known.branch!r} was deleted while this write was prepared",
            hint="Create the branch again or write to another one.",
        )
    return current


def _require_unmoved(plan: PublishPlan, head: Head, view: ManifestView) -> None:
    if head.epoch != plan.epoch and not _is_spared(plan, view):
        raise HeadMoved(head, "collection", expired=True)
    if plan.relies_on_schema and head.schema != plan.base.schema:
        raise HeadMoved(head, "schema")
    for key in sorted(plan.relies_on):
        if not is_unmoved(key, plan.base, head):
            raise HeadMoved(head, key)
    for key in sorted(plan.tables):
        if head.tables.get(key) != plan.base.tables.get(key):
            raise HeadMoved(head, key)
    for key in sorted(plan.definitions):
        if head.definitions.get(key) != plan.base.definitions.get(key):
            raise HeadMoved(head, key)


def _is_spared(plan: PublishPlan, view: ManifestView) -> bool:
    """Whether collections since it was staged have left all of its files alone."""
    row = view.row(plan.registration) if plan.registration is not None else None
    if row is None:
        return False
    staged = {pointer.location for pointer in plan.tables.values() if pointer is not None}
    return staged <= set(parse_registration(row).locations)


def _moved(plan: PublishPlan, head: Head, view: ManifestView) -> ValidatedPlan:
    tables, retired = dict(head.tables), dict(head.retired)
    rows: list[ManifestRow] = []
    for key, target in sorted(plan.tables.items()):
        if target is None:
            dropped = tables.pop(key)
            retired[key] = dropped.version
            rows.append(tombstone_row(head.branch, key, dropped.version, plan.commit))
            continue
        last = tables[key].version if key in tables else retired.pop(key, 0)
        tables[key] = replace(target, version=last + 1)
        rows.append(version_row(head.branch, key, tables[key], plan.commit))
        if table_id(key, target.location) not in view.named:
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
        time=_not_before(plan, head),
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
        time=commit.time,
        properties=_properties(plan, head, commit.version),
    )
    return ValidatedPlan(after, commit, (commit_row(commit), *rows))


def _not_before(plan: PublishPlan, head: Head) -> datetime:
    """When a commit was made: not before its parents, whatever the clock of its writer says."""
    parents = (head, *(source for source in plan.sources if source.commit == plan.merged))
    return max([plan.time, *(parent.time for parent in parents if parent.time is not None)])


def _properties(plan: PublishPlan, head: Head, version: int) -> Mapping[str, Any]:
    """The properties of a head after a plan: what it purges, applies and unifies is added."""
    added: dict[str, dict[str, int]] = {
        "purged": {str(identity): version for identity in plan.purge},
        APPLIED: dict([plan.once] if plan.once else []),
        UNIFIED: {str(identity): other for identity, other in plan.unified.items()},
    }
    changed = {key: {**head.properties.get(key, {}), **new} for key, new in added.items() if new}
    return {**head.properties, **changed}
