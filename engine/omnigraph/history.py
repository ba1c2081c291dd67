"""The part of a graph that looks back: what differs between moments, and what commits changed."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.branching.diff import Diff, diff
from omnigraph.branching.filters import make_filter
from omnigraph.storage.graph_store import GraphStore
from omnigraph.storage.moments import resolve


class History:
    """Differences and changes of one graph."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

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
        wanted = make_filter(kinds, types, ops)
        return diff(self._store, resolve(self._store, from_), resolve(self._store, to), wanted)
