"""Small graphs, and what two or three actors do to them at the same time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

import omnigraph
from omnigraph.api.graph import Graph, Transaction
from omnigraph.errors import (
    AlreadyExists,
    CommitUnknown,
    Conflict,
    ConstraintViolation,
    NotFound,
    Reclaimed,
)
from omnigraph.storage.core.model import MAIN
from omnigraph.storage.refs.branches import create_branch
from simulation.ledger import Intent, Ledger, ages
from simulation.scheduler import Actor, FaultKind

SCHEMA = "node Person { name: String @key  age: I64 }"
WIDER = "node Person { name: String @key  age: I64  city: String? }"
UNIQUE = "node Person { name: String @key  age: I64 @unique }"
REFUSALS = (Conflict, NotFound, ConstraintViolation)
"""Errors by which a caller learns that nothing was changed, and why."""
PLAIN = "notes.pages"


@dataclass
class Session:
    """One actor at work: its own handle, and the ledger of all."""

    actor: Actor
    root: str
    ledger: Ledger
    _graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """Opened when it is first needed, as another process would."""
        self._graph = self._graph or omnigraph.open(self.root)
        return self._graph

    @contextmanager
    def committing(self, branch: str = MAIN) -> Iterator[tuple[Transaction, Intent]]:
        """A transaction whose outcome is noted."""
        txn = self.graph.transaction(branch)
        intent = Intent(branch, txn._txn.pin.incarnation)
        self.ledger.intents[txn._txn.commit_id] = intent
        try:
            with txn:
                yield txn, intent
            intent.answer = "acknowledged"
        except REFUSALS:
            intent.answer = "refused"
        except CommitUnknown as error:
            if not self.actor.faults:
                self.ledger.complaints.append(f"{self.actor.name}: a false alarm: {error}")

    def put(self, name: str, age: int, branch: str = MAIN, *, registered: bool = False) -> None:
        """Add or replace one person."""
        with refusable(), self.committing(branch) as (txn, intent):
            if registered:
                txn._txn.register()
            txn.upsert("Person", [{"name": name, "age": age}])
            intent.writes = {name: age}

    def remove(self, name: str, branch: str = MAIN) -> None:
        """Delete one person."""
        with refusable(), self.committing(branch) as (txn, intent):
            txn.delete("Person", [name])
            intent.writes = {name: None}

    def increment(self, name: str) -> None:
        """Read an age through the transaction's snapshot, and write one more."""
        with refusable(), self.committing() as (txn, intent):
            row = txn.snapshot.get("Person", name)
            assert row is not None
            txn.upsert("Person", [{"name": name, "age": row["age"] + 1}])
            intent.reads, intent.writes = {name: row["age"]}, {name: row["age"] + 1}

    def read(self, moment: str) -> None:
        """Look a moment up, and read it later: what it holds, or that it was given up."""
        with refusable():
            snapshot = self.graph.snapshot(moment)
            self.graph.branches()  # a step: others may go on
            try:
                rows = snapshot.scan("Person", ["name", "age"]).read_all().to_pylist()
            except Reclaimed:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
                self.ledger.complaints.append(f"{self.actor.name}: {moment} fails: {error!r}")
                return
            self.ledger.reads.append((snapshot.commit, [(r["name"], r["age"]) for r in rows]))

    def create_branch(self, name: str, from_: str = MAIN) -> None:
        """Make a branch, which nobody is to delete."""
        with refusable():
            made = create_branch(self.graph._store, name, from_)
            self.ledger.branches[made.incarnation] = name

    def delete_branch(self, name: str) -> None:
        with refusable():
            self.graph.delete_branch(name)

    def tag(self, name: str, at: str) -> None:
        with refusable():
            self.graph.tags.create(name, at)
            self.ledger.tags.append(name)

    def backup(self) -> None:
        """Copy the graph to a place beside it."""
        with refusable():
            omnigraph.backup(self.root, f"{self.root}-backup")
            self.ledger.backups.append(f"{self.root}-backup")

    def collect(self, keep: int | None = 1) -> None:
        with refusable():
            self.graph.collect(keep=keep)

    def optimize(self) -> None:
        with refusable():
            self.graph.optimize()

    def apply_schema(self, source: str) -> None:
        with refusable():
            self.graph.apply_schema(source)

    def init(self) -> None:
        """Make the graph where it is not there yet; the ledger knows whose it is."""
        try:
            graph = omnigraph.init(self.root, SCHEMA)
        except AlreadyExists:
            return
        self._graph = graph
        # Others may have written already: it is the first commit that this actor made.
        incarnation, first = graph._store.head(MAIN).incarnation, graph.commits()[-1]
        self.ledger.intents[first.id] = Intent(MAIN, incarnation, answer="acknowledged")
        self.ledger.created.append(incarnation)

    def clone(self, source: str, moment: str) -> None:
        """Give a plain table of an older moment a second name."""
        with refusable():
            table = self.graph.snapshot(moment).plain_table(source)
            with self.committing() as (txn, _):
                txn.plain.clone(table, "notes.copy")


