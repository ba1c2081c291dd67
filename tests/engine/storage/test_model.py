"""Any sequence of loads, transactions, branches, tags, schema changes and upkeep: like a model.

The model is a dictionary per branch and a full copy per commit. A longer run for soak tests:
`OMNIGRAPH_MODEL_EXAMPLES=500 OMNIGRAPH_MODEL_STEPS=60 OMNIGRAPH_MODEL_SEED=<n>`.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    BranchProtected,
    ConstraintViolation,
    InvalidInput,
    KeyConflict,
    LoadError,
    NotFound,
    OmniGraphError,
    Reclaimed,
)
from omnigraph.storage.refs.moments import KEPT_FROM
from support.graphs import Row, edge, ndjson, node

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "25"))
STEPS = int(os.environ.get("OMNIGRAPH_MODEL_STEPS", "20"))
SEED = os.environ.get("OMNIGRAPH_MODEL_SEED")

Tables = dict[str, dict[str, Row]]
"""Per type, entities by id."""


class Refused(Exception):
    """The model says that a change must fail, with an error of this class."""

    def __init__(self, kind: type[OmniGraphError]) -> None:
        self.kind = kind
        super().__init__(kind.__name__)


# --------------------------------------------------------------------------- the schema


@dataclass(frozen=True)
class Shape:
    """The schema of a branch: who is called what, and since when (an identity for each)."""

    names: tuple[tuple[str, str, int], ...] = (("extra", "size", 1),)
    """Optional properties of Person as (role, name, identity)."""
    visit: tuple[str, int] | None = ("Visit", 1)
    """The keyless type: its name and identity; none when it was dropped."""

    def properties(self) -> list[str]:
        return sorted(["name", "mail", *(name for _, name, _ in self.names)])

    def source(self, hints: tuple[str, ...] = ()) -> str:
        given = dict(hint.split("=") for hint in hints)

        def hint(name: str) -> str:
            return f' @rename_from("{given[name]}")' if name in given else ""

        extra = "  ".join(f"{name}: I32?{hint(name)}" for _, name, _ in self.names)
        text = f"node Person {{ name: String @key  mail: String? @unique  {extra} }}\n"
        text += "edge Knows: Person -> Person { since: I32? }\n"
        text += "edge Rules: Person -> Person @card(0..1)\n"
        if self.visit:
            visit = self.visit[0]
            members = "note: String  part: String?  @unique(note, part)"
            text += f"node {visit}{hint(visit)} {{ {members} }}\n"
        return text

    def columns(self) -> dict[str, list[str]]:
        found = {
            "Person": self.properties(),
            "Knows": ["src", "dst", "since"],
            "Rules": ["src", "dst"],
        }
        if self.visit:
            found[self.visit[0]] = ["note", "part"]
        return found


@dataclass
class Branch:
    """The model of a branch."""

    shape: Shape
    tables: Tables
    history: list[Version]
    kept_from: int = 0
    protected: bool = False
    over: bool = False
    """Whether its time to live is over."""


@dataclass(frozen=True)
class Version:
    """The model of a commit: everything it showed."""

    id: str
    shape: Shape
    tables: Tables


def empty(shape: Shape) -> Tables:
    return {name: {} for name in shape.columns()}


# --------------------------------------------------------------------------- the rules of writing


@dataclass
class Change:
    """What one write does to a copy of a branch's tables."""

    shape: Shape
    tables: Tables
    touched: bool = False
    deleted: dict[str, set[str]] = field(default_factory=dict)

    def full(self, type_name: str, row: Row) -> Row:
        missing: Row = dict.fromkeys(self.shape.columns()[type_name])
        return {"id": row["id"]} | missing | row

    def put(self, type_name: str, given: list[Row], mode: str, *, one_file: bool) -> None:
        if not given and mode != "overwrite":
            return
        self.touched = True
        keys = [row["id"] for row in given]
        repeated = len(set(keys)) < len(keys)
        if repeated and one_file and type_name == "Person":
            raise Refused(ConstraintViolation)
        if repeated and mode != "upsert":
            raise Refused(KeyConflict)
        table = {} if mode == "overwrite" else self.tables[type_name]
        if mode == "insert" and any(key in table for key in keys):
            raise Refused(KeyConflict)
        if one_file:
            self.unique_in_file(type_name, given)
        for row in given:
            table[row["id"]] = self.full(type_name, row)
        self.tables[type_name] = table

    def unique_in_file(self, type_name: str, given: list[Row]) -> None:
        for members in self.uniques(type_name):
            tuples = [tuple(row.get(m) for m in members) for row in given]
            known = [t for t in tuples if None not in t]
            if len(set(known)) < len(known):
                raise Refused(ConstraintViolation)

    def remove(self, type_name: str, ids: list[str]) -> None:
        table = self.tables[type_name]
        for key in ids:
            if table.pop(key, None) is not None:
                self.touched = True
                self.deleted.setdefault(type_name, set()).add(key)

    def uniques(self, type_name: str) -> list[tuple[str, ...]]:
        if type_name == "Person":
            return [("mail",)]
        return [("note", "part")] if self.shape.visit and type_name == self.shape.visit[0] else []

    def finish(self) -> Tables:
        """The tables after the write, or `Refused`."""
        gone = self.deleted.get("Person", set()) - set(self.tables["Person"])
        for name in ("Knows", "Rules"):
            for key, row in list(self.tables[name].items()):
                if gone & {row["src"], row["dst"]}:
                    del self.tables[name][key]
        for type_name, table in self.tables.items():
            for members in self.uniques(type_name):
                tuples = [tuple(row[m] for m in members) for row in table.values()]
                known = Counter(t for t in tuples if None not in t)
                if any(count > 1 for count in known.values()):
                    raise Refused(ConstraintViolation)
        for name in ("Knows", "Rules"):
            for row in self.tables[name].values():
                if not {row["src"], row["dst"]} <= set(self.tables["Person"]):
                    raise Refused(ConstraintViolation)
        if any(n > 1 for n in Counter(r["src"] for r in self.tables["Rules"].values()).values()):
            raise Refused(ConstraintViolation)
        return self.tables


