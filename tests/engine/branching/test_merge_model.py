"""Any sequence of writes, schema changes, merges in all directions, collections and crashes reads
like a model: states by commit, merged naively.

A longer run for soak tests:
`OMNIGRAPH_MODEL_EXAMPLES=500 OMNIGRAPH_MODEL_STEPS=60 OMNIGRAPH_MODEL_SEED=<n>`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import omnigraph
from omnigraph.branching.merge import merge_rows
from omnigraph.branching.merge.merge_rows import FEW_ROWS
from omnigraph.errors import MergeConflict, StorageError
from omnigraph.storage.core import failpoints
from support.graphs import contents
from support.harbour import BASE, ROWS, SCHEMAS, Operation, build
from support.naive_merge import Found, State, merge_states

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "12"))
STEPS = int(os.environ.get("OMNIGRAPH_MODEL_STEPS", "20"))
SEED = os.environ.get("OMNIGRAPH_MODEL_SEED")

BRANCHES = st.sampled_from(["main", "a", "b", "c"])
OPERATIONS = st.sampled_from([*ROWS, *ROWS, *ROWS, *SCHEMAS])
PAIRS = st.sampled_from(list(permutations(["main", "a", "b", "c"], 2)))
SELDOM = st.sampled_from([False, False, False, True])
SIDES = st.sampled_from(["fail", "fail", "ours", "theirs"])
POINTS = st.sampled_from(
    ["stage.before", "stage.after_table", "validate.after", "publish.before", "publish.after"]
)


@dataclass(frozen=True)
class Version:
    """The model of a commit."""

    parents: tuple[str, ...]
    number: int
    state: State


class MergeMachine(RuleBasedStateMachine):
    """Does everything twice, to a graph and to the model, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="merges"))

    @initialize()
    def begin(self) -> None:
        self.graph = build(str(self.place / "graph"))
        newest, genesis = self.graph.commits()
        self.commits = {
            genesis.id: Version((), 1, State(BASE.types)),
            newest.id: Version((genesis.id,), 2, BASE),
        }
        self.heads = dict.fromkeys(("main", "a", "b"), newest.id)
        for name in ("a", "b"):
            self.graph.create_branch(name)

    # ------------------------------------------------------------------ what happens

    @rule(pair=PAIRS)
    def fork(self, pair: tuple[str, str]) -> None:
        name, source = pair
        if name in self.heads or source not in self.heads:
            return
        self.graph.create_branch(name, source)
        self.heads[name] = self.heads[source]

    @rule(several=st.lists(st.tuples(BRANCHES, OPERATIONS), min_size=2, max_size=6))
    def do(self, several: list[tuple[str, Operation]]) -> None:
        for name, operation in several:
            if name in self.heads:
                after = operation.run(self.graph, name, self.state(name))
                if after is not None:
                    self.advance(name, after)

    @rule(pair=PAIRS, side=SIDES, delete=SELDOM, plan=st.booleans(), read=st.booleans())
    def merge(self, pair: tuple[str, str], side: str, delete: bool, plan: bool, read: bool) -> None:
        source, target = pair
        # Rows that only the source replaced are read where they are few, and else not.
        merge_rows.FEW_ROWS = FEW_ROWS if read else -1
        if not {source, target} <= self.heads.keys():
            return
        outcome, expected, conflicts = self.foretold(source, target, side)
        if plan:
            planned = self.graph.merge(source, target, side, plan_only=True)  # type: ignore[arg-type]
            assert planned.outcome == outcome
            assert bool(planned.conflicts) == bool(conflicts)
        try:
            result = self.graph.merge(source, target, side, delete_source=delete)  # type: ignore[arg-type]
        except MergeConflict as error:
            assert agree(error, conflicts), (conflicts, error.conflicts)
            self.unchanged(source, target)
            return
        assert conflicts == [], result
        assert result.outcome == outcome
        self.merged(source, target, expected, result.commit)
        if delete and source != "main":
            assert result.branch_deleted
            del self.heads[source]

    @rule(pair=PAIRS, point=POINTS)
    def merge_and_fail(self, pair: tuple[str, str], point: str) -> None:
        """The process lives, the store fails at some point: all of it is there, or nothing."""
        source, target = pair
        if not {source, target} <= self.heads.keys():
            return
        _, expected, conflicts = self.foretold(source, target, "fail")
        failpoints._reached.clear()
        with patch.dict(os.environ, {failpoints.VARIABLE: f"{point}=error"}):
            try:
                self.graph.merge(source, target)
            except MergeConflict as error:
                assert agree(error, conflicts)
            except StorageError:
                pass
        self.graph = omnigraph.open(self.place / "graph")
        commit = self.graph.commits(target)[0]
        if commit.id != self.heads[target]:
            self.merged(source, target, expected, commit)
        self.unchanged(source, target)

    @rule(name=BRANCHES, what=st.sampled_from(["collect", "optimize", "optimize", "drop"]))
    def keep_up(self, name: str, what: str) -> None:
        if what == "collect":
            self.graph.collect()
        elif what == "drop" and name != "main" and name in self.heads:
            self.graph.delete_branch(name)
            del self.heads[name]
        elif what == "optimize" and name in self.heads:
            self.graph.optimize(name)
            self.advance(name, self.state(name))

    # ------------------------------------------------------------------ the model

    def state(self, name: str) -> State:
        return self.commits[self.heads[name]].state

    def advance(self, name: str, after: State) -> None:
        """Note the commits that a branch gained; the last is in the new state."""
        gained = []
        for commit in self.graph.commits(name):
            if commit.id == self.heads[name]:
                break
            gained.append(commit)
        for commit in reversed(gained):
            assert commit.parents == (self.heads[name],)
            state = after if commit is gained[0] else self._between(name, after)
            self.commits[commit.id] = Version(commit.parents, commit.version, state)
            self.heads[name] = commit.id
        self.unchanged(name)

    def _between(self, name: str, after: State) -> State:
        """After the schema change of an operation, before its rows."""
        before = self.state(name)
        rows = {i: before.of(i) for i in after.types if i in before.types}
        return State(after.types, rows)

    def merged(self, source: str, target: str, after: State | None, commit: Any) -> None:  # noqa: ANN401
        if commit is None:
            assert after is None
            return
        assert after is not None
        assert commit.parents == (self.heads[target], self.heads[source])
        self.commits[commit.id] = Version(commit.parents, commit.version, after)
        self.heads[target] = commit.id
        self.unchanged(target)

    def unchanged(self, *names: str) -> None:
        """Branches are where the model has them, and show what it shows."""
        for name in names:
            if name in self.heads:
                assert self.graph.commits(name)[0].id == self.heads[name]
                assert contents(self.graph, name) == self.state(name).contents()

    def foretold(
        self, source: str, target: str, side: str
    ) -> tuple[str, State | None, list[Found]]:
        theirs, ours = self.heads[source], self.heads[target]
        near, far = self.distances(theirs), self.distances(ours)
        common = near.keys() & far.keys()
        above = {a for c in common for a in self.distances(c) if a != c}
        base = max(
            common - above,
            key=lambda c: (-(near[c] + far[c]), self.commits[c].number, c),
        )
        if base == theirs:
            return "already_up_to_date", None, []
        if base == ours:
            return "fast_forward", self.commits[theirs].state, []
        parted, source_state, target_state = (
            self.commits[commit].state for commit in (base, theirs, ours)
        )
        return "merged", *merge_states(parted, source_state, target_state, side)

    def distances(self, head: str) -> dict[str, int]:
        found, frontier = {head: 0}, [head]
        while frontier:
            commit = frontier.pop(0)
            for parent in self.commits[commit].parents:
                if parent not in found:
                    found[parent] = found[commit] + 1
                    frontier.append(parent)
        return found

    def teardown(self) -> None:
        merge_rows.FEW_ROWS = FEW_ROWS
        if hasattr(self, "graph"):
            report = self.graph.verify(rules=True)
            assert report.findings == ()
            for name in self.heads:
                self.unchanged(name)
        shutil.rmtree(self.place)


def agree(error: MergeConflict, conflicts: list[Found]) -> bool:
    """Whether the real conflicts are the foretold ones; where schemas clash, that they do."""
    named = ("divergent_insert", "divergent_update", "delete_vs_update", "orphan_edge")
    found = {
        (c["kind"], c["type_name"], c["entity_id"] if c["kind"] in named else None)
        for c in error.conflicts
    }
    kinds = {kind for kind, _, _ in conflicts}
    if "schema_conflict" in kinds:
        return "schema_conflict" in {kind for kind, _, _ in found}
    return found == set(conflicts)


TestMerges = pytest.mark.slow(MergeMachine.TestCase)
TestMerges.settings = settings(
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
    TestMerges = seed(int(SEED))(TestMerges)