@contextmanager
def refusable() -> Iterator[None]:
    """Let a refusal pass: it says that nothing was changed."""
    with suppress(*REFUSALS):
        yield


Script = Callable[[Session], None]


@dataclass(frozen=True)
class World:
    """A graph to begin with, and who does what to it."""

    name: str
    actors: Mapping[str, Script]
    prepare: Script | None = None
    """Makes the graph; none when the actors do."""
    check: Callable[[Graph], Iterator[str]] = field(default=lambda graph: iter(()))
    skews: Mapping[str, float] = field(default_factory=dict)
    """By how many seconds clocks of actors are ahead."""
    opened: frozenset[str] = frozenset()
    """Actors that opened the graph before the run; the others do when they begin."""
    faults: Mapping[str, FaultKind] = field(default_factory=dict)
    """What happens to the first swap of actors in every run."""


def _people(session: Session) -> None:
    session.init()
    for name, age in (("Ann", 1), ("Bob", 2), ("Ann", 3)):
        session.put(name, age)


def _with_branch(session: Session) -> None:
    _people(session)
    session.graph.create_branch("side")
    session.put("Side", 10, "side")


def _with_notes(session: Session) -> None:
    _people(session)
    for n in range(2):
        with session.committing() as (txn, _):
            if n == 0:
                txn.create_table(PLAIN, pa.schema([("text", pa.string())]))
            txn.append(PLAIN, [{"text": f"page {n}"}])
    with session.committing() as (txn, _):
        txn.drop_table(PLAIN)


def _recreate(session: Session) -> None:
    session.delete_branch("side")
    with refusable():
        session.graph.create_branch("side")


def _merge(session: Session) -> None:
    with refusable():
        session.graph.merge("side")


def _clone_old_notes(session: Session) -> None:
    newest = session.graph.commits()
    with_notes = next(c for c in newest if f"plain:{PLAIN}" in c.tables or PLAIN in str(c.tables))
    session.clone(PLAIN, with_notes.id)


def _unique_ages(graph: Graph) -> Iterator[str]:
    if "@unique" in graph.schema().source:
        all_ages = [age for _, age in ages(graph, MAIN)]
        if len(set(all_ages)) != len(all_ages):
            yield f"@unique is broken: {sorted(all_ages)}"


def _drop_and_make_again(session: Session) -> None:
    """Drop a plain table; make one of the same name, with one row."""
    with refusable(), session.committing() as (txn, _):
        txn.drop_table(PLAIN)
    with refusable(), session.committing() as (txn, _):
        txn.create_table(PLAIN, pa.schema([("text", pa.string())]))
        txn.append(PLAIN, [{"text": "new"}])


def _with_pages(session: Session) -> None:
    _people(session)
    with session.committing() as (txn, _):
        txn.create_table(PLAIN, pa.schema([("text", pa.string())]))
        txn.append(PLAIN, [{"text": "old"}])


def _nothing_of_dropped_tables(graph: Graph) -> Iterator[str]:
    yield from _readable_notes(graph)
    graph.collect(keep=1)
    yield from _readable_notes(graph)
    used = {table.address.location for table in graph.tables()}
    left = {f"tables/{path.name}" for path in Path(graph.uri, "tables").glob("*")}
    if left - used:
        yield f"nobody needs {sorted(left - used)}"


def _create_again(session: Session) -> None:
    """Make the branch again that another actor deletes, and write to it."""
    session.create_branch("side")
    session.create_branch("side")
    session.put("Dan", 4, "side")


def _readable_notes(graph: Graph) -> Iterator[str]:
    for table in graph.tables():
        try:
            graph.snapshot().plain_table(table.name)
            graph._store.tables.read(table.address)
        except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
            yield f"the plain table {table.name} cannot be read: {error!r}"


