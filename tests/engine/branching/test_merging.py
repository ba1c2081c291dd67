"""What a merge promises beside its outcome: atomic, planned without a write, never blind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from engine.exec_mutations.harness import store_of
from omnigraph import Graph
from omnigraph.branching.merge import conflicts as conflicts_module
from omnigraph.branching.merge import merge_rows
from omnigraph.branching.merge.changeset import UnreadRows
from omnigraph.branching.merge.merge_rows import Granularity
from omnigraph.common import spilled_rows
from omnigraph.errors import InvalidInput, MergeConflict, NotFound, PublishContention, Reclaimed
from omnigraph.storage.commit.publish_plan import HeadMoved, PublishPlan
from omnigraph.storage.commit.publisher import Publisher
from omnigraph.storage.maintenance import collect
from omnigraph.storage.manifest.definitions import define
from omnigraph.storage.refs.branches import create_branch
from omnigraph.storage.tables import write_buffer
from support.boats import boat, conflicts_of, drop, join, merged, part, put
from support.graphs import boats, contents, ids, rows, state


@pytest.fixture
def graph(root: str) -> Graph:
    graph = boats(root)
    graph.create_branch("wip")
    return graph


def files(graph: Graph) -> set[str]:
    return {str(path) for path in Path(graph.uri).rglob("*") if path.is_file()}


# --------------------------------------------------------------------------- pointers


def test_tables_that_only_the_source_moved_are_not_copied(graph: Graph) -> None:
    join(graph, "wip", "Meets", "Ada", "Bly")
    put(graph, "main", "Dot")
    before = files(graph)
    result = merged(graph)
    assert result.tables["edge:Meets"].to_json() == {"way": "taken"}
    store = store_of(graph)
    ours, theirs = (store.head(b).tables["edge:Meets"] for b in ("main", "wip"))
    assert (ours.location, ours.lance) == (theirs.location, theirs.lance)
    written = {name for name in files(graph) - before if "__manifest" not in name}
    assert written == set()


def test_a_merge_writes_one_new_version_per_merged_table(graph: Graph) -> None:
    put(graph, "wip", "Dot")
    drop(graph, "wip", "Ada")
    put(graph, "main", "Eel")
    before = files(graph)
    merged(graph)
    versions = [n for n in files(graph) - before if "/nodes/" in n and "_versions" in n]
    assert len(versions) == 1


# --------------------------------------------------------------------------- rows not read


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that only the source replaced are not read, however few they are."""
    monkeypatch.setattr(merge_rows, "FEW_ROWS", -1)
    monkeypatch.setattr(UnreadRows, "costly", True)


def test_rows_that_are_not_read_are_told_by_number(graph: Graph, unread: None) -> None:
    put(graph, "wip", "Dot")
    put(graph, "wip", "Ada", crew=9)
    drop(graph, "wip", "Bly")
    put(graph, "main", "Eel")
    result = merged(graph)
    told = {"way": "merged", "rows_in": 2, "rows_out": 2}
    assert result.tables["node:Boat"].to_json() == told
    assert ids(graph, "Boat") == ["Ada", "Cap", "Dot", "Eel"]
    assert boat(graph, "Ada")["crew"] == 9
    assert graph.verify(rules=True).ok


def test_a_value_freed_by_a_row_that_is_not_read_can_be_taken(graph: Graph, unread: None) -> None:
    """The unique value of a boat that the source removed goes to another one of the source."""
    with graph.transaction("main") as txn:
        txn.upsert("Boat", [{"name": "Old", "reg": "R1"}])
    graph.merge("main", "wip")
    drop(graph, "wip", "Old")
    with graph.transaction("wip") as txn:
        txn.upsert("Boat", [{"name": "New", "reg": "R1"}])
    put(graph, "main", "Eel")
    merged(graph)
    assert graph.verify(rules=True).ok


