"""Which moments of the past stay readable: a pure decision about heads, tags and commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from omnigraph.errors import InvalidInput
from omnigraph.storage.core.model import Commit, Head
from omnigraph.storage.manifest.tag_rows import Tag
from omnigraph.storage.refs.moments import KEPT_FROM, first_parents, unpurged, version_at

Commits = Mapping[str, Commit]


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of each branch's past is retained: what either rule says; without a rule, all."""

    keep: int | None = None
    """The newest so many commits."""
    keep_for: timedelta | None = None
    """Every state that the branch had within this time, the one at its beginning included."""

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep < 1:
            raise InvalidInput(
                "at least one commit per branch must be retained", hint="Use keep=1."
            )

    def applied(self, head: Head, commits: Commits, at: datetime) -> Head:
        """A head that says which version of its branch is the first that stays; the same one when
        nothing is reclaimed. What was reclaimed before does not return."""
        floors = []
        if self.keep is not None:
            floors.append(head.version - self.keep + 1)
        if self.keep_for is not None:
            floors.append(version_at(head.commit, commits, at - self.keep_for))
        if not floors or min(floors) <= head.properties.get(KEPT_FROM, 0):
            return head
        return replace(head, properties={**head.properties, KEPT_FROM: min(floors)})


def readable_commits(
    heads: Iterable[Head], tags: Iterable[Tag], commits: Commits
) -> Iterator[Commit]:
    """Every commit that a branch still has, or a tag names, with the tables that can be read.

    One that is read in several ways comes several times.
    """
    for head in heads:
        floor = head.properties.get(KEPT_FROM, 0)
        for commit in first_parents(head.commit, commits):
            if commit.version < floor:
                break
            yield unpurged(commit, head)
    for tag in tags:
        if tag.commit in commits:
            yield commits[tag.commit]
