"""The change feed: the commits of one branch as blocks of changes, page by page.

The rules are docs/design/branching.md#5-commit-changes-and-feed.

A cursor holds the whole position, so that any process can serve the next page; delivery is at
least once. A block that a page ended inside stays open here for a while, so that the next page
need not begin it again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from omnigraph.branching.changelog.commit_changes import (
    CommitChanges,
    cause_of,
    commit_changes,
    require_parent,
)
from omnigraph.branching.changelog.feed_cursor import Binding, FeedCursor, PageToken, feed_binding
from omnigraph.branching.changelog.feed_page import (
    FeedChange,
    Page,
    PageBuilder,
    PageSize,
    PeekableChanges,
)
from omnigraph.branching.changelog.first_parent_log import Lineage
from omnigraph.branching.compare.change_filter import Filter
from omnigraph.branching.compare.change_json_lines import change_lines
from omnigraph.errors import (
    ChangeFeedGap,
    CursorRejected,
    InvalidInput,
    NotFound,
    Reclaimed,
    SchemaBoundary,
)
from omnigraph.storage.core.model import MAIN, Commit, Head
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.refs.moments import past
from omnigraph.storage.refs.snapshot import find_type

PARKED_BLOCKS = 4
"""Blocks that stay open between two pages."""


@dataclass(frozen=True, slots=True)
class _Poll:
    """One request: the filter, on which head, and up to where."""

    head: Head
    binding: Binding
    filter: Filter
    size: PageSize
    cut: str
    token: str | None = None
    """The cursor or page token of the request."""


class Feed:
    """The change feeds of one graph. The lock protects the blocks that are left open."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lineage = Lineage(store)
        self._lock = threading.Lock()
        self._parked: OrderedDict[str, PeekableChanges] = OrderedDict()

    def start(self, branch: str, start: str, filter_: Filter, size: PageSize) -> Page:
        """The first page: from `now`, from the `beginning`, or from `after:<commit>` on."""
        head = self._store.head(branch)
        catalog = self._store.catalog(head.schema)
        for name in sorted(filter_.types or ()):
            find_type(catalog, name)
        if start == "now":
            return Page((), cursor=self.cursor(head, filter_), caught_up=True)
        after = self._start_commit(head, start)
        poll = _Poll(head, self._binding(head, filter_), filter_, size, head.commit)
        return self._page(poll, after)

    def resume(self, branch: str, cursor: str, filter_: Filter, size: PageSize) -> Page:
        """The page after a cursor, up to the head of the branch now."""
        head = self._store.head(branch)
        binding = self._binding(head, filter_)
        after = binding.cursor(cursor).commit
        return self._page(_Poll(head, binding, filter_, size, head.commit, cursor), after)

    def next_page(self, branch: str, token: str, filter_: Filter, size: PageSize) -> Page:
        """The page after one that ended inside a block, up to where its poll went."""
        head = self._store.head(branch)
        binding = self._binding(head, filter_)
        position = binding.page_token(token)
        commit = self._store.commit(position.commit)
        after = require_parent(commit) if commit else position.commit
        poll = _Poll(head, binding, filter_, size, position.cut, token)
        return self._page(poll, after, position)

    def cursor(self, head: Head, filter_: Filter) -> str:
        """The cursor of a consumer that has everything up to a head."""
        return self._binding(head, filter_).issue(FeedCursor(head.commit))

    def _binding(self, head: Head, filter_: Filter) -> Binding:
        main = head if head.branch == MAIN else self._store.head(MAIN, fresh=False)
        return feed_binding(main, head, filter_)

    def _start_commit(self, head: Head, start: str) -> str | None:
        if start == "beginning":
            return None
        word, _, commit = start.partition(":")
        if word != "after" or not commit:
            raise InvalidInput(
                f"a feed cannot start at {start!r}", hint="Use now, beginning or after:<commit>."
            )
        if self._lineage.between(commit, head.commit) is None:
            raise NotFound(
                f"commit {commit!r} is not on branch {head.branch!r}",
                hint=f"List its commits with `omnigraph commit list --branch {head.branch}`.",
            )
        return commit

    def _page(self, poll: _Poll, after: str | None, position: PageToken | None = None) -> Page:
        pending = self._lineage.between(after, poll.cut)
        if pending is None:
            raise CursorRejected(
                "the cursor is rejected: its commit is not on the branch",
                hint="Start the feed again.",
            )
        delivered = after
        page = PageBuilder(poll.size)
        for commit in pending:
            if commit.parent is None:  # the commit that created the graph has no block
                delivered = commit.id
                continue
            if page.full:
                break
            try:
                changes = self._changes(poll, commit, position)
                complete = page.add(cause_of(commit), changes)
            except (Reclaimed, SchemaBoundary) as error:
                if page.blocks:
                    break
                if isinstance(error, SchemaBoundary):
                    raise
                raise ChangeFeedGap(poll.token, commit.id) from error
            if not complete:
                if page.blocks and page.blocks[-1].cause.graph_commit_id == commit.id:
                    return self._partial(poll, commit, page, changes)
                break
            delivered, position = commit.id, None
        assert delivered is not None
        cursor = poll.binding.issue(FeedCursor(delivered))
        return Page(tuple(page.blocks), cursor=cursor, caught_up=delivered == poll.cut)

    def _partial(
        self, poll: _Poll, commit: Commit, page: PageBuilder, changes: PeekableChanges
    ) -> Page:
        """A page that ends inside the block of a commit, whose other changes stay open."""
        last = page.last
        assert last is not None
        token = poll.binding.issue(
            PageToken(commit.id, poll.cut, last.edges, last.type_id, last.id)
        )
        with self._lock:
            self._parked[token] = changes
            while len(self._parked) > PARKED_BLOCKS:
                self._parked.popitem(last=False)
        return Page(tuple(page.blocks), next_page_token=token)

    def _changes(self, poll: _Poll, commit: Commit, after: PageToken | None) -> PeekableChanges:
        if after is not None:
            with self._lock:
                parked = self._parked.pop(poll.token or "", None)
            if parked is not None:
                return parked
        parent = self._store.commit(require_parent(commit))
        assert parent is not None
        moments = past(poll.head, parent), past(poll.head, commit)
        changes = commit_changes(self._store, commit, *moments, poll.filter)
        return PeekableChanges(_changes_after(changes, after))


def _changes_after(changes: CommitChanges, position: PageToken | None) -> Iterator[FeedChange]:
    """The changes of a block one by one, after the last that a page delivered."""
    last_type = (position.edges, position.type_id) if position else None
    for batch in changes.batches(last_type):
        edges = batch.column("kind")[0].as_py() == "edge"
        type_id = batch.column("type_id")[0].as_py()
        if position is not None and (edges, type_id) == last_type:
            batch = batch.filter(pc.greater(batch.column("id"), position.id))
        lines = change_lines(batch)
        columns = (batch.column("id"), lines, pc.binary_length(lines))
        for id_, line, size in zip(*(column.to_pylist() for column in columns), strict=True):
            yield FeedChange(edges, type_id, id_, line, size)