def test_rows_that_the_target_only_rewrote_are_not_what_it_wrote(
    graph: Graph, unread: None
) -> None:
    """Compaction puts a boat that the source removed into a new file of the target."""
    for name, reg in (("Old", "R1"), ("Other", "R2")):
        with graph.transaction("main") as txn:
            txn.upsert("Boat", [{"name": name, "reg": reg}])
    graph.merge("main", "wip")
    drop(graph, "wip", "Old")
    with graph.transaction("wip") as txn:
        txn.upsert("Boat", [{"name": "New", "reg": "R1"}])
    put(graph, "main", "Eel")
    graph.optimize("main")
    merged(graph)
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Eel", "New", "Other"]
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("granularity", ["entity", "property"])
def test_a_tuple_of_both_sides_meets_rows_that_neither_changed(
    root: str, granularity: Granularity, unread: None
) -> None:
    graph = omnigraph.init(root, "node A { k: String @key p: I32 q: I32  @unique(p, q) }")
    start = [("one", 1, 1), ("other", 2, 2)]
    with graph.transaction() as txn:
        txn.insert("A", [{"k": k, "p": p, "q": q} for k, p, q in start])
    graph.create_branch("wip")
    with graph.transaction("wip") as txn:
        txn.upsert("A", [{"k": "one", "p": 2, "q": 1}])
    with graph.transaction() as txn:
        txn.upsert("A", [{"k": "one", "p": 1, "q": 2}])
    with pytest.raises(MergeConflict) as refused:
        graph.merge("wip", granularity=granularity)
    kind = "unique_violation" if granularity == "property" else "divergent_update"
    assert [conflict["kind"] for conflict in refused.value.conflicts] == [kind]


def test_a_rule_that_only_the_target_has_is_checked_against_all_rows(
    root: str, unread: None
) -> None:
    graph = omnigraph.init(root, "node A { k: String @key p: I32? }")
    with graph.transaction() as txn:
        txn.insert("A", [{"k": "old", "p": 1}, {"k": "mine", "p": 5}])
    graph.create_branch("wip")
    graph.apply_schema("node A { k: String @key p: I32? @unique }")
    with graph.transaction() as txn:
        txn.upsert("A", [{"k": "mine", "p": 6}])
    with graph.transaction("wip") as txn:
        txn.upsert("A", [{"k": "new", "p": 1}])
    with pytest.raises(MergeConflict) as refused:
        graph.merge("wip")
    assert [conflict["kind"] for conflict in refused.value.conflicts] == ["unique_violation"]


# --------------------------------------------------------------------------- plans


def test_a_plan_writes_nothing_and_counts_everything(graph: Graph) -> None:
    put(graph, "wip", "Dot")
    put(graph, "wip", "Bly", crew=9)
    drop(graph, "wip", "Ada")
    join(graph, "wip", "Meets", "Dot", "Cap")
    put(graph, "main", "Eel")
    before, shown = files(graph), state(graph)
    plan = graph.merge("wip", plan_only=True)
    assert (files(graph), state(graph)) == (before, shown)
    counts = {key: (t.way, t.inserted, t.updated, t.deleted) for key, t in plan.tables.items()}
    assert counts == {"node:Boat": ("merged", 1, 1, 1), "edge:Meets": ("taken", 1, 0, 0)}
    assert plan.to_json()["outcome"] == "merged"


def test_a_plan_of_a_source_that_is_ahead_counts_too(graph: Graph) -> None:
    drop(graph, "wip", "Cap")
    plan = graph.merge("wip", plan_only=True)
    assert plan.outcome == "fast_forward"
    assert {key: t.deleted for key, t in plan.tables.items()} == {"node:Boat": 1, "edge:Meets": 1}


def test_a_plan_finds_what_the_merged_image_breaks(graph: Graph) -> None:
    drop(graph, "wip", "Ada")
    join(graph, "main", "Meets", "Ada", "Cap")
    before = files(graph)
    plan = graph.merge("wip", plan_only=True)
    assert plan.conflict_counts == {"orphan_edge": 1}
    assert files(graph) == before


# --------------------------------------------------------------------------- conflicts


def test_an_edge_that_loses_both_ends_is_one_orphan(graph: Graph) -> None:
    drop(graph, "wip", "Ada")
    drop(graph, "wip", "Bly")
    edge = join(graph, "main", "Meets", "Ada", "Bly")
    assert conflicts_of(graph) == [("orphan_edge", "Meets", edge)]


def test_an_edge_of_the_source_to_a_boat_that_the_target_deleted(graph: Graph) -> None:
    edge = join(graph, "wip", "Meets", "Ada", "Cap")
    drop(graph, "main", "Ada")
    assert conflicts_of(graph) == [("orphan_edge", "Meets", edge)]


def test_integrity_is_never_decided_beforehand(graph: Graph) -> None:
    edge = join(graph, "wip", "Meets", "Ada", "Cap")
    drop(graph, "main", "Ada")
    for side in ("ours", "theirs"):
        assert conflicts_of(graph, on_conflict=side) == [("orphan_edge", "Meets", edge)]


