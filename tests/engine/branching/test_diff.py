"""A diff says what became of every entity between two moments.

The rules are docs/design/branching.md#4-diff.
"""

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import omnigraph
from engine.branching.recorded import Copy, History, Values, histories
from omnigraph import Graph
from omnigraph.branching.compare.snapshot_diff import DiffEntry
from omnigraph.errors import InvalidInput, NotFound, Reclaimed
from omnigraph.schema import Catalog
from omnigraph.storage.manifest.definitions import define
from support.graphs import BOATS, boats


@pytest.fixture
def graph(root: str) -> Graph:
    return boats(root)


def shown(graph: Graph, from_: str, to: str = "main", **wanted: Any) -> list[tuple[str, ...]]:  # noqa: ANN401
    return [(e.op, e.type_name, e.id) for e in graph.diff(from_, to, **wanted)]


def one(graph: Graph, from_: str, to: str = "main") -> DiffEntry:
    (entry,) = graph.diff(from_, to)
    return entry


# --------------------------------------------------------------------------- examples


def test_b22_inserts_of_both_branches(graph: Graph) -> None:
    start = graph.snapshot().commit
    graph.create_branch("wip")
    for branch, row in {"wip": {"name": "Dot", "crew": 1}, "main": {"name": "Eel"}}.items():
        with graph.transaction(branch) as txn:
            txn.insert("Boat", [row])
    assert graph.merge("wip").outcome == "merged"
    assert shown(graph, start) == [("insert", "Boat", "Dot"), ("insert", "Boat", "Eel")]
    stats = graph.diff(start, "main").stats()
    assert (stats.inserts, stats.updates, stats.deletes, stats.types) == (2, 0, 0, ("Boat",))
    assert shown(graph, "wip") == [("insert", "Boat", "Eel")]
    assert shown(graph, "main", "wip") == [("delete", "Boat", "Eel")]


