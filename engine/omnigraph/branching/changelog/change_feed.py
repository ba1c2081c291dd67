"""The change feed: the commits of one branch as blocks of changes, page by page (branching.md §5).

A cursor says all there is to know, so that any process can serve the next page; delivery is at
least once. A block that a page left in the middle stays open here for a while, so that the next
page need not begin it again.
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
from omnigraph.branching.changelog.feed_cursor import Binding, FeedCursor, PageToken, binding
from omnigraph.branching.changelog.feed_page import (
    ChangePage,
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
    """One request: what is asked for, on which head, and up to where."""

    head: Head
    bound: Binding
    wanted: Filter
    size: PageSize
    cut: str
    given: str | None = None
    """The cursor or page token that the caller came with."""


class Feed:
    """The change feeds of one graph. The lock protects the blocks that are left open."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lineage = Lineage(store)
        self._lock = threading.Lock()
        self._parked: OrderedDict[str, PeekableChanges] = OrderedDict()

    # ------------------------------------------------------------------ asking

    def start(self, branch: str, start: str, wanted: Filter, size: PageSize) -> Page:
        """The first page: from `now`, from the `beginning`, or from `after:<commit>` on."""
        head = self._store.head(branch)
        bound = self._bound(head, wanted)
        catalog = self._store.catalog(head.schema)
        for name in sorted(wanted.types or ()):
            find_type(catalog, name)
        if start == "now":
            return Page((), cursor=bound.issue(FeedCursor(head.commit)), caught_up=True)
        after = self._first(head, start)
        return self._page(_Poll(head, bound, wanted, size, head.commit), after)

    def resume(self, branch: str, cursor: str, wanted: Filter, size: PageSize) -> Page:
        """The page after a cursor, up to the head of the branch now."""
        head = self._store.head(branch)
        bound = self._bound(head, wanted)
        after = bound.cursor(cursor).commit
        return self._page(_Poll(head, bound, wanted, size, head.commit, cursor), after)

    def next_page(self, branch: str, token: str, wanted: Filter, size: PageSize) -> Page:
        """The page after one that ended inside a block, up to where its poll went."""
        head = self._store.head(branch)
        bound = self._bound(head, wanted)
        left = bound.page_token(token)
        begun = self._store.commit(left.commit)
        after = require_parent(begun) if begun else left.commit
        return self._page(_Poll(head, bound, wanted, size, left.cut, token), after, left)

    def cursor(self, head: Head, wanted: Filter) -> str:
        """The cursor of a consumer that has everything up to a head."""
        return self._bound(head, wanted).issue(FeedCursor(head.commit))

    def _bound(self, head: Head, wanted: Filter) -> Binding:
        main = head if head.branch == MAIN else self._store.head(MAIN, fresh=False)
        return binding(main, head, wanted)

    def _first(self, head: Head, start: str) -> str | None:
        if start == "beginning":
            return None
        word, _, commit = start.partition(":")
        if word != "after" or not commit:
            raise InvalidInput(
                f"{start!r} is no start of a feed", hint="Use now, beginning or after:<commit>."
            )
        if self._lineage.between(commit, head.commit) is None:
            raise NotFound(
                f"commit {commit!r} is not on branch {head.branch!r}",
                hint=f"List its commits with `omnigraph commit list --branch {head.branch}`.",
            )
        return commit

    # ------------------------------------------------------------------ answering

    def _page(self, poll: _Poll, after: str | None, left: PageToken | None = None) -> Page:
        pending = self._lineage.between(after, poll.cut)
        if pending is None:
            raise CursorRejected(
                "the cursor is rejected: the branch does not have its commit",
                hint="Start the feed anew.",
            )
        delivered = after
        page = PageBuilder(poll.size)
        for commit in pending:
            if commit.parent is None:  # what created the graph has no block
                delivered = commit.id
                continue
            if page.full:
                break
            try:
                rows = self._rows(poll, commit, left)
                complete = page.add(cause_of(commit), rows)
            except (Reclaimed, SchemaBoundary) as error:
                if page.blocks:
                    break
                if isinstance(error, SchemaBoundary):
                    raise
                raise ChangeFeedGap(poll.given, commit.id) from error
            if not complete:
                if page.blocks and page.blocks[-1].cause.graph_commit_id == commit.id:
                    return self._inside(poll, commit, page, rows)
                break
            delivered, left = commit.id, None
        assert delivered is not None
        cursor = poll.bound.issue(FeedCursor(delivered))
        return Page(tuple(page.blocks), cursor=cursor, caught_up=delivered == poll.cut)

    def _inside(
        self, poll: _Poll, commit: Commit, page: PageBuilder, rows: PeekableChanges
    ) -> Page:
        last = page.last
        assert last is not None
        place = PageToken(commit.id, poll.cut, last.edges, last.type_id, last.id)
        token = poll.bound.issue(place)
        with self._lock:
            self._parked[token] = rows
            while len(self._parked) > PARKED_BLOCKS:
                self._parked.popitem(last=False)
        return Page(tuple(page.blocks), next_page_token=token)

    def _rows(self, poll: _Poll, commit: Commit, left: PageToken | None) -> PeekableChanges:
        if left is not None:
            with self._lock:
                parked = self._parked.pop(poll.given or "", None)
            if parked is not None:
                return parked
        parent = self._store.commit(require_parent(commit))
        assert parent is not None
        before, after = past(poll.head, parent), past(poll.head, commit)
        changes = commit_changes(self._store, commit, before, after, poll.wanted)
        return PeekableChanges(_rows_of(changes, left))


def _rows_of(changes: CommitChanges, left: PageToken | None) -> Iterator[ChangePage]:
    """The changes of a block one by one, from where a page was left."""
    begun = (left.edges, left.type_id) if left else None
    for batch in changes.batches(begun):
        edges, type_id = (
            batch.column("kind")[0].as_py() == "edge",
            batch.column("type_id")[0].as_py(),
        )
        if left is not None and (edges, type_id) == begun:
            batch = batch.filter(pc.greater(batch.column("id"), left.id))
        texts = change_lines(batch)
        columns = (batch.column("id"), texts, pc.binary_length(texts))
        for id_, text, size in zip(*(column.to_pylist() for column in columns), strict=True):
            yield ChangePage(edges, type_id, id_, text, size)
