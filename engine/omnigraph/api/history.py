"""The part of a graph that looks back: what differs between moments, and what commits changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from omnigraph.branching.changelog.change_feed import Feed
from omnigraph.branching.changelog.commit_changes import (
    CommitChanges,
    commit_changes,
    require_parent,
)
from omnigraph.branching.changelog.feed_page import Page, page_size
from omnigraph.branching.compare.change_filter import ENTITY_KINDS, make_filter
from omnigraph.branching.compare.snapshot_diff import Diff, diff
from omnigraph.errors import InvalidInput, NotFound
from omnigraph.loading.export_snapshot import export_snapshot, opened
from omnigraph.storage.core.model import MAIN, Commit
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import branch_name, resolve
from omnigraph.storage.refs.snapshot import Snapshot


class HistoryMethods:
    """Differences, changes of commits and the change feed of one graph."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._feed = Feed(store)

    def diff(
        self,
        from_: str,
        to: str,
        *,
        kinds: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[str] | None = None,
    ) -> Diff:
        """What became of every entity between two moments, of one branch or of two.

        `kinds` (node, edge, table), `types` and `ops` (insert, update, delete) narrow it down.
        """
        chosen = make_filter(kinds, types, ops)
        return diff(self._store, resolve(self._store, from_), resolve(self._store, to), chosen)

    def commit(self, commit_id: str) -> Commit:
        """One commit by its id."""
        commit = self._store.commit(commit_id)
        if commit is None:
            raise NotFound(
                f"there is no commit {commit_id!r}",
                hint="List commits with `omnigraph commit list`.",
            )
        return commit

    def changes(self, commit_id: str) -> CommitChanges:
        """What one commit changed against its first parent, with row states before and after."""
        commit = self.commit(commit_id)
        before, after = (resolve(self._store, id_) for id_ in (require_parent(commit), commit.id))
        return commit_changes(self._store, commit, before, after)

    def feed(
        self,
        branch: str = MAIN,
        *,
        start: str | None = None,
        cursor: str | None = None,
        page_token: str | None = None,
        kinds: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[str] | None = None,
        max_changes: int | None = None,
        max_bytes: int | None = None,
        max_commits: int | None = None,
    ) -> Page:
        """One page of the changes of a branch, commit by commit along its first parents.

        Begin with `start`: `now` (the default), `beginning`, or `after:<commit>`. Go on with the
        `cursor` of the last page, or its `next_page_token` as `page_token`, and the same filter.
        """
        name, chosen = branch_name(branch), _entities(kinds, types, ops)
        size = page_size(max_changes, max_bytes, max_commits)
        if sum(each is not None for each in (start, cursor, page_token)) > 1:
            raise InvalidInput(
                "a feed continues from one position",
                hint="Give only one of start, cursor and page_token.",
            )
        if cursor is not None:
            return self._feed.resume(name, cursor, chosen, size)
        if page_token is not None:
            return self._feed.next_page(name, page_token, chosen, size)
        return self._feed.start(name, "now" if start is None else start, chosen, size)

    def baseline(
        self,
        branch: str,
        out: str | Path | BinaryIO,
        *,
        kinds: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        ops: Iterable[str] | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write every entity of a branch as NDJSON, then where its feed goes on; returns how many.

        All of it is of one commit. The last line, `{"baseline": {"snapshot_commit_id",
        "resume_cursor"}}`, is there only if everything before it is. The filter is that of the feed
        to go on with.
        """
        chosen = _entities(kinds, types, ops)
        head = self._store.head(branch_name(branch))
        snapshot = Snapshot(self._store, resolve(self._store, f"{head.branch}@{head.commit}"))
        for name in sorted(chosen.types or ()):
            snapshot.find_type(name)
        shown = [t.table_key for t in snapshot.types() if chosen.admits(t.kind, t.name)]
        resume = {
            "snapshot_commit_id": head.commit,
            "resume_cursor": self._feed.cursor(head, chosen),
        }
        with opened(out) as file:
            written = export_snapshot(snapshot, file, shown, on_progress)
            file.write(json.dumps({"baseline": resume}).encode() + b"\n")
        return written


_entities = partial(make_filter, known_kinds=ENTITY_KINDS)