def test_a_node_takes_its_edges_along_as_entries_of_their_own(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.delete("Boat", ["Bly"])
    node, edge = graph.diff(start, "main")
    assert node.to_json() == {
        "kind": "node",
        "type_name": "Boat",
        "id": "Bly",
        "op": "delete",
        "before": {"properties": {"name": "Bly", "crew": 3, "flag": None, "reg": None}},
    }
    assert edge.to_json() == {
        "kind": "edge",
        "type_name": "Meets",
        "id": "m1",
        "op": "delete",
        "endpoints": {"src": "Bly", "dst": "Cap"},
        "before": {"properties": {}, "endpoints": {"from": "Bly", "to": "Cap"}},
    }


def test_endpoints_are_those_after_and_images_have_both(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.upsert("Meets", [{"id": "m1", "src": "Bly", "dst": "Ada"}])
    entry = one(graph, start)
    assert entry.op == "update"
    assert entry.endpoints == {"src": "Bly", "dst": "Ada"}
    assert entry.before == {"properties": {}, "endpoints": {"from": "Bly", "to": "Cap"}}
    assert entry.after == {"properties": {}, "endpoints": {"from": "Bly", "to": "Ada"}}


def test_what_was_undone_is_no_difference(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.delete("Boat", ["Ada"])
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Ada", "crew": 2}])
    assert shown(graph, start) == []
    assert graph.diff(start, "main").stats().types == ()


def test_upkeep_and_equal_rewrites_are_no_difference(graph: Graph) -> None:
    start = graph.snapshot().commit
    for _ in range(10):
        with graph.transaction() as txn:
            txn.upsert("Boat", [{"name": "Ada", "crew": 2}])
    graph.optimize()
    assert shown(graph, start) == []


def test_null_is_not_empty(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Cap", "flag": ""}])
    entry = one(graph, start)
    assert entry.before is not None and entry.before["properties"]["flag"] == "NL"
    assert entry.after is not None and entry.after["properties"]["flag"] == ""
    assert shown(graph, "main@v3", "main@v3") == []


def test_blobs_are_compared_by_content(root: str) -> None:
    graph = omnigraph.init(root, "node Photo { name: String @key  body: Blob? }")

    def put(**bodies: bytes | None) -> str:
        rows = {
            "name": pa.array(list(bodies), pa.string()),
            "body": pa.array(list(bodies.values()), pa.large_binary()),
        }
        with graph.transaction() as txn:
            txn.upsert("Photo", pa.table(rows))
        return graph.snapshot().commit

    start = put(a=b"x" * 100_000, b=b"small", c=None, d=b"")
    put(a=b"x" * 100_000, b=b"small!", c=None, d=None)
    assert shown(graph, start) == [("update", "Photo", "b"), ("update", "Photo", "d")]
    changed = list(graph.diff(start, "main"))
    assert [e.after and e.after["properties"]["body"] for e in changed] == [
        "base64:c21hbGwh",
        None,
    ]


def test_filters_hold_together(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Dot"}, {"name": "Ada", "crew": 9}])
        txn.delete("Boat", ["Cap"])
    everything = shown(graph, start)
    assert len(everything) == 4
    assert shown(graph, start, kinds=["edge"]) == [("delete", "Meets", "m1")]
    assert shown(graph, start, types=["meets"]) == [("delete", "Meets", "m1")]
    assert shown(graph, start, types=["edge:Meets", "Tows"]) == [("delete", "Meets", "m1")]
    assert shown(graph, start, types=["node:Boat"], ops=["delete", "update"]) == [
        ("update", "Boat", "Ada"),
        ("delete", "Boat", "Cap"),
    ]
    assert shown(graph, start, kinds=["edge"], ops=["insert"]) == []
    assert graph.diff(start, "main", ops=["insert"]).stats().to_json() == {
        "inserts": 1,
        "updates": 0,
        "deletes": 0,
        "types": ["Boat"],
    }


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"kinds": ["nodes"]}, InvalidInput),
        ({"ops": ["upsert"]}, InvalidInput),
        ({"ops": []}, InvalidInput),
        ({"types": ["Bota"]}, NotFound),
        ({"types": ["edge:Boat"]}, NotFound),
    ],
)
def test_a_filter_that_can_match_nothing_is_refused(
    graph: Graph, wanted: dict[str, list[str]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        graph.diff("main", "main", **wanted)


def test_a_rename_is_no_difference_and_old_moments_carry_todays_names(graph: Graph) -> None:
    start = graph.snapshot().commit
    renamed = (
        BOATS.replace("node Boat", 'node Ship @rename_from("Boat")')
        .replace("Boat", "Ship")
        .replace('@rename_from("Ship")', '@rename_from("Boat")')
        .replace("crew: I32?", 'sailors: I32? @rename_from("crew")')
    )
    graph.apply_schema(renamed)
    assert shown(graph, start) == []
    with graph.transaction() as txn:
        txn.upsert("Ship", [{"name": "Ada", "sailors": 3}])
    entry = one(graph, start)
    assert entry.type_name == "Ship"
    assert entry.before is not None and entry.before["properties"]["sailors"] == 2
    assert shown(graph, start, types=["Boat"]) == shown(graph, start, types=["Ship"])
    assert len(shown(graph, "main@v1", start, types=["Ship"])) == 3


def test_a_property_that_comes_or_goes_counts_as_null_where_it_is_not(graph: Graph) -> None:
    start = graph.snapshot().commit
    graph.apply_schema(BOATS.replace("flag: String?", "length: F64?"))
    assert shown(graph, start) == [("update", "Boat", "Cap")]
    entry = one(graph, start)
    assert entry.before is not None and entry.before["properties"]["flag"] == "NL"
    assert "length" not in entry.before["properties"]
    assert entry.after is not None and "flag" not in entry.after["properties"]
    graph.apply_schema(BOATS)
    assert shown(graph, start) == [("update", "Boat", "Cap")]
    again = one(graph, start).before
    assert again is not None
    gone = [name for name in again["properties"] if name.startswith("flag@")]
    assert [again["properties"][name] for name in gone] == ["NL"]


def test_a_widened_property_compares_after_the_cast(graph: Graph) -> None:
    start = graph.snapshot().commit
    graph.apply_schema(BOATS.replace("crew: I32?", "crew: I64?"))
    assert shown(graph, start) == []
    assert shown(graph, "main", start) == []


def test_a_type_dropped_and_added_again_is_all_deletes_and_all_inserts(graph: Graph) -> None:
    start = graph.snapshot().commit
    without = "\n".join(line for line in BOATS.splitlines() if "Meets" not in line)
    graph.apply_schema(without)
    assert shown(graph, start) == [("delete", "Meets", "m1")]
    graph.apply_schema(BOATS)
    with graph.transaction() as txn:
        txn.upsert("Meets", [{"id": "m1", "src": "Bly", "dst": "Cap"}])
    assert shown(graph, start) == [("delete", "Meets", "m1"), ("insert", "Meets", "m1")]
    assert shown(graph, start, types=["Meets"]) == shown(graph, start)


def test_a_moment_that_was_collected_is_said_to_be(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.upsert("Boat", [{"name": "Dot"}])
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        graph.diff(start, "main")


def test_a_difference_that_is_collected_meanwhile_is_said_to_be(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.overwrite("Meets", [{"id": "m2", "src": "Ada", "dst": "Bly"}])
    found = graph.diff(start, "main")
    graph.collect(keep=1)
    with pytest.raises(Reclaimed):
        list(found)


def test_the_stream_of_batches_and_the_entries_say_the_same(graph: Graph) -> None:
    found = graph.diff("main@v1", "main")
    read = found.reader().read_all()
    assert read.column("id").to_pylist() == [entry.id for entry in found]
    assert read.column("op").to_pylist() == ["insert"] * 4
    assert read.column("after").to_pylist()[3] == (
        '{"properties":{},"endpoints":{"from":"Bly","to":"Cap"}}'
    )
    assert read.column("before").null_count == 4


# --------------------------------------------------------------------------- plain tables, views

NUMBERS = pa.schema([("n", pa.int64()), ("x", pa.float64())])


def test_plain_tables_change_as_a_whole(graph: Graph) -> None:
    start = graph.snapshot().commit
    with graph.transaction() as txn:
        txn.create_table("shop.numbers", NUMBERS)
        txn.append("shop.numbers", [{"n": n, "x": math.nan} for n in range(10)])
    made = graph.snapshot().commit
    assert [e.to_json() for e in graph.diff(start, made)] == [
        {"kind": "table", "type_name": "shop.numbers", "id": "shop.numbers", "op": "insert"}
    ]
    with graph.transaction() as txn:
        txn.append("shop.numbers", [{"n": 10}])
        txn.upsert("Boat", [{"name": "Dot"}])
    assert shown(graph, made) == [
        ("insert", "Boat", "Dot"),
        ("update", "shop.numbers", "shop.numbers"),
    ]
    assert graph.diff(made, "main").stats().types == ("Boat", "shop.numbers")
    assert shown(graph, made, kinds=["node"]) == [("insert", "Boat", "Dot")]
    assert shown(graph, made, types=["table:shop.numbers"], ops=["delete"]) == []
    with graph.transaction() as txn:
        txn.drop_table("shop.numbers")
    assert shown(graph, made, kinds=["table"])[0][0] == "delete"


def test_a_plain_table_that_was_compacted_did_not_change(graph: Graph) -> None:
    with graph.transaction() as txn:
        txn.create_table("shop.numbers", NUMBERS)
    for n in range(4):
        with graph.transaction() as txn:
            txn.append("shop.numbers", [{"n": n, "x": math.nan}])
    start = graph.snapshot()
    assert "table:shop.numbers" in graph.optimize().tables
    assert graph.snapshot().commit != start.commit
    assert shown(graph, start.commit) == []


def test_a_view_changes_as_a_whole(graph: Graph) -> None:
    seen = [graph.snapshot().commit]
    for text in ("SELECT 1", "SELECT 2", None):
        with graph.transaction() as txn:
            if text is None:
                txn.plain.undefine("view", "shop.v")
            else:
                txn.plain.define(define("view", "shop.v", {"sql": text}))
        seen.append(graph.snapshot().commit)
    ops = [shown(graph, *pair) for pair in zip(seen, seen[1:], strict=False)]
    assert ops == [[(op, "shop.v", "shop.v")] for op in ("insert", "update", "delete")]


# --------------------------------------------------------------------------- any history


def exact(value: Any) -> object:  # noqa: ANN401
    return struct.pack("<d", value) if isinstance(value, float) else value


def expected(before: Copy, after: Copy, today: Catalog) -> list[dict[str, Any]]:
    """The difference of two copies, by comparing dictionaries."""
    found: list[tuple[Any, dict[str, Any]]] = []
    for identity in before.tables.keys() | after.tables.keys():
        old, new = before.tables.get(identity, {}), after.tables.get(identity, {})
        declared = [c.by_identity(identity) for c in (today, after.catalog, before.catalog)]
        names: dict[int, str] = {}
        for type_ in declared:
            taken = set(names.values())
            for p in type_.properties if type_ else ():
                free = p.name if p.name not in taken else f"{p.name}@{p.identity}"
                names.setdefault(p.identity, free)
        shown_as = next(type_ for type_ in declared if type_)
        for id_ in old.keys() | new.keys():
            states = (old.get(id_), new.get(id_))
            if not differ(*states):
                continue
            images = [None if s is None else image(s, names) for s in states]
            op = "insert" if states[0] is None else "delete" if states[1] is None else "update"
            entry = {"type_name": shown_as.name, "id": id_, "op": op}
            order = (shown_as.kind != "node", identity, id_.encode())
            found.append((order, entry | {"before": images[0], "after": images[1]}))
    return [entry for _, entry in sorted(found, key=lambda each: each[0])]


def differ(old: Values | None, new: Values | None) -> bool:
    if old is None or new is None:
        return True
    return any(exact(old.get(k)) != exact(new.get(k)) for k in old.keys() | new.keys())


def image(values: Values, names: Mapping[int, str]) -> dict[str, Any]:
    properties = {names[k]: v for k, v in values.items() if isinstance(k, int)}
    body: dict[str, Any] = {"properties": properties}
    if "src" in values:
        body["endpoints"] = {"from": values["src"], "to": values["dst"]}
    return body


@settings(max_examples=25)
@given(steps=histories)
def test_any_two_moments_of_any_history_differ_as_their_copies_do(
    steps: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(f"{folder}/graph")
        for step in steps:
            history.apply(step)
        graph = history.graph
        moments = [history.copies[0], *history.copies[-3:], history.copies[len(steps) // 2]]
        for before in moments:
            for after in moments:
                found = graph.diff(before.commit, f"{after.branch}@{after.commit}")
                today = graph.schema(after.branch).catalog
                entries = [
                    {k: getattr(e, k) for k in ("type_name", "id", "op", "before", "after")}
                    for e in found
                ]
                assert entries == expected(before, after, today)
                counts = found.stats()
                assert counts.inserts + counts.updates + counts.deletes == len(entries)
