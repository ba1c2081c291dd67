"""Where histories parted: the base of a merge, and the bases that merges to come may need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from omnigraph.errors import Corruption
from omnigraph.storage.moments import PURGED
from omnigraph.storage.values import MAIN, Commit, Head

Parents = Mapping[str, Sequence[str]]
"""The parents of every commit: the head it was built on and, of a merge, the merged one."""

PAIRED_BRANCHES = 256
"""With more branches than this, collections keep the bases of each with main alone."""


def merge_base(parents: Parents, source: str, target: str, version: Callable[[str], int]) -> str:
    """The common ancestor with the smallest sum of distances to both heads.

    Of several, the one with the highest version. Looks no further back than it has to: once both
    sides were followed for as many steps as the best sum found, nothing better can come.
    """
    one, other = _Walk(parents, source), _Walk(parents, target)
    sums: dict[str, int] = {}
    while True:
        for walk, facing in ((one, other), (other, one)):
            for commit in walk.frontier:
                if commit in facing.distances:
                    sums[commit] = one.distances[commit] + other.distances[commit]
        if sums and one.steps >= min(sums.values()):
            break
        if not (one.step() | other.step()):
            break
    if not sums:
        raise Corruption(
            f"commits {source} and {target} have no common ancestor",
            hint="Run `omnigraph verify` to see what is missing.",
        )
    nearest = min(sums.values())
    tied = [commit for commit, total in sums.items() if total == nearest]
    return tied[0] if len(tied) == 1 else max(tied, key=lambda commit: (version(commit), commit))


class _Walk:
    """The ancestors of a commit, found level by level."""

    def __init__(self, parents: Parents, head: str) -> None:
        self._parents = parents
        self.frontier = [head]
        self.distances = {head: 0}
        self.steps = 0

    def step(self) -> bool:
        """Go one level further back; whether there was one."""
        self.steps += 1
        reached = []
        for commit in self.frontier:
            for parent in self._parents.get(commit, ()):
                if parent not in self.distances:
                    self.distances[parent] = self.steps
                    reached.append(parent)
        self.frontier = reached
        return bool(reached)


def needed_bases(heads: Sequence[Head], commits: Mapping[str, Commit]) -> Iterator[Commit]:
    """The commits from which every two branches would be merged, with the tables to keep.

    As many as branches were forked at different commits, unless they were merged crosswise. What
    one of the two branches purged is not kept for the other.
    """
    parents = {commit.id: commit.parents for commit in commits.values()}
    for one, other in combinations(heads, 2):
        if len(heads) > PAIRED_BRANCHES and MAIN not in (one.branch, other.branch):
            continue
        found = merge_base(parents, one.commit, other.commit, lambda c: commits[c].version)
        base = commits[found]
        purged = [head.properties.get(PURGED, {}) for head in (one, other)]
        tables = {
            key: pointer
            for key, pointer in base.tables.items()
            if all(base.version >= each.get(str(pointer.identity), 0) for each in purged)
        }
        yield replace(base, tables=tables)
