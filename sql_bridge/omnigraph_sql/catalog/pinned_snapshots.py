"""Which moment of each catalog a statement reads: looked up once, the same to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from omnigraph import Graph, Snapshot, is_hidden
from omnigraph.errors import InvalidInput, NotFound, StorageError
from omnigraph.query import Fact
from omnigraph_sql.catalog.access_guard import AccessRequest, Action, Guard, allow
from omnigraph_sql.catalog.catalog_tables import EDGES, NODES

Moments: TypeAlias = tuple[tuple[str, str, str], ...]
"""Catalog, commit and the schema it is read under, for each catalog of a statement."""


class PinnedSnapshots:
    """Snapshots of one statement by catalog; the first look at a catalog pins it.

    `branch_of` says where a catalog is read: a transaction reads its own branch.
    """

    def __init__(
        self,
        graph: Graph,
        current: str,
        branch_of: Callable[[str], str],
        pinned: Mapping[str, Snapshot] | None = None,
        guard: Guard = allow,
    ) -> None:
        self._guard = guard
        self.graph = graph
        self.current = current
        self._branch_of = branch_of
        self._snapshots: dict[str, Snapshot] = dict(pinned or {})
        self.touched: set[AccessRequest] = set()
        """The requests that the guard has allowed."""

    def snapshot(self, catalog: str | None = None) -> Snapshot:
        """The pinned snapshot of a catalog; none is the current one."""
        name = catalog or self.current
        if name not in self._snapshots:
            self._snapshots[name] = self.graph.snapshot(self._branch_of(name))
        return self._snapshots[name]

    def find(self, catalog: str) -> Snapshot | None:
        """The same, or none if there is no such branch or moment."""
        try:
            return self.snapshot(catalog)
        except (NotFound, InvalidInput):
            return None

    def touch(
        self, action: Action, catalog: str, schema: str | None = None, name: str | None = None
    ) -> None:
        """Ask the session's guard, which refuses by raising."""
        branch = self.snapshot(catalog).branch
        if is_hidden(branch):  # a transaction's own, which stands for the branch it will change
            branch = catalog.partition("@")[0]
        request = AccessRequest(action, branch, schema, name)
        self._guard(request)
        self.touched.add(request)

    def touch_types(self, action: Action, catalog: str, types: Iterable[Fact]) -> None:
        """The same for the types that a query of the graph reads or writes."""
        for fact in types:
            self.touch(action, catalog, NODES if fact.kind == "node" else EDGES, fact.type_name)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A missing file inside this block may be of a moment that was given up meanwhile."""
        try:
            yield
        except StorageError as error:
            for snapshot in self._snapshots.values():
                explained = snapshot.explained(error)
                if explained is not error:
                    raise explained from error
            raise

    def moments(self) -> Moments:
        """The moments of the catalogs that were pinned."""
        return tuple(
            (name, s.commit, s.moment.reading_schema) for name, s in sorted(self._snapshots.items())
        )

    def still_at(self, moments: Moments) -> bool:
        """Whether the catalogs of an earlier statement are where it found them."""
        for name, commit, schema in moments:
            now = self.find(name)
            if now is None or (now.commit, now.moment.reading_schema) != (commit, schema):
                return False
        return True