# --------------------------------------------------------------------------- inputs

NAMES = st.sampled_from(["ann", "bob", "cid", "dan", "it's", ""])
BRANCHES = st.sampled_from(["main", "wip", "exp", "a/b"])
TAGS = st.sampled_from(["t1", "t2", "wip"])
SMALL = st.none() | st.integers(-3, 3)
Rows = st.SearchStrategy[Row]
PERSON: Rows = st.fixed_dictionaries(
    {"name": NAMES, "mail": st.sampled_from([None, None, "m1", "m2", ""]), "extra": SMALL}
)
VISIT: Rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["v1", "v2", "v3"]),
        "note": st.sampled_from(["x", "y"]),
        "part": st.sampled_from([None, "p", "q"]),
    }
)
EDGE: Rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["e1", "e2", "e3", "e4"]),
        "src": st.integers(0, 9),
        "dst": st.integers(0, 9),
        "since": SMALL,
    }
)
"""Ends are positions among the people of the branch; 9 is somebody who may not be there."""
WHAT = st.sampled_from(["Person", "Person", "Visit", "Knows", "Rules"])


DISTINCT = st.sampled_from([lambda row: row.get("id", row.get("name"))] * 5 + [None])
"""Mostly, rows of one batch have different ids."""


@st.composite
def batch(draw: st.DrawFn) -> tuple[str, list[Row]]:
    """Rows of one type, by roles of names."""
    what = draw(WHAT)
    kind = {"Person": PERSON, "Visit": VISIT}.get(what, EDGE)
    return what, draw(st.lists(kind, min_size=1, max_size=3, unique_by=draw(DISTINCT)))


OPERATION = st.tuples(st.sampled_from(["insert", "upsert", "upsert", "overwrite"]), batch())
IDS = st.lists(NAMES | st.sampled_from(["v1", "e1", "e2"]), max_size=2)
REMOVAL = st.tuples(st.just("delete"), WHAT, IDS)
BROKEN = st.sampled_from(
    [
        b"{",
        b"[]",
        b'{"type":"Nobody","data":{}}',
        b'{"type":"Person","data":{"name":"zed","mail":7}}',
        b'{"type":"Person","data":{"name":"zed","nope":1}}',
        b'{"type":"Person","data":{"name":null}}',
        b'{"edge":"Knows","from":"ann"}',
        b'\xff\xfe{"type":"Person"}',
    ]
)


