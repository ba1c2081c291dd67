"""Every pair of single operations on two branches merges as the naive oracle says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from omnigraph import Graph
from omnigraph.branching.merge import merge_rows
from omnigraph.errors import MergeConflict
from support.graphs import contents
from support.harbour import BASE, ROWS, SCHEMAS, Operation, build
from support.naive_merge import Found, State, merge_states

OPERATIONS = [*ROWS, *SCHEMAS]


@dataclass
class Harbour:
    """A graph with a branch for each operation, on which it was done."""

    graph: Graph
    states: dict[str, State]

    @staticmethod
    def branch(operation: Operation) -> str:
        return "did/" + operation.name.replace(" ", "-")


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    graph = build(str(tmp_path_factory.mktemp("harbour") / "graph"))
    states = {}
    for operation in OPERATIONS:
        name = Harbour.branch(operation)
        graph.create_branch(name)
        after = operation.run(graph, name, BASE)
        assert after is not None, operation.name
        assert contents(graph, name) == after.contents(), operation.name
        states[operation.name] = after
    yield Harbour(graph, states)
    report = graph.verify(rules=True)
    assert report.findings == ()


def told(error: MergeConflict) -> list[Found]:
    """Conflicts as the oracle names them: it names no entity for values and uniqueness."""
    named = ("divergent_insert", "divergent_update", "delete_vs_update", "orphan_edge")
    found = {
        (c["kind"], c["type_name"], c["entity_id"] if c["kind"] in named else None)
        for c in error.conflicts
    }
    return sorted(found, key=str)


def differences(
    harbour: Harbour,
    theirs: Operation,
    several: Sequence[Operation],
    side: str,
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[object, ...]]:
    """Where merging one operation into each of several is not what the oracle says.

    Every other pair is merged as if many rows had changed: those of the base are not read then.
    """
    graph, source = harbour.graph, Harbour.branch(theirs)
    wrong: list[tuple[object, ...]] = []
    for place, ours in enumerate(several, several.index(theirs)):
        monkeypatch.setattr(merge_rows, "FEW_ROWS", -1 if place % 2 else 64)
        expected, conflicts = merge_states(
            BASE, harbour.states[theirs.name], harbour.states[ours.name], side
        )
        graph.create_branch("try", Harbour.branch(ours))
        try:
            graph.merge(source, "try", on_conflict=side)  # type: ignore[arg-type]
        except MergeConflict as error:
            if told(error) != conflicts:
                wrong.append((ours.name, told(error), conflicts))
        else:
            if conflicts:
                wrong.append((ours.name, [], conflicts))
            elif expected is not None and contents(graph, "try") != expected.contents():
                wrong.append((ours.name, contents(graph, "try"), expected.contents()))
        graph.delete_branch("try")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("theirs", OPERATIONS, ids=lambda operation: operation.name)
def test_every_pair_with(
    harbour: Harbour, theirs: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differences(harbour, theirs, OPERATIONS, "fail", monkeypatch) == []


@pytest.mark.soak
@pytest.mark.parametrize("side", ["ours", "theirs"])
@pytest.mark.parametrize("theirs", ROWS, ids=lambda operation: operation.name)
def test_every_pair_decided_beforehand_with(
    harbour: Harbour, theirs: Operation, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differences(harbour, theirs, ROWS, side, monkeypatch) == []