def test_a_deletion_kept_for_the_target_leaves_edges_of_the_source_without_end(
    graph: Graph,
) -> None:
    """`ours` keeps the deletion, and the source's new edge has nowhere to go."""
    put(graph, "wip", "Ada", crew=7)
    edge = join(graph, "wip", "Meets", "Ada", "Cap")
    drop(graph, "main", "Ada")
    assert conflicts_of(graph, on_conflict="ours") == [("orphan_edge", "Meets", edge)]
    assert merged(graph, on_conflict="theirs").outcome == "merged"
    assert boat(graph, "Ada")["crew"] == 7


def test_many_conflicts_are_counted_and_the_first_are_shown(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicts_module, "SHOWN", 10)
    for branch, crew in (("wip", 1), ("main", 2)):
        many = pa.table({"name": [f"b{n:03}" for n in range(300)], "crew": [crew] * 300})
        with graph.transaction(branch) as txn:
            txn.upsert("Boat", many)
    with pytest.raises(MergeConflict) as caught:
        graph.merge("wip")
    assert caught.value.counts == {"divergent_insert": 300}
    assert [c["entity_id"] for c in caught.value.conflicts] == [f"b{n:03}" for n in range(10)]
    assert "300 conflicts" in caught.value.message


def test_properties_go_together_where_they_can(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=5, flag="BE")
    put(graph, "main", "Ada", crew=6, reg="R7")
    put(graph, "wip", "Cap", crew=4)
    put(graph, "main", "Cap", flag=None)
    assert conflicts_of(graph, granularity="property") == [("divergent_update", "Boat", "Ada")]
    assert merged(graph, granularity="property", on_conflict="ours").outcome == "merged"
    ada, cap = boat(graph, "Ada"), boat(graph, "Cap")
    assert (ada["crew"], ada["flag"], ada["reg"]) == (6, "BE", "R7")
    assert (cap["crew"], cap["flag"]) == (4, None)


def test_ends_of_an_edge_go_together_with_its_properties(tmp_path: Path) -> None:
    graph = omnigraph.init(
        tmp_path / "graph",
        "node N { name: String @key }\nedge E: N -> N { a: [I32]?  v: Vector(2)?  b: Blob? }",
    )
    with graph.transaction() as txn:
        txn.insert("N", [{"name": n} for n in "xyz"])
        txn.insert("E", [{"id": "e", "from": "x", "to": "y", "a": [1], "v": [0.5, 1.0]}])
    graph.create_branch("wip")
    with graph.transaction("wip") as txn:
        txn.upsert("E", [{"id": "e", "from": "x", "to": "z", "a": [1], "v": [0.5, 1.0]}])
    with graph.transaction() as txn:
        row = {"id": "e", "from": "x", "to": "y", "a": [1, 2], "v": [0.5, 2.0], "b": b"\0"}
        txn.upsert("E", [row])
    assert conflicts_of(graph) == [("divergent_update", "E", "e")]
    merged(graph, granularity="property")
    (found,) = rows(graph, "E")
    expected = {"id": "e", "src": "x", "dst": "z", "a": [1, 2], "v": [0.5, 2.0], "b": b"\0"}
    assert found == expected


# --------------------------------------------------------------------------- whole things


def query(text: str) -> str:
    return f"query q() {{ match {{ $b: Boat }} return {{ $b.{text} }} }}"


@pytest.mark.parametrize("side", ["fail", "ours", "theirs"])
def test_stored_queries_merge_by_name(graph: Graph, side: str) -> None:
    graph.register_queries(query("name"), branch="wip")
    put(graph, "main", "Dot")
    merged(graph)
    assert graph.stored_query("q").source == graph.stored_query("q", "wip").source
    graph.register_queries(query("crew"), branch="wip")
    graph.register_queries(query("flag"), branch="main")
    if side == "fail":
        assert conflicts_of(graph) == [("table_conflict", "q", None)]
        return
    kept = graph.stored_query("q", "main" if side == "ours" else "wip").source
    merged(graph, on_conflict=side)
    assert graph.stored_query("q").source == kept


def test_a_query_removed_on_one_side_is_removed(graph: Graph) -> None:
    graph.register_queries(query("name"))
    graph.delete_branch("wip")
    graph.create_branch("wip")
    graph.remove_query("q", branch="wip")
    put(graph, "main", "Dot")
    merged(graph)
    assert graph.queries() == []


