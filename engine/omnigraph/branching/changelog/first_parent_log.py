"""The commits of a branch in the order in which they were made, along first parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from omnigraph.common.bounded_cache import BoundedCache
from omnigraph.storage.core.model import Commit
from omnigraph.storage.graph_store import GraphStore

STEPS = 64
"""Commits that are looked up one by one; for more, all of the history is read at once."""
CACHED_COMMITS = 1 << 15


class Lineage:
    """Chains of commits; a long one stays in memory while somebody pages through it."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._chains: BoundedCache[str, tuple[Commit, ...]] = BoundedCache(CACHED_COMMITS)

    def between(self, after: str | None, upto: str) -> list[Commit] | None:
        """The commits after one of them up to another, oldest first; all of them after none.

        None if the first does not lead to the other.
        """
        commits: list[Commit] = []
        for commit in self._backwards(upto):
            if commit.id == after:
                return commits[::-1]
            commits.append(commit)
        return commits[::-1] if after is None else None

    def _backwards(self, upto: str) -> Iterator[Commit]:
        known = self._chains.get(upto)
        if known is not None:
            yield from known
            return
        current: str | None = upto
        for _ in range(STEPS):
            commit = self._store.commit(current) if current is not None else None
            if commit is None:
                return
            yield commit
            current = commit.parent
        chain = tuple(_chain(self._store.all_commits(), upto))
        self._chains.put(upto, chain, len(chain))
        yield from chain[STEPS:]


def _chain(commits: Mapping[str, Commit], upto: str) -> Iterator[Commit]:
    current: str | None = upto
    while current is not None and current in commits:
        yield commits[current]
        current = commits[current].parent
