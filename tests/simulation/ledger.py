"""What actors set out to do and what they were told, and the oracle that compares it with a graph.

Rows are people and their ages. The expected rows of every commit follow from its parents and from
what it set out to change, so that any readable moment can be compared, not the newest alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from omnigraph.api.graph import Graph
from omnigraph.errors import Reclaimed
from omnigraph.storage.core.model import Commit

Ages = Mapping[str, int | None]
Answer = Literal["acknowledged", "refused", "unknown"]
"""Unknown: the actor was killed, or told that the outcome is."""


@dataclass(eq=False)
class Intent:
    """A commit that somebody set out to make."""

    branch: str
    incarnation: str
    writes: Ages = field(default_factory=dict)
    """The ages of people after it; none for those that it removes."""
    reads: Ages = field(default_factory=dict)
    """What it was decided on, which must be the state right before it."""
    answer: Answer = "unknown"


@dataclass
class Ledger:
    """What everybody knows, whichever actor wrote it."""

    intents: dict[str, Intent] = field(default_factory=dict)
    """By the id of the commit."""
    complaints: list[str] = field(default_factory=list)
    """Answers that no actor should have got."""
    created: list[str] = field(default_factory=list)
    """The incarnations of main of graphs whose creation was acknowledged."""
    branches: dict[str, str] = field(default_factory=dict)
    """Branches whose creation was acknowledged and that nobody deletes, by incarnation."""
    tags: list[str] = field(default_factory=list)
    """Tags whose creation was acknowledged."""
    reads: list[tuple[str, list[tuple[str, int]]]] = field(default_factory=list)
    """Commits and the rows that somebody read there."""
    backups: list[str] = field(default_factory=list)
    """Where backups are that were acknowledged."""

    def begun(self) -> Ledger:
        """A ledger that goes on from this one, for one run."""
        return Ledger(dict(self.intents))

    def violations(self, graph: Graph) -> Iterator[str]:
        """Every way in which a graph is not what its writers were told."""
        yield from self.complaints
        if len(self.created) > 1:
            yield "two creations of one graph were acknowledged"
        report = graph.verify(rules=True)
        yield from (f"verify: {finding.to_json()}" for finding in report.findings)
        commits = {c.id: c for b in graph.branches() for c in graph.commits(b.name)}
        yield from self._lost(graph, commits)
        living = {head.incarnation for head in graph._store.heads()}
        for incarnation in self.branches.keys() - living:
            yield f"the branch {self.branches[incarnation]} was deleted by nobody, and is gone"
        states = _States(graph._store.all_commits(), self.intents)
        yield from self._at_all_moments(graph, states)
        for commit, rows in self.reads:
            if sorted(rows) != sorted(states.of(commit).items()):
                yield f"{commit} was read as {sorted(rows)}, not {states.of(commit)}"

    def copied(self, graph: Graph) -> Iterator[str]:
        """Every way in which a copy of the graph is not one moment of it."""
        yield from (f"verify: {finding.to_json()}" for finding in graph.verify(deep=True).findings)
        yield from self._at_all_moments(graph, _States(graph._store.all_commits(), self.intents))

    def _at_all_moments(self, graph: Graph, states: _States) -> Iterator[str]:
        for branch in graph.branches():
            chain = graph.commits(branch.name)
            yield from _order(branch.name, chain)
            yield from self._strangers(graph, branch.name, chain)
            yield from self._contents(graph, branch.name, chain, states)
        known = {tag.name: tag.commit for tag in graph.tags.list()}
        for name in self.tags:
            if name not in known:
                yield f"the tag {name} is lost"
        for name, commit in known.items():
            try:
                if sorted(ages(graph, name)) != sorted(states.of(commit).items()):
                    yield f"the tag {name} has {ages(graph, name)}, not {states.of(commit)}"
            except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
                yield f"the tag {name} cannot be read: {error!r}"

    def _lost(self, graph: Graph, commits: Mapping[str, Commit]) -> Iterator[str]:
        living = {head.incarnation for head in graph._store.heads()}
        for commit, intent in self.intents.items():
            if intent.answer == "acknowledged" and intent.incarnation in living:
                if commit not in commits:
                    yield f"the acknowledged commit {commit} of {intent.branch} is lost"
            elif intent.answer == "refused" and commit in commits:
                yield f"commit {commit} was refused, and is there"

    def _strangers(self, graph: Graph, branch: str, chain: Sequence[Commit]) -> Iterator[str]:
        """Commits that were made on a branch of the name that is not there any more."""
        incarnation = graph._store.head(branch).incarnation
        for commit in chain:
            intent = self.intents.get(commit.id)
            if intent and commit.branch == branch and intent.incarnation != incarnation:
                yield f"commit {commit.id} was meant for a {branch} that was deleted"

    def _contents(
        self, graph: Graph, branch: str, chain: Sequence[Commit], states: _States
    ) -> Iterator[str]:
        for commit in chain:
            expected = states.of(commit.id)
            try:
                actual = ages(graph, f"{branch}@{commit.id}")
            except Reclaimed:
                if commit == chain[0]:
                    yield f"the head of {branch} was reclaimed"
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
                yield f"{branch}@{commit.version} cannot be read: {error!r}"
                continue
            if sorted(actual) != sorted(expected.items()):
                yield f"{branch}@{commit.version} has {sorted(actual)}, not {expected}"
        for commit in chain:
            intent = self.intents.get(commit.id)
            before = states.of(commit.parent) if commit.parent else {}
            for name, age in intent.reads.items() if intent else ():
                if before.get(name) != age:
                    yield (
                        f"{branch}@{commit.version} read {name}={age}, and {before.get(name)} was"
                        " there: a lost update"
                    )


class _States:
    """The rows that every commit should have."""

    def __init__(self, commits: Mapping[str, Commit], intents: Mapping[str, Intent]) -> None:
        self._commits = commits
        self._intents = intents
        self._known: dict[str, dict[str, int]] = {}

    def of(self, commit: str) -> dict[str, int]:
        if commit not in self._known:
            parents = self._commits[commit].parents
            state = dict(self.of(parents[0])) if parents else {}
            merged = (
                self._ancestors(parents[1]) - self._ancestors(parents[0]) if parents[1:] else ()
            )
            for each in (*sorted(merged), commit):  # ids are in the order of their making
                intent = self._intents.get(each)
                for name, age in intent.writes.items() if intent else ():
                    state.pop(name, None)
                    if age is not None:
                        state[name] = age
            self._known[commit] = state
        return self._known[commit]

    def _ancestors(self, commit: str) -> set[str]:
        found: set[str] = set()
        left = [commit]
        while left:
            each = left.pop()
            if each not in found:
                found.add(each)
                left += self._commits[each].parents
        return found


def ages(graph: Graph, at: str) -> list[tuple[str, int]]:
    """The people of a moment, one that is there twice twice."""
    rows = graph.snapshot(at).scan("Person", ["name", "age"]).read_all().to_pylist()
    return [(row["name"], row["age"]) for row in rows]


def _order(branch: str, chain: Sequence[Commit]) -> Iterator[str]:
    versions = [commit.version for commit in chain]
    if versions != list(range(len(chain), 0, -1)):
        yield f"the versions of {branch} are {versions}"
    for child, parent in zip(chain, chain[1:], strict=False):
        if child.parent != parent.id:
            yield f"{branch}@{child.version} is not the child of the one before"
        if child.time < parent.time:
            yield f"{branch}@{child.version} is older than its parent"