def _moments_in_order(graph: Graph) -> Iterator[str]:
    """At an instant a branch had the commits up to the first that is later, by any clock."""
    commits = graph.commits()[::-1]
    for instant in sorted(commit.time for commit in commits):
        until = list(itertools.takewhile(lambda c: c.time <= instant, commits))  # noqa: B023
        try:
            found = graph.snapshot(f"main@{instant.isoformat()}").version
        except NotFound:
            found = 0
        if found != len(until):
            yield f"main@{instant} is version {found}, not {len(until)}"


def _writer(name: str, age: int, branch: str = MAIN) -> Script:
    return lambda session: session.put(name, age, branch)


def _two_writes(session: Session) -> None:
    session.put("Dan", 20)
    session.put("Bob", 21)


def _collector(session: Session) -> None:
    session.collect()


def _collect_and_write(session: Session) -> None:
    session.collect()
    session.put("Dan", 20)


WORLDS = {
    world.name: world
    for world in [
        World(
            "collect-collect-write", {"a": _collector, "b": _collector, "w": _two_writes}, _people
        ),
        World(
            "collect-beside-a-collector",
            {"a": _collector, "w": _collect_and_write},
            _people,
            opened=frozenset("a"),
        ),
        World(
            "optimize-collect-write",
            {"o": Session.optimize, "c": _collector, "w": _writer("Dan", 4)},
            _people,
        ),
        World(
            "write-unique",
            {
                "w": _writer("Dan", 3),
                "s": lambda session: session.apply_schema(UNIQUE),
                "v": _writer("Eve", 5),
            },
            _people,
            _unique_ages,
        ),
        World("increments", {n: lambda s: s.increment("Ann") for n in "abc"}, _people),
        World(
            "recreate-write",
            {"d": _recreate, "w": _writer("Dan", 4, "side"), "c": _collector},
            _with_branch,
        ),
        World(
            "merge-write-collect",
            {"m": _merge, "w": _writer("Dan", 4), "c": _collector},
            _with_branch,
        ),
        World(
            "registered-collect",
            {
                "b": lambda session: session.put("Dan", 4, registered=True),
                "c": _collector,
                "w": _writer("Eve", 5),
            },
            _people,
        ),
        World(
            "read-collect",
            {"r": lambda s: s.read("main@v2"), "c": _collector, "w": _writer("Dan", 4)},
            _people,
        ),
        World(
            "delete-create-branch",
            {"d": lambda s: s.delete_branch("side"), "c": _create_again},
            _with_branch,
            faults={"d": "lost"},
        ),
        World(
            "branch-collect",
            {
                "b": lambda s: s.create_branch("old", "main@v2"),
                "c": _collector,
                "w": _writer("Dan", 4, "old"),
            },
            _people,
        ),
        World(
            "tag-collect",
            {"t": lambda s: s.tag("v2", "main@v2"), "c": _collector, "w": _writer("Dan", 4)},
            _people,
        ),
        World(
            "schema-collect-write",
            {
                "s": lambda session: session.apply_schema(WIDER),
                "c": _collector,
                "w": _writer("Dan", 4),
            },
            _people,
        ),
        World(
            "optimize-merge-write",
            {"o": Session.optimize, "m": _merge, "w": _writer("Dan", 4)},
            _with_branch,
        ),
        World(
            "merge-recreate",
            {"m": _merge, "d": _recreate, "w": _writer("Dan", 4, "side")},
            _with_branch,
        ),
        World(
            "drop-create-collect",
            {"p": _drop_and_make_again, "c": _collector},
            _with_pages,
            _nothing_of_dropped_tables,
        ),
        World(
            "backup-collect-write",
            {"b": Session.backup, "c": _collector, "w": _two_writes},
            _people,
        ),
        World(
            "clone-collect", {"p": _clone_old_notes, "c": _collector}, _with_notes, _readable_notes
        ),
        World("delete-write", {"r": lambda s: s.remove("Bob"), "w": _two_writes}, _people),
        World(
            "init-init-write",
            {"i": Session.init, "j": Session.init, "w": lambda s: _write_if_there(s)},
        ),
        World(
            "clocks",
            {"a": _writer("Dan", 4), "b": _two_writes},
            _people,
            _moments_in_order,
            skews={"a": -3600.0},
        ),
    ]
}


def _write_if_there(session: Session) -> None:
    with refusable():
        session.put("Dan", 4)
