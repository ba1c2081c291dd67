"""Where histories parted: the base of a merge, and the bases that merges to come may need."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from omnigraph.errors import Corruption
from omnigraph.storage.core.model import MAIN, Commit, Head
from omnigraph.storage.refs.moments import unpurged

Parents = Mapping[str, Sequence[str]]
"""The parents of every commit: the head it was built on and, of a merge, the merged one."""

PAIRED_BRANCHES = 256
"""With more branches than this, collections keep the bases of each with main alone."""


def merge_base(parents: Parents, source: str, target: str, version: Callable[[str], int]) -> str:
    """The common ancestor that no other common ancestor descends from.

    Of several, the one with the smallest sum of distances to both heads, then with the highest
    version. One that another descends from may be nearer, where a branch of long ago was merged:
    on it, what both heads had long agreed on would look like changes on both sides.
    """
    walk = _Walk(parents, source, target)
    walk.run(whole=False)
    best = walk.best()
    if len(best) > 1:
        walk.run(whole=True)
        best = walk.best()
    if not best:
        raise Corruption(
            f"commits {source} and {target} have no common ancestor",
            hint="Run `omnigraph verify` to see what is missing.",
        )
    if len(best) == 1:
        return best[0]
    near, far = _distances(parents, source), _distances(parents, target)
    sums = {commit: near[commit] + far[commit] for commit in best}
    tied = [commit for commit in best if sums[commit] == min(sums.values())]
    return tied[0] if len(tied) == 1 else max(tied, key=lambda commit: (version(commit), commit))


class _Walk:
    """The ancestors of two heads, each marked with the heads it is an ancestor of."""

    OF_SOURCE, OF_TARGET, OF_COMMON = 1, 2, 4
    COMMON = OF_SOURCE | OF_TARGET

    def __init__(self, parents: Parents, source: str, target: str) -> None:
        self._parents = parents
        self._marks: dict[str, int] = {}
        self._queue: deque[tuple[str, bool]] = deque()
        """Commits to go on from, and whether they were fresh when they came."""
        self._fresh = 0
        """How many of them: not known to be ancestors of a common ancestor."""
        self._mark(source, self.OF_SOURCE)
        self._mark(target, self.OF_TARGET)

    def run(self, *, whole: bool) -> None:
        """Go back until nothing new can come: beyond ancestors of common ones, nothing does.

        That finds all that are best, and maybe some that another one descends from by a way that
        was not followed. The whole history tells them apart.
        """
        while self._queue and (whole or self._fresh):
            commit, fresh = self._queue.popleft()
            self._fresh -= fresh
            marks = self._marks[commit]
            below = marks | self.OF_COMMON if marks & self.COMMON == self.COMMON else marks
            for parent in self._parents.get(commit, ()):
                self._mark(parent, below)

    def _mark(self, commit: str, marks: int) -> None:
        known = self._marks.get(commit, 0)
        if marks | known != known:
            self._marks[commit] = known | marks
            fresh = not (known | marks) & self.OF_COMMON
            self._queue.append((commit, fresh))
            self._fresh += fresh

    def best(self) -> list[str]:
        return [commit for commit, marks in self._marks.items() if marks == self.COMMON]


def _distances(parents: Parents, head: str) -> dict[str, int]:
    """How many steps back every ancestor is."""
    steps, queue = {head: 0}, deque([head])
    while queue:
        commit = queue.popleft()
        for parent in parents.get(commit, ()):
            if parent not in steps:
                steps[parent] = steps[commit] + 1
                queue.append(parent)
    return steps


def needed_bases(heads: Sequence[Head], commits: Mapping[str, Commit]) -> Iterator[Commit]:
    """The commits from which every two branches would be merged, with the tables to retain.

    As many as branches were forked at different commits, unless they were merged crosswise. What
    one of the two branches purged is not retained for the other.
    """
    parents = {commit.id: commit.parents for commit in commits.values()}
    for one, other in combinations(heads, 2):
        if len(heads) > PAIRED_BRANCHES and MAIN not in (one.branch, other.branch):
            continue
        base = merge_base(parents, one.commit, other.commit, lambda c: commits[c].version)
        yield unpurged(commits[base], one, other)
