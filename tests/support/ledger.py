"""A graph to which many writers add entries, and the check that none is lost or doubled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from omnigraph.api.graph import Graph, Transaction, init
from support.social import assert_linear, assert_sound, names, pairs
from support.worker_processes import Worker

LEDGER = """
node Entry { name: String @key  writer: String  n: I64 }
node Mirror { name: String @key  writer: String  n: I64 }
node Writer { name: String @key  last: I64 }
edge WrittenBy: Entry -> Writer
"""


def ledger_graph(root: str, branches: Sequence[str] = ()) -> Graph:
    graph = init(root, LEDGER)
    for branch in branches:
        graph.create_branch(branch)
    return graph


def entry_key(writer: str, n: int) -> str:
    return f"{writer}-{n:04}"


def write_entry(txn: Transaction, writer: str, n: int) -> None:
    """One write, over four tables."""
    row = {"name": entry_key(writer, n), "writer": writer, "n": n}
    txn.insert("Entry", [row])
    txn.insert("Mirror", [row])
    txn.upsert("Writer", [{"name": writer, "last": n}])
    txn.insert("WrittenBy", [{"src": row["name"], "dst": writer}])


@dataclass
class Outcomes:
    """What writers were told about their entries, by key."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    """Key to commit id."""
    refused: dict[str, str] = field(default_factory=dict)
    """Key to error code: these promise that nothing was written."""
    in_doubt: dict[str, str | None] = field(default_factory=dict)
    """Begun and never settled, or told that the outcome is unknown; with the commit id, if told."""
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, workers: Sequence[Worker]) -> Outcomes:
        found = cls()
        for worker in workers:
            for event in worker.events:
                found._add(event)
        return found

    def _add(self, event: dict[str, object]) -> None:
        kind, key = event["event"], str(event.get("key"))
        if kind == "begin":
            self.in_doubt[key] = None
        elif kind == "acknowledged":
            del self.in_doubt[key]
            self.acknowledged[key] = str(event["commit"])
        elif kind == "refused":
            del self.in_doubt[key]
            self.refused[key] = f"{event['code']}: {event['error']}"
        elif kind == "unknown":
            self.in_doubt[key] = str(event["commit"])
        elif kind == "end":
            counts = event["counts"]
            assert isinstance(counts, dict)
            for name, count in counts.items():
                self.counts[name] = self.counts.get(name, 0) + count

    def count(self, name: str) -> int:
        return self.counts.get(name, 0)


def assert_exactly_once(graph: Graph, outcomes: Outcomes, branch: str = "main") -> list[str]:
    """Every acknowledged entry is there once, refused ones are not, and nothing else is.

    Returns the entries in doubt that turned out to be there.
    """
    entries = names(graph, "Entry", branch)
    assert len(set(entries)) == len(entries)
    assert names(graph, "Mirror", branch) == entries
    assert [pair.split(">")[0] for pair in pairs(graph, "WrittenBy", branch)] == entries
    there = set(entries)
    assert outcomes.acknowledged.keys() <= there, sorted(outcomes.acknowledged.keys() - there)
    assert not outcomes.refused.keys() & there, sorted(outcomes.refused.keys() & there)
    others = there - outcomes.acknowledged.keys()
    assert others <= outcomes.in_doubt.keys(), sorted(others - outcomes.in_doubt.keys())
    _assert_history(graph, outcomes, entries, branch)
    _assert_counters(graph, entries, branch)
    return sorted(others)


def _assert_history(graph: Graph, outcomes: Outcomes, entries: list[str], branch: str) -> None:
    """One commit per entry, under the id that its writer was told."""
    commits = graph.commits(branch)
    assert_linear(commits)
    by_message = {commit.message: commit.id for commit in commits[:-1]}
    assert sorted(map(str, by_message)) == entries
    assert len(commits) == len(entries) + 1
    for key, commit in outcomes.acknowledged.items():
        assert by_message[key] == commit
    for key, told in outcomes.in_doubt.items():
        if told is not None:
            assert (key in by_message) == (told in by_message.values())


def _assert_counters(graph: Graph, entries: list[str], branch: str) -> None:
    last: dict[str, int] = {}
    for key in entries:
        writer, _, n = key.rpartition("-")
        last[writer] = max(last.get(writer, 0), int(n))
    rows = graph.snapshot(branch).scan("Writer").read_all().to_pylist()
    assert {row["name"]: row["last"] for row in rows} == last


def assert_ledger(graph: Graph, outcomes: Outcomes, branch: str = "main") -> list[str]:
    """The same, and the whole graph verifies."""
    there = assert_exactly_once(graph, outcomes, branch)
    assert_sound(graph)
    return there