NUMBERS = pa.schema([("n", pa.int64())])


def numbers(graph: Graph, branch: str, name: str, *values: int) -> None:
    with graph.transaction(branch) as txn:
        txn.create_table(name, NUMBERS, replace=True)
        txn.append(name, [{"n": n} for n in values])


def read_numbers(graph: Graph, name: str, at: str = "main") -> list[int]:
    table = graph.snapshot(at).plain_table(name).scan().read_all()
    return sorted(table.column("n").to_pylist())


def test_plain_tables_are_taken_as_a_whole(graph: Graph) -> None:
    numbers(graph, "wip", "a.one", 1, 2)
    numbers(graph, "main", "a.two", 3)
    result = merged(graph)
    assert result.tables["table:a.one"].way == "taken"
    assert (read_numbers(graph, "a.one"), read_numbers(graph, "a.two")) == ([1, 2], [3])
    assert graph.verify(rules=True).ok
    with graph.transaction("wip") as txn:
        txn.drop_table("a.one")
    put(graph, "main", "Dot")
    assert merged(graph).tables["table:a.one"].way == "dropped"
    assert [table.name for table in graph.tables()] == ["a.two"]


@pytest.mark.parametrize("side", ["fail", "ours", "theirs"])
def test_two_tables_of_one_name_conflict(graph: Graph, side: str) -> None:
    numbers(graph, "wip", "a.one", 1)
    numbers(graph, "main", "a.one", 2)
    if side == "fail":
        assert conflicts_of(graph) == [("table_conflict", "a.one", None)]
        return
    merged(graph, on_conflict=side)
    assert read_numbers(graph, "a.one") == ([2] if side == "ours" else [1])
    assert graph.verify(rules=True).ok


def test_a_table_and_a_view_of_one_name_conflict(graph: Graph) -> None:
    numbers(graph, "wip", "a.one", 1)
    with graph.transaction() as txn:
        txn.plain.define(define("view", "a.one", {"sql": "SELECT 1"}))
    assert ("table_conflict", "a.one", None) in conflicts_of(graph)


@pytest.mark.parametrize("dropped_on", ["wip", "main"])
@pytest.mark.parametrize("what", ["table", "view"])
def test_a_sql_schema_stays_while_one_side_has_something_in_it(
    graph: Graph, dropped_on: str, what: str
) -> None:
    other = "wip" if dropped_on == "main" else "main"
    with graph.transaction() as txn:
        txn.plain.define(define("schema", "a", {"owner": None}))
        txn.plain.define(define("schema", "b", {"owner": None}))
    graph.delete_branch("wip")
    graph.create_branch("wip")
    if what == "table":
        numbers(graph, other, "a.one", 1)
    else:
        with graph.transaction(other) as txn:
            txn.plain.define(define("view", "a.one", {"sql": "SELECT 1"}))
    with graph.transaction(dropped_on) as txn:
        txn.plain.undefine("schema", "a")
        txn.plain.undefine("schema", "b")
    merged(graph)
    kept = {key for key in store_of(graph).head("main").definitions if key.startswith("schema:")}
    assert kept == {"schema:a"}
    if what == "table":
        assert read_numbers(graph, "a.one") == [1]
    assert graph.verify(rules=True).ok


# --------------------------------------------------------------------------- unchecked sources


