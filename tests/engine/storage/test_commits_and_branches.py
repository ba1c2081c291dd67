"""One commit per change, branches as pointers, conditional writes.

The rules are docs/design/branching.md#1-commits, #2-branches and
#6-conditional-and-concurrent-writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import (
    AlreadyExists,
    Conflict,
    ConstraintViolation,
    ExpectedVersionMismatch,
    InvalidInput,
    KeyConflict,
    NotFound,
    PreconditionFailed,
    ReadSetConflict,
)
from support.graphs import BOATS, boats, contents, edge, ids, ndjson, node, refused, rows, state

DOT = ndjson(node("Boat", name="Dot"))
EEL = ndjson(node("Boat", name="Eel"))


def change(
    graph: omnigraph.Graph,
    work: Callable[[omnigraph.Transaction], Any],
    **options: Any,  # noqa: ANN401
) -> omnigraph.Transaction:
    with graph.transaction(**options) as t:
        work(t)
    return t


# --------------------------------------------------------------------------- commits


def test_a_graph_begins_with_one_commit_without_parents(root: str) -> None:
    graph = omnigraph.init(root, BOATS, actor="ann")
    (genesis,) = graph.commits()
    assert (genesis.parents, genesis.version, genesis.branch) == ((), 1, "main")
    assert genesis.actor == "ann"
    shown = genesis.to_json()
    assert shown["graph_branch"] is shown["parent_commit_id"] is None
    assert shown["merged_parent_commit_id"] is None
    assert (shown["graph_manifest_version"], len(shown["graph_commit_id"])) == (1, 26)
    assert abs(shown["created_at"] / 1e6 - genesis.time.timestamp()) < 1e-3


def test_every_change_is_exactly_one_commit_on_the_head_it_was_built_on(root: str) -> None:
    graph = boats(root)
    changes: list[Callable[[], Any]] = [
        lambda: graph.load(DOT),
        lambda: graph.load(b""),
        lambda: graph.load(EEL, mode="append"),
        lambda: change(graph, lambda t: t.upsert("Boat", [{"name": "Eel", "crew": 4}])),
        lambda: change(graph, lambda t: t.delete("Boat", ["Cap"])),
        lambda: graph.apply_schema(BOATS + "node Port { name: String @key }"),
        lambda: graph.optimize(),
    ]
    for count, step in enumerate(changes, start=3):
        before = graph.commits()
        step()
        after = graph.commits()
        assert after[1:] == before
        assert after[0].version == count
        assert after[0].parents == (before[0].id,)
        assert after[0].time >= before[0].time
        assert graph.commit(after[0].id) == after[0]
        assert graph.branches()[0].commit == after[0].id
    assert len({commit.id for commit in graph.commits()}) == count


def test_changes_without_effect_make_no_commit(root: str) -> None:
    graph = boats(root)
    graph.optimize()
    before = state(graph), len(graph.commits())
    assert change(graph, lambda t: t.delete("Boat", ["nobody"])).commit is None
    assert not graph.apply_schema(BOATS).applied
    assert graph.optimize().commit is None
    graph.create_branch("x")
    graph.delete_branch("x")
    graph.collect()
    assert (state(graph), len(graph.commits())) == before


def test_b24_an_upsert_of_equal_values_is_a_commit(root: str) -> None:
    graph = boats(root)
    before = contents(graph)
    t = change(graph, lambda t: t.upsert("Boat", [{"name": "Ada", "crew": 2}]))
    assert t.commit is not None
    assert contents(graph) == before


def test_a_commit_says_who_why_and_what(root: str) -> None:
    graph = boats(root)
    t = change(graph, lambda t: t.insert("Boat", [{"name": "Dot"}]), actor="bob", message="why")
    assert t.commit is not None
    shown = graph.commit(t.commit.id).to_json()
    assert (shown["actor_id"], shown["message"], shown["changed"]) == ("bob", "why", ["node:Boat"])


def test_history_is_what_a_branch_inherited_and_its_own(root: str) -> None:
    graph = boats(root)
    shared = graph.commits()
    graph.create_branch("wip")
    graph.load(EEL)
    own = [graph.load(DOT, branch="wip").commit, graph.load(b"", branch="wip").commit]
    assert graph.commits("wip") == [*reversed(own), *shared]
    assert [c.version for c in graph.commits("wip")] == [4, 3, 2, 1]
    assert own[0].to_json()["graph_branch"] == "wip"
    assert {c.id for c in graph.commits()}.isdisjoint(c.id for c in own)


def test_readers_see_all_of_a_commit_or_none_of_it(root: str) -> None:
    graph = omnigraph.init(root, "node A { n: I64 @key } node B { n: I64 @key }")
    done = threading.Event()
    broken: list[tuple[list[str], list[str]]] = []

    def watch() -> None:
        reader = omnigraph.open(root)
        while not done.is_set():
            snapshot = reader.snapshot()
            a, b = (sorted(snapshot.scan(t, ["id"]).read_all()["id"].to_pylist()) for t in "AB")
            if a != b:
                broken.append((a, b))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for n in range(12):
            graph.load(ndjson(node("A", n=n), node("B", n=n)))
    finally:
        done.set()
        watcher.join()
    assert not broken
    assert graph.snapshot().count("A") == 12


# --------------------------------------------------------------------------- branches


def test_a_branch_starts_at_the_head_of_its_source_and_makes_no_commit(root: str) -> None:
    graph = boats(root)
    before = graph.commits()
    branch = graph.create_branch("wip")
    assert branch.to_json() == {
        "name": "wip",
        "graph_commit_id": before[0].id,
        "graph_manifest_version": 2,
        "forked_from": before[0].id,
        "protected": False,
        "owner": None,
        "expires_at": None,
    }
    assert graph.commits() == graph.commits("wip") == before
    assert contents(graph, "wip") == contents(graph)


def test_a_branch_starts_at_any_moment(root: str) -> None:
    graph = boats(root)
    base = graph.commits()[0]
    graph.load(DOT)
    graph.create_branch("side")
    graph.load(EEL, branch="side")
    for name, moment, found in (
        ("a", base.id, 3),
        ("b", f"main@{base.id}", 3),
        ("c", "main@v1", 0),
        ("d", "side", 5),
        ("e", "side@v3", 4),
        ("f", f"main@{base.time.isoformat()}", 3),
    ):
        graph.create_branch(name, moment)
        assert graph.snapshot(name).count("Boat") == found
        graph.load(ndjson(node("Boat", name="own")), branch=name)
        assert graph.snapshot(name).count("Boat") == found + 1
    assert graph.verify(rules=True).ok


def test_branches_do_not_see_each_other(root: str) -> None:
    graph = boats(root)
    graph.create_branch("one")
    graph.create_branch("two", "one")
    graph.load(ndjson(node("Boat", name="Dot"), edge("Meets", "Dot", "Ada")), branch="one")
    change(graph, lambda t: t.delete("Boat", ["Cap"]), branch="two")
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    assert ids(graph, "Boat", "one") == ["Ada", "Bly", "Cap", "Dot"]
    assert ids(graph, "Boat", "two") == ["Ada", "Bly"]
    assert [len(rows(graph, "Meets", b)) for b in ("main", "one", "two")] == [1, 2, 0]
    graph.delete_branch("one")
    assert ids(graph, "Boat", "two") == ["Ada", "Bly"]
    assert graph.verify(rules=True).ok


def test_b27_a_name_below_another_is_its_own_branch(root: str) -> None:
    graph = boats(root)
    graph.create_branch("rel")
    graph.create_branch("rel/9")
    for name in ("rel", "rel/9", "main"):
        error = refused(graph, AlreadyExists, lambda name=name: graph.create_branch(name))  # type: ignore[misc]
        assert isinstance(error, Conflict) and error.hint
    graph.delete_branch("rel")
    assert [b.name for b in graph.branches()] == ["main", "rel/9"]


def test_a_deleted_branch_is_not_found_and_similar_names_are_offered(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.delete_branch("wip")
    graph.create_branch("wipe")
    for action in (
        lambda: graph.delete_branch("wip"),
        lambda: graph.snapshot("wip"),
        lambda: graph.load(b"", branch="wip"),
        lambda: graph.commits("wip"),
        lambda: graph.transaction("wip"),
        lambda: graph.create_branch("x", "wip"),
    ):
        assert "'wipe'" in refused(graph, NotFound, action).message


def test_a_branch_of_an_old_name_is_another_branch(root: str) -> None:
    graph = boats(root)
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    open_write = graph.transaction("wip")
    open_write.insert("Boat", [{"name": "Fay"}])
    graph.delete_branch("wip")
    graph.create_branch("wip")

    def finish() -> None:
        with open_write:
            pass

    refused(graph, (Conflict, NotFound), finish)
    assert ids(graph, "Boat", "wip") == ["Ada", "Bly", "Cap"]
    graph.load(EEL, branch="wip")
    assert ids(graph, "Boat", "wip") == ["Ada", "Bly", "Cap", "Eel"]
    assert [c.version for c in graph.commits("wip")] == [3, 2, 1]
    assert graph.verify(rules=True).ok


# --------------------------------------------------------------------------- conditional writes


def upsert(graph: omnigraph.Graph, crew: int, branch: str = "main", **options: Any) -> Any:  # noqa: ANN401
    rows = [{"name": "Ada", "crew": crew}]
    return change(graph, lambda t: t.upsert("Boat", rows), branch=branch, **options).commit


def test_b26_a_token_is_good_for_one_write(root: str) -> None:
    graph = boats(root)
    token = graph.create_branch("wip").commit
    commit = upsert(graph, 5, "wip", if_commit=token)
    error = refused(graph, PreconditionFailed, lambda: upsert(graph, 6, "wip", if_commit=token))
    facts = error.details["precondition_failed"]
    assert (error.code, facts) == ("precondition_failed", {"expected": token, "actual": commit.id})
    assert upsert(graph, 6, "wip", if_commit=commit.id) is not None
    assert upsert(graph, 7, if_commit=token) is not None


def test_any_commit_invalidates_a_token_also_one_of_unrelated_types(root: str) -> None:
    graph = boats(root)
    for unrelated in (
        lambda: graph.load(ndjson(edge("Tows", "Ada", "Bly"))),
        lambda: graph.load(b""),
        lambda: graph.optimize(),
        lambda: graph.apply_schema(BOATS + "node Port { name: String @key }"),
    ):
        token = graph.commits()[0].id
        unrelated()
        refused(graph, PreconditionFailed, lambda token=token: upsert(graph, 9, if_commit=token))  # type: ignore[misc]


def test_a_commit_of_another_branch_does_not_invalidate_a_token(root: str) -> None:
    graph = boats(root)
    token = graph.commits()[0].id
    graph.create_branch("wip")
    graph.load(DOT, branch="wip")
    assert upsert(graph, 9, if_commit=token) is not None


def test_a_token_is_checked_again_when_publishing(root: str) -> None:
    graph = boats(root)
    token = graph.commits()[0].id

    def late() -> None:
        with graph.transaction(if_commit=token) as t:
            t.upsert("Boat", [{"name": "Ada", "crew": 9}])
            graph.load(ndjson(edge("Tows", "Ada", "Bly", id="t")))

    with pytest.raises(PreconditionFailed):
        late()
    assert (ids(graph, "Tows"), rows(graph, "Boat")[0]["crew"]) == (["t"], 2)


@pytest.mark.parametrize(
    "token", ["*", "", 'W/"x"', '"quoted"', "main", "v2", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]
)
def test_anything_but_the_id_of_the_head_is_refused_as_a_token(root: str, token: str) -> None:
    graph = boats(root)
    refused(graph, (PreconditionFailed, InvalidInput), lambda: upsert(graph, 9, if_commit=token))


def test_a_matching_write_without_effect_commits_nothing(root: str) -> None:
    graph = boats(root)
    token = graph.commits()[0].id
    t = change(graph, lambda t: t.delete("Boat", ["nobody"]), if_commit=token)
    assert t.commit is None
    assert graph.commits()[0].id == token


def test_inserts_are_prepared_again_when_the_head_moved(root: str) -> None:
    graph, other = boats(root), omnigraph.open(root)
    with graph.transaction() as t:
        t.insert("Boat", [{"name": "Dot"}])
        t.upsert("Boat", [{"name": "Ada", "crew": 8}])
        other.load(EEL)
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel"]
    assert t.commit is not None and t.commit.parent == graph.commits()[1].id


def test_an_insert_stays_strict_when_it_is_prepared_again(root: str) -> None:
    graph, other = boats(root), omnigraph.open(root)

    def late() -> None:
        with graph.transaction() as t:
            t.insert("Boat", [{"name": "Dot", "crew": 1}])
            other.load(DOT)

    with pytest.raises(KeyConflict):
        late()
    assert graph.snapshot().get("Boat", "Dot") == rows(other, "Boat")[3]


def test_constraints_hold_against_what_landed_meanwhile(root: str) -> None:
    graph, other = boats(root), omnigraph.open(root)

    def raced(mine: Callable[[omnigraph.Transaction], Any], theirs: bytes) -> str:
        with pytest.raises(ConstraintViolation) as caught, graph.transaction() as t:
            mine(t)
            other.load(theirs)
        return caught.value.notation

    assert (
        raced(
            lambda t: t.insert("Boat", [{"name": "X", "reg": "r"}]),
            ndjson(node("Boat", name="Y", reg="r")),
        )
        == "unique(Boat.reg = r; Y, X)"
    )
    assert (
        raced(
            lambda t: t.insert("Tows", [{"src": "Ada", "dst": "Bly"}]),
            ndjson(edge("Tows", "Ada", "Cap")),
        )
        == "card(Tows, Ada: 2 > 1)"
    )
    with pytest.raises(ConstraintViolation) as caught, graph.transaction() as t:
        t.insert("Meets", [{"src": "Ada", "dst": "Cap"}])
        change(other, lambda t: t.delete("Boat", ["Cap"]))
    assert caught.value.notation == "endpoint(Meets.dst = Cap)"
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize(
    "work",
    [
        lambda t: t.delete("Boat", ["Ada"]),
        lambda t: t.overwrite("Boat", [{"name": "Bly"}, {"name": "Cap"}]),
    ],
)
def test_strict_writes_are_refused_when_their_table_moved(
    root: str, work: Callable[[omnigraph.Transaction], Any]
) -> None:
    graph, other = boats(root), omnigraph.open(root)
    with pytest.raises(ReadSetConflict) as caught, graph.transaction() as t:
        work(t)
        other.load(DOT)
    error = caught.value
    assert error.details["read_set_conflict"] == {"member": "node:Boat", "expected": 2, "actual": 3}
    assert error.code == "read_set_conflict" and error.hint
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]


def test_an_overwriting_load_is_refused_when_its_table_moved(root: str) -> None:
    graph, other = boats(root), omnigraph.open(root)

    class Late:
        """An input during whose reading somebody else commits."""

        def __init__(self) -> None:
            self.parts = [ndjson(node("Boat", name="Bly"), node("Boat", name="Cap")), b""]

        def read(self, size: int = -1) -> bytes:
            if len(self.parts) == 1:
                other.load(DOT)
            return self.parts.pop(0) if self.parts else b""

        def readinto(self, buffer: Any) -> int:  # noqa: ANN401
            data = self.read()
            buffer[: len(data)] = data
            return len(data)

    source: Any = Late()
    with pytest.raises(ReadSetConflict):
        graph.load(source, mode="overwrite")
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]


def test_expected_table_versions_are_held_to(root: str) -> None:
    graph = boats(root)
    assert upsert(graph, 4, expected_table_versions={"node:Boat": 2}) is not None
    error = refused(
        graph,
        ExpectedVersionMismatch,
        lambda: upsert(graph, 5, expected_table_versions={"node:Boat": 2}),
    )
    assert error.details["read_set_conflict"] == {"member": "node:Boat", "expected": 2, "actual": 3}
    refused(
        graph,
        ExpectedVersionMismatch,
        lambda: upsert(graph, 5, expected_table_versions={"node:Nope": 1}),
    )


def test_a_schema_that_changed_refuses_an_open_write(root: str) -> None:
    graph, other = boats(root), omnigraph.open(root)
    with pytest.raises(ReadSetConflict) as caught, graph.transaction() as t:
        t.insert("Boat", [{"name": "Dot"}])
        other.apply_schema(BOATS.replace("crew: I32?", "crew: I64?"))
    assert caught.value.member == "schema"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap"]
    graph.load(DOT)
    assert graph.verify(rules=True).ok


def test_writers_of_one_branch_all_land(root: str) -> None:
    graph = boats(root)
    graphs = [graph, omnigraph.open(root, retry_budget=50), omnigraph.open(root, retry_budget=50)]
    failures: list[BaseException] = []

    def write(number: int, target: omnigraph.Graph) -> None:
        try:
            for n in range(4):
                target.load(ndjson(node("Boat", name=f"w{number}-{n}")))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=write, args=(n, graphs[n % len(graphs)])) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert graph.snapshot().count("Boat") == 3 + 24
    assert [c.version for c in graph.commits()] == list(range(26, 0, -1))
    assert graph.verify(rules=True).ok