MODES = st.sampled_from(["append", "merge", "merge", "overwrite"])
ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "load": {"name": BRANCHES, "mode": MODES, "batches": st.lists(batch(), max_size=3)},
    "load_something_broken": {
        "name": BRANCHES,
        "valid": batch(),
        "broken": BROKEN,
        "first": st.booleans(),
    },
    "transact": {
        "name": BRANCHES,
        "operations": st.lists(OPERATION | REMOVAL, min_size=1, max_size=4),
        "abort": st.integers(0, 9),
        "peek": st.booleans(),
    },
    "create_branch": {
        "name": BRANCHES,
        "source": BRANCHES,
        "back": st.integers(0, 4),
        "by_commit": st.booleans(),
        "over": st.sampled_from([False, False, True]),
    },
    "delete_branch": {"name": BRANCHES},
    "protect": {"name": BRANCHES, "protected": st.booleans()},
    "create_tag": {"name": TAGS, "source": BRANCHES, "back": st.integers(0, 4)},
    "delete_tag": {"name": TAGS},
    "branch_of_tag": {"name": BRANCHES, "tag": TAGS},
    "change_property": {
        "name": BRANCHES,
        "role": st.sampled_from(["extra", "more"]),
        "called": st.sampled_from("qrs"),
    },
    "change_type": {"name": BRANCHES, "called": st.sampled_from(["Visit", "Stay", None])},
    "collect": {"keep": st.sampled_from([None, 1, 2, 3])},
    "optimize": {"name": BRANCHES},
    "reopen": {},
}
WEIGHTS = {"load": 8, "transact": 6, "create_branch": 4, "change_property": 2, "collect": 2}
WEIGHTS |= {"create_tag": 3}
WRITES = ("load", "load_something_broken", "transact", "change_property", "change_type")
ACTIONS = [name for name in ARGUMENTS for _ in range(WEIGHTS.get(name, 1))]


def concrete(branch: Branch, what: str, given: list[Row]) -> tuple[str, list[Row]] | None:
    """A batch under the names of a branch's schema; none when its type is not there."""
    shape = branch.shape
    if what == "Visit":
        return (shape.visit[0], given) if shape.visit else None
    if what == "Person":
        found = []
        for row in given:
            new = {"id": row["name"], "name": row["name"], "mail": row["mail"]}
            new |= {name: row["extra"] for _, name, _ in shape.names}
            found.append(new)
        return what, found
    people = sorted(branch.tables["Person"]) or ["ann"]
    ends = {n: people[n % len(people)] for n in range(9)} | {9: "dan"}
    found = []
    for row in given:
        new = {"id": row["id"], "src": ends[row["src"]], "dst": ends[row["dst"]]}
        found.append(new if what == "Rules" else new | {"since": row["since"]})
    return what, found


def record(type_name: str, row: Row) -> Row:
    if "src" not in row:
        return node(type_name, **row)
    data = {name: value for name, value in row.items() if name not in ("src", "dst")}
    return edge(type_name, row["src"], row["dst"], **data)


# --------------------------------------------------------------------------- the machine