def test_a_source_that_was_not_checked_is_checked_by_its_merge(graph: Graph) -> None:
    create_branch(store_of(graph), "__txn/1", deferred_checks=True)
    with graph.transaction("__txn/1") as txn:
        txn.insert("Meets", [{"id": "m2", "from": "Ada", "to": "Dot"}])
        txn.insert("Tows", [{"from": "Ada", "to": "Bly"}, {"from": "Ada", "to": "Cap"}])
        txn.delete("Boat", ["Bly"], cascade=False)
    with pytest.raises(MergeConflict) as caught:
        graph.merge("__txn/1")
    found = {(c["kind"], c["type_name"], c["entity_id"]) for c in caught.value.conflicts}
    tow = next(row["id"] for row in rows(graph, "Tows", "__txn/1") if row["dst"] == "Bly")
    assert found == {
        ("orphan_edge", "Meets", "m1"),
        ("orphan_edge", "Meets", "m2"),
        ("orphan_edge", "Tows", tow),
        ("cardinality_violation", "Tows", None),
    }
    with graph.transaction("__txn/1") as txn:
        txn.insert("Boat", [{"name": "Dot"}, {"name": "Bly"}])
        txn.delete("Tows", [tow])
    result = graph.merge("__txn/1", delete_source=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", True)
    assert ids(graph, "Meets") == ["m1", "m2"]
    assert graph.verify(rules=True).ok


# --------------------------------------------------------------------------- deleting the source


@pytest.mark.parametrize("outcome", ["already_up_to_date", "fast_forward", "merged"])
def test_the_source_goes_in_the_same_publish(graph: Graph, outcome: str) -> None:
    if outcome != "already_up_to_date":
        put(graph, "wip", "Dot")
    if outcome == "merged":
        put(graph, "main", "Eel")
    swaps = graph.commits()
    result = graph.merge("wip", delete_source=True)
    assert (result.outcome, result.branch_deleted) == (outcome, True)
    assert result.branch_delete_error is None
    assert [branch.name for branch in graph.branches()] == ["main"]
    assert len(graph.commits()) == len(swaps) + (outcome != "already_up_to_date")
    graph.collect()
    assert graph.verify(rules=True).ok
    # The name is free, and begins anew.
    graph.create_branch("wip")
    put(graph, "wip", "Fin")
    assert merged(graph).outcome == "fast_forward"
    assert graph.verify(rules=True).ok


def test_main_stays_when_it_is_merged(graph: Graph) -> None:
    put(graph, "main", "Dot")
    result = graph.merge("main", "wip", delete_source=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert result.branch_delete_error == "main cannot be deleted"
    assert [branch.name for branch in graph.branches()] == ["main", "wip"]


def test_a_protected_source_stays_and_a_protected_target_takes_merges(graph: Graph) -> None:
    put(graph, "wip", "Dot")
    graph.protect_branch("wip")
    graph.protect_branch("main")
    result = graph.merge("wip", delete_source=True)
    assert (result.outcome, result.branch_deleted) == ("fast_forward", False)
    assert result.branch_delete_error == "wip is protected"
    assert "Dot" in ids(graph, "Boat")
    assert graph.verify(rules=True).ok


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[], Any], *, times: int = 1
) -> list[int]:
    """Let something happen between the decision of a merge and its publish."""
    publish, runs = Publisher.publish, [0]

    def interrupted(self: Publisher, plan: Any, **how: Any) -> Any:  # noqa: ANN401
        if plan.merged is not None and runs[0] < times:
            runs[0] += 1
            action()
        return publish(self, plan, **how)

    monkeypatch.setattr(Publisher, "publish", interrupted)
    return runs


