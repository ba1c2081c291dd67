"""The first commit of a branch: of a new graph, or of one that is older than commits."""

from __future__ import annotations

from omnigraph.common.ulid import new_ulid
from omnigraph.storage.core.model import Commit, Head, Pointers, now


def first_commit(
    branch: str, schema: str, tables: Pointers, *, message: str, actor: str | None = None
) -> tuple[Commit, Head]:
    """A commit without parents that has these tables, and the head of the branch at it."""
    commit = Commit(
        id=new_ulid(),
        branch=branch,
        version=1,
        parents=(),
        time=now(),
        actor=actor,
        message=message,
        schema=schema,
        changed=tuple(sorted(tables)),
        tables=tables,
    )
    head = Head(
        branch=branch,
        commit=commit.id,
        version=1,
        schema=schema,
        epoch=1,
        incarnation=new_ulid(),
        fork=None,
        tables=tables,
        time=commit.time,
    )
    return commit, head
