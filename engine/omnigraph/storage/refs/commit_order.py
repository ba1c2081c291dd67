"""The commits of several branches as one history: children before parents, newest first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping

from omnigraph.storage.core.model import Commit


def newest_first(tips: Iterable[str], commits: Mapping[str, Commit]) -> list[Commit]:
    """Every commit that the tips lead to, by either parent.

    Each comes before its parents, and otherwise the newer one first.
    """
    reachable = _reachable(tips, commits)
    children_left = Counter(parent for commit in reachable.values() for parent in commit.parents)
    ready = [_newest(commit) for commit in reachable.values() if not children_left[commit.id]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        commit = reachable[heapq.heappop(ready)[-1]]
        ordered.append(commit)
        for parent in commit.parents:
            children_left[parent] -= 1
            if not children_left[parent] and parent in reachable:
                heapq.heappush(ready, _newest(reachable[parent]))
    return ordered


def _reachable(tips: Iterable[str], commits: Mapping[str, Commit]) -> dict[str, Commit]:
    reachable: dict[str, Commit] = {}
    pending = list(tips)
    while pending:
        current = pending.pop()
        if current in commits and current not in reachable:
            reachable[current] = commits[current]
            pending += commits[current].parents
    return reachable


def _newest(commit: Commit) -> tuple[float, int, str]:
    return -commit.time.timestamp(), -commit.version, commit.id
