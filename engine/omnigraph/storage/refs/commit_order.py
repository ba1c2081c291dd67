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
    found = _reachable(tips, commits)
    waiting_for = Counter(parent for commit in found.values() for parent in commit.parents)
    ready = [_newest(commit) for commit in found.values() if not waiting_for[commit.id]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        commit = found[heapq.heappop(ready)[-1]]
        ordered.append(commit)
        for parent in commit.parents:
            waiting_for[parent] -= 1
            if not waiting_for[parent] and parent in found:
                heapq.heappush(ready, _newest(found[parent]))
    return ordered


def _reachable(tips: Iterable[str], commits: Mapping[str, Commit]) -> dict[str, Commit]:
    found: dict[str, Commit] = {}
    waiting = list(tips)
    while waiting:
        current = waiting.pop()
        if current in commits and current not in found:
            found[current] = commits[current]
            waiting += commits[current].parents
    return found


def _newest(commit: Commit) -> tuple[float, int, str]:
    return -commit.time.timestamp(), -commit.version, commit.id