def test_a_source_that_moved_meanwhile_is_merged_again_before_it_goes(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(graph, "wip", "Dot")
    meanwhile(monkeypatch, lambda: put(graph, "wip", "Eel"))
    result = graph.merge("wip", delete_source=True)
    assert result.branch_deleted
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel"]


def test_a_source_that_moved_meanwhile_keeps_what_was_not_merged(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(graph, "wip", "Dot")
    meanwhile(monkeypatch, lambda: put(graph, "wip", "Eel"))
    graph.merge("wip")
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot"]
    assert merged(graph).outcome == "merged"
    assert "Eel" in ids(graph, "Boat")


# --------------------------------------------------------------------------- other writers


def test_a_target_that_moved_meanwhile_is_merged_into_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(graph, "wip", "Dot")
    meanwhile(monkeypatch, lambda: put(graph, "main", "Eel"))
    result = graph.merge("wip")
    assert result.outcome == "merged", "the outcome is that on the head it was published on"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel"]
    assert graph.verify(rules=True).ok


def test_a_conflict_that_arises_meanwhile_is_found(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(graph, "wip", "Ada")
    meanwhile(monkeypatch, lambda: join(graph, "main", "Meets", "Ada", "Cap", id="late"))
    with pytest.raises(MergeConflict) as caught:
        graph.merge("wip")
    assert [c["entity_id"] for c in caught.value.conflicts] == ["late"]
    assert graph.verify(rules=True).ok


def test_a_writer_cannot_slip_an_orphan_in(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way round: the writer is decided first, and published after the merge."""
    drop(graph, "wip", "Ada")
    merging = threading.Thread(target=graph.merge, args=("wip",))
    publish = Publisher.publish
    held_back = threading.Event()

    def interrupted(self: Publisher, plan: Any, **how: Any) -> Any:  # noqa: ANN401
        if plan.merged is None and not held_back.is_set():
            held_back.set()
            merging.start()
            merging.join()
        return publish(self, plan, **how)

    monkeypatch.setattr(Publisher, "publish", interrupted)
    with pytest.raises(InvalidInput, match="not found"):
        join(graph, "main", "Meets", "Ada", "Cap", id="late")
    assert ids(graph, "Boat") == ["Bly", "Cap"]
    assert graph.verify(rules=True).ok


def test_a_target_that_never_rests_is_contention(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(graph, "wip", "Dot")
    numbers_seen = iter(range(100))
    runs = meanwhile(
        monkeypatch, lambda: put(graph, "main", "Eel", crew=next(numbers_seen)), times=99
    )
    with pytest.raises(PublishContention):
        graph.merge("wip")
    assert runs == [store_of(graph).publisher.retry_budget]
    assert "Dot" not in ids(graph, "Boat")


def test_nothing_stays_in_doubt_of_a_merge_that_was_given_up(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(graph, "wip", "Dot")
    publisher = store_of(graph).publisher

    def unclear(plan: PublishPlan, *, first: bool = False) -> None:
        publisher._in_doubt.add(plan.commit)
        raise HeadMoved(plan.base, "head")

    monkeypatch.setattr(publisher, "publish", unclear)
    with pytest.raises(PublishContention):
        graph.merge("wip")
    assert publisher._in_doubt == set()


def test_a_branch_that_goes_meanwhile(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    put(graph, "wip", "Dot")
    meanwhile(monkeypatch, lambda: graph.delete_branch("wip"))
    with pytest.raises(NotFound):
        graph.merge("wip", delete_source=True)
    assert "Dot" not in ids(graph, "Boat")


@pytest.mark.parametrize("big", [False, True])
def test_a_collection_in_between(graph: Graph, monkeypatch: pytest.MonkeyPatch, big: bool) -> None:
    if big:
        monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1)
        monkeypatch.setattr(spilled_rows, "MEMORY_BYTES", 1)
    put(graph, "wip", "Dot")
    put(graph, "wip", "Fin")
    put(graph, "main", "Eel")
    meanwhile(monkeypatch, graph.collect)
    assert graph.merge("wip").outcome == "merged"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel", "Fin"]
    graph.collect()
    assert graph.verify(rules=True).ok
    assert store_of(graph).publisher.view.rows("transaction") == []


def overwritten_on_both(graph: Graph) -> None:
    """Nothing of the base is among the files of either branch."""
    for branch in ("wip", "main"):
        for n in range(3):
            put(graph, branch, f"{branch}-{n}")
        with graph.transaction(branch) as txn:
            txn.overwrite("Boat", [{"name": n} for n in ("Ada", "Bly", "Cap", branch)])


def test_a_collection_keeps_what_merges_start_from(graph: Graph) -> None:
    graph.create_branch("other", "wip")
    put(graph, "other", "Oar")
    overwritten_on_both(graph)
    for _ in range(2):
        graph.collect(keep=1)
    start = graph.commits()[-1]
    with pytest.raises(Reclaimed):
        graph.snapshot(f"main@{start.id}")
    assert graph.merge("other").outcome == "merged"
    assert graph.merge("wip").outcome == "merged"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Oar", "main", "wip"]
    assert graph.verify(rules=True).ok


def test_a_base_is_kept_no_longer_than_both_branches_live(graph: Graph) -> None:
    overwritten_on_both(graph)
    graph.collect(keep=1)
    before = graph.collect(keep=1, dry_run=True).files
    graph.delete_branch("wip")
    freed = graph.collect(keep=1).tables["node:Boat"]
    assert (before, freed.files > 0) == (0, True)
    assert graph.verify(rules=True).ok


def test_a_base_whose_data_was_given_up_is_said_so(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Collections of earlier releases did not keep bases."""
    overwritten_on_both(graph)
    with monkeypatch.context() as patch:
        patch.setattr(collect, "needed_bases", lambda heads, commits: [])
        graph.collect(keep=1)
    assert graph.collect(keep=1).spared_transactions == 0
    with pytest.raises(Reclaimed):
        graph.merge("wip")
    with pytest.raises(Reclaimed):
        graph.merge("wip", plan_only=True)


# --------------------------------------------------------------------------- other shapes


def test_large_merges_go_through_files(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_buffer, "SPILL_BYTES", 1 << 16)
    monkeypatch.setattr(spilled_rows, "MEMORY_BYTES", 1 << 16)
    for branch, first in (("wip", 0), ("main", 10_000)):
        names = [f"{branch}{n:05}" for n in range(first, first + 10_000)]
        with graph.transaction(branch) as txn:
            txn.upsert("Boat", pa.table({"name": names, "crew": [1] * len(names)}))
            if branch == "wip":
                edges = {"from": names, "to": names[1:] + names[:1]}
                txn.upsert("Meets", pa.table(edges))
    drop(graph, "wip", "Ada")
    assert merged(graph).outcome == "merged"
    assert graph.snapshot().count("Boat") == 20_002
    assert graph.snapshot().count("Meets") == 10_001
    assert graph.verify(rules=True).ok


def test_criss_cross_and_both_directions(graph: Graph) -> None:
    put(graph, "wip", "Dot")
    put(graph, "main", "Eel")
    merged(graph)
    assert merged(graph, "main", "wip").outcome == "fast_forward"
    put(graph, "wip", "Dot", crew=3)
    put(graph, "main", "Eel", crew=4)
    assert merged(graph, "main", "wip").outcome == "merged"
    assert merged(graph).outcome == "fast_forward"
    assert contents(graph) == contents(graph, "wip")
    assert graph.verify(rules=True).ok


def test_a_branch_of_long_ago_does_not_move_the_base_of_another(graph: Graph) -> None:
    """What main and the source agree on is no change of both, by whatever way it got there."""
    graph.create_branch("old")
    put(graph, "old", "Dot")
    put(graph, "main", "Ada", crew=5)
    graph.create_branch("new")
    put(graph, "new", "Ada", crew=6)
    for name in ("Eel", "Fox", "Gull"):
        put(graph, "main", name)
    graph.merge("old")
    assert graph.merge("new").outcome == "merged"
    assert boat(graph, "Ada")["crew"] == 6
    assert graph.merge("old").outcome == "already_up_to_date"


def test_a_property_reverted_after_a_merge_stays_reverted(graph: Graph) -> None:
    put(graph, "wip", "Ada", crew=9)
    merged(graph)
    put(graph, "main", "Ada", crew=2)
    put(graph, "wip", "Cap", crew=1)
    merged(graph)
    assert (boat(graph, "Ada")["crew"], boat(graph, "Cap")["crew"]) == (2, 1)


def test_compaction_and_indexes_are_no_changes(graph: Graph) -> None:
    for n in range(20):
        put(graph, "main", f"b{n}")
    graph.delete_branch("wip")
    graph.create_branch("wip")
    put(graph, "wip", "Dot")
    graph.optimize("wip")
    graph.optimize("main")
    result = merged(graph)
    assert result.tables["node:Boat"].inserted == 1
    assert graph.verify(rules=True).ok


def test_an_edge_may_be_deleted_on_both_sides_in_different_ways(graph: Graph) -> None:
    part(graph, "wip", "Meets", "m1")
    drop(graph, "main", "Cap")
    assert merged(graph).outcome == "merged"
    assert (ids(graph, "Boat"), ids(graph, "Meets")) == (["Ada", "Bly"], [])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"source": "main"}, InvalidInput),
        ({"source": " main "}, InvalidInput),
        ({"source": "nowhere"}, NotFound),
        ({"source": "wip", "into": "nowhere"}, NotFound),
        ({"source": "a b"}, InvalidInput),
        ({"source": "wip", "on_conflict": "mine"}, InvalidInput),
        ({"source": "wip", "granularity": "row"}, InvalidInput),
    ],
)
@pytest.mark.parametrize("plan_only", [False, True])
def test_what_makes_no_sense_is_refused(
    graph: Graph, given: dict[str, Any], error: type[Exception], plan_only: bool
) -> None:
    with pytest.raises(error):
        graph.merge(**given, plan_only=plan_only)


def test_who_and_why_are_kept(graph: Graph) -> None:
    put(graph, "wip", "Dot")
    result = graph.merge("wip", actor="me", message="because")
    assert result.commit is not None
    assert (result.commit.actor, result.commit.message) == ("me", "because")
    assert graph.commits()[0].merged_parent == graph.commits("wip")[0].id