class GraphMachine(RuleBasedStateMachine):
    """Does everything twice, to a graph and to the model, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="model"))
        self.identities = 1
        self.checked = 0

    @initialize()
    def begin(self) -> None:
        shape = Shape()
        self.graph = omnigraph.init(self.place / "graph", shape.source())
        genesis = Version(self.graph.commits()[0].id, shape, empty(shape))
        self.branches = {"main": Branch(shape, empty(shape), [genesis])}
        self.tags: dict[str, list[Version]] = {}

    def teardown(self) -> None:
        if hasattr(self, "graph"):
            report = self.graph.verify(rules=True)
            assert report.ok, report.findings
            self.compare_history(omnigraph.open(self.place / "graph"))
        shutil.rmtree(self.place, ignore_errors=True)

    def branch(self, name: str) -> Branch:
        """A branch that exists, near the drawn name."""
        return self.branches[self.existing(name)]

    def existing(self, name: str) -> str:
        return name if name in self.branches else "main"

    def landed(self, name: str, tables: Tables, shape: Shape | None = None) -> None:
        """Note a commit that the graph made."""
        branch = self.branches[name]
        commit = self.graph.commits(name)[0]
        assert commit.parent == branch.history[-1].id
        assert commit.version == len(branch.history) + 1
        branch.shape = shape or branch.shape
        branch.tables = tables
        branch.history.append(Version(commit.id, branch.shape, copy.deepcopy(tables)))

    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        """One action. A single rule, because Hypothesis leaves whole rules out of most runs."""
        action = data.draw(st.sampled_from(ACTIONS), label="action")
        given = data.draw(st.fixed_dictionaries(ARGUMENTS[action]), label="with")
        if action in WRITES and self.branch(given["name"]).protected:
            with pytest.raises(BranchProtected):
                self.graph.load(b"", branch=self.existing(given["name"]))
            return
        getattr(self, action)(**given)

    # ---------------------------------------------------------------- writes

    def load(self, name: str, mode: Any, batches: list[tuple[str, list[Row]]]) -> None:  # noqa: ANN401
        name = self.existing(name)
        branch = self.branches[name]
        change = Change(branch.shape, copy.deepcopy(branch.tables))
        merged: dict[str, list[Row]] = {}
        text = b""
        for what, given in batches:
            made = concrete(branch, what, given)
            if made:
                merged.setdefault(made[0], []).extend(made[1])
                text += ndjson(*(record(made[0], row) for row in made[1]))
        operation = {"append": "insert", "merge": "upsert", "overwrite": "overwrite"}[mode]
        try:
            for type_name, given in merged.items():
                change.put(type_name, given, operation, one_file=True)
            tables = change.finish()
        except Refused as refusal:
            # Which of several faults comes first is up to the order of checks.
            kinds = (refusal.kind, ConstraintViolation, KeyConflict)
            with pytest.raises(kinds):
                self.graph.load(text, mode=mode, branch=name)
            return
        result = self.graph.load(text, mode=mode, branch=name)
        assert result.total_entities == sum(len(given) for given in merged.values())
        self.landed(name, tables)

    def load_something_broken(
        self, name: str, valid: tuple[str, list[Row]], broken: bytes, first: bool
    ) -> None:
        name = self.existing(name)
        made = concrete(self.branches[name], *valid)
        good = ndjson(*(record(made[0], row) for row in made[1])) if made else b""
        text = broken + b"\n" + good if first else good + broken
        with pytest.raises(LoadError):
            self.graph.load(text, branch=name)

    def transact(self, name: str, operations: list[Any], abort: int, peek: bool) -> None:
        name = self.existing(name)
        branch = self.branches[name]
        change = Change(branch.shape, copy.deepcopy(branch.tables))
        wanted: list[tuple[str, str, Any]] = []
        for operation in operations:
            if operation[0] == "delete":
                made = concrete(branch, operation[1], [])
                if made:
                    wanted.append(("delete", made[0], operation[2]))
            else:
                made = concrete(branch, *operation[1])
                if made:
                    wanted.append((operation[0], *made))
        refusal: Refused | None = None
        between: list[dict[str, Row]] = []
        try:
            for what, type_name, given in wanted:
                if what == "delete":
                    change.remove(type_name, given)
                else:
                    change.put(type_name, given, what, one_file=False)
                between.append(copy.deepcopy(change.tables[type_name]))
            tables = change.finish()
        except Refused as error:
            refusal = error
        transaction = self.graph.transaction(name)

        def run() -> None:
            with transaction as t:
                for at, (what, type_name, given) in enumerate(wanted):
                    if what == "delete":
                        t.delete(type_name, given)
                    else:
                        getattr(t, what)(type_name, given)
                    if peek and not refusal:
                        read = t.scan(type_name).read_all().to_pylist()
                        assert {row["id"]: row for row in read} == between[at]
                if abort == 0:
                    raise KeyboardInterrupt

        if abort == 0:
            with pytest.raises((KeyboardInterrupt, OmniGraphError)):
                run()
        elif refusal:
            with pytest.raises((refusal.kind, ConstraintViolation, KeyConflict)):
                run()
        else:
            run()
            if transaction.commit is not None:
                self.landed(name, tables)
            else:
                assert tables == branch.tables

    # ---------------------------------------------------------------- branches

    def create_branch(self, name: str, source: str, back: int, by_commit: bool, over: bool) -> None:
        source = self.existing(source)
        origin = self.branches[source]
        at = max(0, len(origin.history) - 1 - back)
        moment = f"{source}@{origin.history[at].id}" if by_commit else f"{source}@v{at + 1}"
        moment = source if back == 0 else moment
        if name in self.branches or name in self.tags:
            with pytest.raises(AlreadyExists):
                self.graph.create_branch(name, moment)
        elif at + 1 < origin.kept_from:
            with pytest.raises(Reclaimed):
                self.graph.create_branch(name, moment)
        else:
            ttl = timedelta(0) if over else None
            assert self.graph.create_branch(name, moment, ttl=ttl).version == at + 1
            version = origin.history[at]
            self.branches[name] = Branch(
                version.shape,
                copy.deepcopy(version.tables),
                origin.history[: at + 1],
                origin.kept_from,
                over=over,
            )

    def protect(self, name: str, protected: bool) -> None:
        name = self.existing(name)
        change = self.graph.protect_branch if protected else self.graph.unprotect_branch
        assert change(name).protected == protected
        self.branches[name].protected = protected

    def delete_branch(self, name: str) -> None:
        if name in self.branches and name != "main" and self.branches[name].protected:
            with pytest.raises(BranchProtected):
                self.graph.delete_branch(name)
            return
        if name in self.branches and name != "main":
            self.graph.delete_branch(name)
            del self.branches[name]
            return
        with pytest.raises(InvalidInput if name == "main" else NotFound):
            self.graph.delete_branch(name)

    # ---------------------------------------------------------------- tags

    def create_tag(self, name: str, source: str, back: int) -> None:
        source = self.existing(source)
        origin = self.branches[source]
        at = max(0, len(origin.history) - 1 - back)
        moment = f"{source}@v{at + 1}"
        if name in self.branches or name in self.tags:
            with pytest.raises(AlreadyExists):
                self.graph.tags.create(name, moment)
        elif at + 1 < origin.kept_from:
            with pytest.raises(Reclaimed):
                self.graph.tags.create(name, moment)
        else:
            assert self.graph.tags.create(name, moment).commit == origin.history[at].id
            self.tags[name] = origin.history[: at + 1]

    def delete_tag(self, name: str) -> None:
        if name in self.tags:
            self.graph.tags.delete(name)
            del self.tags[name]
            return
        with pytest.raises(NotFound):
            self.graph.tags.delete(name)

    def branch_of_tag(self, name: str, tag: str) -> None:
        if tag not in self.tags or name in self.branches or name in self.tags:
            return
        history = self.tags[tag]
        assert self.graph.create_branch(name, tag).version == len(history)
        kept_from = self.graph._store.head(name).properties.get(KEPT_FROM, 0)
        assert kept_from <= len(history)
        tables = copy.deepcopy(history[-1].tables)
        self.branches[name] = Branch(history[-1].shape, tables, list(history), kept_from)

    # ---------------------------------------------------------------- schema

    def evolve(self, name: str, shape: Shape, tables: Tables, *hints: str) -> None:
        applied = self.graph.apply_schema(shape.source(hints), branch=name)
        assert applied.applied
        self.landed(name, tables, shape)

    def change_property(self, name: str, role: str, called: str) -> None:
        """Add the property of a role, or rename it, or drop it when it has that name already."""
        name = self.existing(name)
        branch = self.branches[name]
        held = {r: (n, i) for r, n, i in branch.shape.names}
        others = tuple(entry for entry in branch.shape.names if entry[0] != role)
        if any(n == called for _, n, _ in others):
            return
        tables = copy.deepcopy(branch.tables)
        people = tables["Person"].values()
        hints: tuple[str, ...] = ()
        if role not in held:
            self.identities += 1
            names = (*others, (role, called, self.identities))
            for row in people:
                row[called] = None
        elif held[role][0] == called:
            names = others
            for row in people:
                del row[called]
        else:
            names = (*others, (role, called, held[role][1]))
            hints = (f"{called}={held[role][0]}",)
            for row in people:
                row[called] = row.pop(held[role][0])
        self.evolve(name, Shape(names, branch.shape.visit), tables, *hints)

    def change_type(self, name: str, called: str | None) -> None:
        """Rename, drop or add the keyless type."""
        name = self.existing(name)
        branch = self.branches[name]
        held = branch.shape.visit
        if (held and held[0]) == called:
            return
        tables = copy.deepcopy(branch.tables)
        hints: tuple[str, ...] = ()
        if called is None:
            assert held is not None
            visit = None
            del tables[held[0]]
        elif held is None:
            self.identities += 1
            visit = (called, self.identities)
            tables[called] = {}
        else:
            visit = (called, held[1])
            tables[called] = tables.pop(held[0])
            hints = (f"{called}={held[0]}",)
        self.evolve(name, Shape(branch.shape.names, visit), tables, *hints)

    # ---------------------------------------------------------------- upkeep

    def collect(self, keep: int | None) -> None:
        over = sorted(n for n, b in self.branches.items() if b.over and not b.protected)
        assert sorted(self.graph.collect(keep=keep).expired_branches) == over
        for name in over:
            del self.branches[name]
        for branch in self.branches.values():
            if keep is not None:
                branch.kept_from = max(branch.kept_from, len(branch.history) - keep + 1)

    def optimize(self, name: str) -> None:
        name = self.existing(name)
        if self.graph.optimize(name).commit is not None:
            self.landed(name, self.branches[name].tables)

    def reopen(self) -> None:
        self.graph = omnigraph.open(self.place / "graph")

    # ---------------------------------------------------------------- comparing

    @invariant()
    def every_branch_reads_like_the_model(self) -> None:
        if not hasattr(self, "graph"):
            return
        found = {branch.name: branch.commit for branch in self.graph.branches()}
        assert found == {name: b.history[-1].id for name, b in self.branches.items()}
        for name, branch in self.branches.items():
            assert self.shown(self.graph, name, branch.shape) == as_read(branch.tables)
        assert {tag.name: tag.commit for tag in self.graph.tags.list()} == {
            name: history[-1].id for name, history in self.tags.items()
        }
        self.checked += 1
        if self.checked % 7 == 0:
            self.compare_history(self.graph)

    def compare_history(self, graph: omnigraph.Graph) -> None:
        for name, history in self.tags.items():
            shown = self.shown(graph, name, history[-1].shape)
            assert shown == as_read(history[-1].tables)
        for name, branch in self.branches.items():
            for at, version in enumerate(branch.history, start=1):
                moment = f"{name}@v{at}"
                if at < branch.kept_from:
                    with pytest.raises(Reclaimed):
                        graph.snapshot(moment)
                    continue
                assert graph.snapshot(moment).commit == version.id
                expected = as_read(today(version, branch.shape))
                assert self.shown(graph, moment, branch.shape) == expected

    def shown(self, graph: omnigraph.Graph, moment: str, shape: Shape) -> dict[str, list[Row]]:
        snapshot = graph.snapshot(moment)
        names = [type_.name for type_ in snapshot.types()]
        assert set(names) <= set(shape.columns())
        found = {
            name: sorted(snapshot.scan(name).read_all().to_pylist(), key=lambda row: row["id"])
            for name in names
        }
        assert {name: snapshot.count(name) for name in names} == {n: len(found[n]) for n in names}
        return found


def as_read(tables: Tables) -> dict[str, list[Row]]:
    return {name: [table[key] for key in sorted(table)] for name, table in tables.items()}


def today(version: Version, shape: Shape) -> Tables:
    """What a past commit shows under the names of a later schema."""
    tables = copy.deepcopy(version.tables)
    if version.shape.visit:
        old_name, identity = version.shape.visit
        table = tables.pop(old_name)
        if shape.visit and shape.visit[1] == identity:
            tables[shape.visit[0]] = table
    new_names = {identity: name for _, name, identity in shape.names}
    people: dict[str, Row] = {}
    for key, row in tables["Person"].items():
        new = {k: row[k] for k in ("id", "name", "mail")}
        for _, old_name, identity in version.shape.names:
            if identity in new_names:
                new[new_names[identity]] = row[old_name]
        people[key] = new
    tables["Person"] = people
    return tables


TestModel = pytest.mark.slow(GraphMachine.TestCase)
TestModel.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    derandomize=SEED is None,
    database=None,
    print_blob=True,
    phases=[p for p in Phase if p is not Phase.shrink or os.environ.get("OMNIGRAPH_MODEL_SHRINK")],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
if SEED is not None:
    TestModel = seed(int(SEED))(TestModel)
