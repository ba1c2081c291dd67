"""Definitions on a branch: set, replace, remove; one commit each, no rows change.

Who sets one has checked it against the schema that the change is published on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnigraph.schema import Catalog
from omnigraph.storage.commit.publish_plan import PublishPlan
from omnigraph.storage.commit.retry import Attempt, publish_with_retry
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.manifest.definitions import Definition, changed_definitions

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

    def publish(attempt: Attempt) -> Commit | None:
        head = attempt.head()
        wanted = build(head, store.catalog(head.schema))
        change = changed_definitions(head.definitions, wanted)
        if not change:
            return None
        return attempt.publish(
            PublishPlan(
                commit=attempt.commit,
                base=head,
                actor=actor,
                message=message,
                definitions=change,
            )
        )

    return publish_with_retry(store.publisher, branch, publish)
