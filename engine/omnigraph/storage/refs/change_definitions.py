"""Definitions on a branch: set, replace, remove; one commit each, no rows change.

Who sets one has checked it against the schema that the change is published on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnigraph.errors import PublishContention
from omnigraph.schema import Catalog
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.definitions import Definition

DefinitionChange = Mapping[str, Definition | None]
"""By key; none removes."""
Build = Callable[[Head, Catalog], DefinitionChange]


def change_definitions(
    store: GraphStore,
    branch: str,
    build: Build,
    *,
    actor: str | None = None,
    message: str | None = None,
) -> Commit | None:
    """Publish the change that `build` makes of a head; none when it changes nothing.

    When the schema or one of the definitions moved meanwhile, it is built again on the new head.
    """
    store.ready_to_write()
    with store.publisher.one_commit() as commit:
        return _publish(store, branch, build, commit, actor, message)


def _publish(
    store: GraphStore,
    branch: str,
    build: Build,
    commit_id: str,
    actor: str | None,
    message: str | None,
) -> Commit | None:
    for _ in range(store.publisher.retry_budget):
        head = store.head(branch)
        wanted = build(head, store.catalog(head.schema))
        change = {
            key: definition
            for key, definition in wanted.items()
            if head.definitions.get(key) != (definition.hash if definition else None)
        }
        if not change:
            return None
        plan = PublishPlan(
            commit=commit_id,
            base=head,
            tables={},
            relies_on=frozenset(),
            actor=actor,
            message=message,
            definitions=change,
        )
        try:
            return store.publisher.publish(plan)
        except HeadMoved:
            continue
    raise PublishContention(
        f"other writers of {branch} were faster every time; nothing was changed",
        hint="Try again when fewer writers are busy.",
    )
