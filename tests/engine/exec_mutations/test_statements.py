"""What inserts, updates and deletes do beyond the examples of the reference."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import (
    ConstraintViolation,
    InvalidInput,
    LoadError,
    NotFound,
    ReadSetConflict,
    ResourceLimit,
)
from omnigraph.exec.mutate.run_mutation import run_mutation
from omnigraph.query import compile_query
from support.graphs import boats, contents, ids, ndjson, node, refused, rows

from .harness import affected, mutate, parcels, stations, store_of

THINGS = """
node Thing { key: String @key  i: I32?  u: U32?  big: I64?  f: F32?  d: F64?  b: Bool?
             day: Date?  at: DateTime?  tags: [String]?  nums: [F64]?  v: Vector(2)?  raw: Blob? }
node Loose { note: String? }
edge Holds: Thing -> Loose { since: DateTime?  n: I32? }
"""


@pytest.fixture
def things(root: str) -> omnigraph.Graph:
    return omnigraph.init(root, THINGS)


def thing(graph: omnigraph.Graph) -> dict[str, Any]:
    return rows(graph, "Thing")[0]


# --------------------------------------------------------------------------- values


def test_every_type_is_stored_as_it_was_given(things: omnigraph.Graph) -> None:
    mutate(
        things,
        """query q($raw: String) { insert Thing {
        key: "a", i: -2, u: 7, big: 9007199254740993, f: 0.5, d: 3, b: true,
        day: date("2024-02-29"), at: datetime("2024-01-01T01:00:00+01:00"),
        tags: ["x", ""], nums: [1, 2.5], v: [1, 2], raw: $raw } }""",
        {"raw": "base64:aGk="},
    )
    found = thing(things)
    assert found.pop("day").isoformat() == "2024-02-29"
    assert found == {
        "id": "a",
        "key": "a",
        "i": -2,
        "u": 7,
        "big": 2**53 + 1,
        "f": 0.5,
        "d": 3.0,
        "b": True,
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "tags": ["x", ""],
        "nums": [1.0, 2.5],
        "v": [1.0, 2.0],
        "raw": b"hi",
    }
    mutate(things, 'update Thing set { tags: [], v: [0.5, 0.5] } where key = "a"')
    assert (thing(things)["tags"], thing(things)["v"]) == ([], [0.5, 0.5])
    assert thing(things)["raw"] == b"hi"


@pytest.mark.parametrize(
    ("assignment", "code"),
    [
        ("i: 2147483648", "value_range"),
        ("u: -1", "value_range"),
        ("i: 2.0", "value_type"),
        ("big: 1.5", "value_type"),
        ("f: 1" + "0" * 39 + ".0", "value_range"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(
    things: omnigraph.Graph, assignment: str, code: str
) -> None:
    insert = f'insert Thing {{ key: "a", {assignment} }}'
    error = refused(things, LoadError, lambda: mutate(things, insert))
    assert error.reason == code
    mutate(things, 'insert Thing { key: "a" }')
    update = f'update Thing set {{ {assignment} }} where key = "a"'
    assert refused(things, LoadError, lambda: mutate(things, update)).reason == code


def test_a_null_parameter_sets_null_where_that_is_allowed(root: str) -> None:
    graph = stations(root)
    update = "query q($p: I32?, $n: String?) { update Station set { platforms: $p, name: $n } "
    update += 'where code = "AMS" }'
    mutate(graph, update, {"n": "Amstel"})
    assert rows(graph, "Station")[0]["platforms"] is None
    error = refused(graph, LoadError, lambda: mutate(graph, update, {"p": 1}))
    assert error.reason == "null_required"


def test_now_is_one_instant(things: omnigraph.Graph) -> None:
    mutate(things, 'insert Thing { key: "a" }  insert Loose { note: "x" }')
    start = datetime.now(UTC)
    mutate(
        things,
        'insert Thing { key: "b", at: now() }  update Thing set { at: now() } where key = "a"',
    )
    first, second = (row["at"] for row in rows(things, "Thing"))
    assert first == second
    assert start - timedelta(seconds=1) <= first <= datetime.now(UTC)
    assert affected(mutate(things, "delete Thing where at < now()")) == (2, 0)


# --------------------------------------------------------------------------- inserts


def test_a_node_without_a_key_is_new_every_time(things: omnigraph.Graph) -> None:
    assert affected(mutate(things, 'insert Loose { note: "x" }  insert Loose { note: "x" }')) == (
        2,
        0,
    )
    found = ids(things, "Loose")
    assert len(set(found)) == 2
    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", id_) for id_ in found)


def test_the_last_insert_of_a_key_wins_and_each_counts(root: str) -> None:
    graph = parcels(root)
    result = mutate(graph, 'insert Parcel { tag: "A", kg: 1 }  insert Parcel { tag: "A" }')
    assert affected(result) == (2, 0)
    assert rows(graph, "Parcel") == [{"id": "A", "kg": None, "owner": None, "tag": "A"}]


def test_a_unique_value_that_was_freed_can_be_taken(root: str) -> None:
    graph = parcels(root)
    mutate(graph, 'insert Parcel { tag: "A", owner: "ana" }  insert Parcel { tag: "B" }')
    swap = """query q($none: String?) {
        update Parcel set { owner: $none } where tag = "A"
        update Parcel set { owner: "ana" } where tag = "B" }"""
    mutate(graph, swap)
    assert [row["owner"] for row in rows(graph, "Parcel")] == [None, "ana"]
    error = refused(
        graph,
        ConstraintViolation,
        lambda: mutate(graph, 'insert Parcel { tag: "C", owner: "ana" }'),
    )
    assert error.notation == "unique(Parcel.owner = ana; B, C)"


def test_an_update_that_gives_two_nodes_one_unique_value_is_refused(root: str) -> None:
    graph = parcels(root)
    mutate(graph, 'insert Parcel { tag: "A", kg: 1 }  insert Parcel { tag: "B", kg: 1 }')
    update = 'update Parcel set { owner: "ana" } where kg = 1'
    assert refused(graph, ConstraintViolation, lambda: mutate(graph, update)).kind == "unique"


def test_statements_see_what_came_before_them(root: str) -> None:
    graph = parcels(root)
    result = mutate(
        graph,
        """
        insert Parcel { tag: "A", kg: 1 }
        update Parcel set { kg: 2 } where kg = 1
        insert Parcel { tag: "A", kg: 1, owner: "ana" }
        update Parcel set { kg: 3 } where kg = 1
        update Parcel set { kg: 4 } where owner = "ana"
        """,
    )
    assert affected(result) == (5, 0)
    assert rows(graph, "Parcel") == [{"id": "A", "kg": 4, "owner": "ana", "tag": "A"}]
    assert graph.snapshot().version == 2


# --------------------------------------------------------------------------- updates and deletes


def test_an_update_writes_only_what_it_matched(root: str) -> None:
    graph = omnigraph.init(root, "node P { k: I32 @key  n: I32  s: String? }")
    graph.load(ndjson(*(node("P", k=k, n=k % 7, s="x" * 50) for k in range(20_000))))
    before = _data_bytes(root)
    assert affected(mutate(graph, "update P set { n: 9 } where k = 77")) == (1, 0)
    assert _data_bytes(root) - before < 5000
    assert affected(mutate(graph, "update P set { n: 8 } where n = 9")) == (1, 0)
    assert affected(mutate(graph, 'update P set { s: "y" } where n >= 3')) == (
        sum(k % 7 >= 3 or k == 77 for k in range(20_000)),
        0,
    )


def _data_bytes(root: str) -> int:
    if "://" in root:
        pytest.skip("counts files of a local graph")
    return sum(f.stat().st_size for f in Path(root).glob("nodes/*/data/*"))


def test_deletes_overlap_safely_over_nulls(root: str) -> None:
    """A predicate that is unknown for a row must not hide it from another statement."""
    graph = omnigraph.init(
        root, "node Person { name: String @key  age: I32? } edge Knows: Person -> Person"
    )
    mutate(
        graph,
        """
        insert Person { name: "Charlie", age: 35 }  insert Person { name: "Zoe" }
        insert Person { name: "Bo", age: 20 }
        insert Knows { from: "Zoe", to: "Charlie" }  insert Knows { from: "Zoe", to: "Bo" }
        """,
    )
    both = 'delete Person where age > 30  delete Person where name = "Zoe"'
    assert affected(mutate(graph, both)) == (2, 2)
    assert ids(graph, "Person") == ["Bo"]
    assert ids(graph, "Knows") == []


def test_edges_go_by_end_or_property_and_count_once(root: str) -> None:
    graph = stations(root)
    result = mutate(
        graph,
        """
        delete Link where from = "AMS"  delete Link where to = "BRU"
        delete Link where minutes >= 12  delete Link where kind != "walk"
        """,
    )
    assert affected(result) == (0, 4)
    assert ids(graph, "Link") == ["l5", "l6"]
    both = 'delete Link where minutes < 3  delete Station where code = "DOM"'
    assert affected(mutate(graph, both)) == (1, 2)


def test_a_delete_cascades_over_every_edge_type_and_both_ends(root: str) -> None:
    graph = boats(root)
    mutate(
        graph,
        """
        insert Tows { from: "Ada", to: "Bly" }  insert Tows { from: "Bly", to: "Ada" }
        insert Meets { from: "Bly", to: "Bly" }  insert Meets { from: "Ada", to: "Cap" }
        """,
    )
    assert affected(mutate(graph, 'delete Boat where name = "Bly"')) == (1, 4)
    left = contents(graph)
    assert left["edge:Tows"] == []
    assert [(e["src"], e["dst"]) for e in left["edge:Meets"]] == [("Ada", "Cap")]


def test_a_minimum_holds_for_sources_that_stay(root: str) -> None:
    """Example S21 of the schema language."""
    graph = omnigraph.init(
        root,
        "node Ship { imo: String @key } node Quay { no: I32 @key } "
        "edge Docks: Ship -> Quay @card(1..1)",
    )
    mutate(graph, 'insert Ship { imo: "S" }')
    mutate(graph, 'insert Quay { no: 1 }  insert Docks { from: "S", to: "1" }')
    error = refused(
        graph, ConstraintViolation, lambda: mutate(graph, 'delete Docks where from = "S"')
    )
    assert error.notation == "card(Docks, S: 0 < 1)"
    error = refused(graph, ConstraintViolation, lambda: mutate(graph, "delete Quay where no = 1"))
    assert error.notation == "card(Docks, S: 0 < 1)"
    assert affected(mutate(graph, 'delete Ship where imo = "S"')) == (1, 1)


def test_a_null_parameter_in_where_matches_nothing(root: str) -> None:
    graph = stations(root)
    head = graph.commits()[0].id
    for operator in ("=", "!=", "<", ">="):
        text = f"query q($p: I32?) {{ delete Station where platforms {operator} $p }}"
        result = mutate(graph, text)
        assert (affected(result), result.commit) == ((0, 0), None)
    assert graph.commits()[0].id == head


# --------------------------------------------------------------------------- refusals


def test_a_read_is_no_mutation(root: str) -> None:
    graph = stations(root)
    read = "query q() { match { $s: Station } return { $s } }"
    refused(graph, InvalidInput, lambda: mutate(graph, read))


def test_a_snapshot_cannot_be_written(root: str) -> None:
    graph = stations(root)
    head = graph.commits()[0].id
    delete = compile_query('query q() { delete Station where code = "AMS" }', _catalog(graph))
    for target in (head, f"main@{head}", "main@v1"):
        with pytest.raises(InvalidInput, match="past state"):
            run_mutation(store_of(graph), delete, branch=target)
    with pytest.raises(NotFound):
        run_mutation(store_of(graph), delete, branch="nowhere")


def test_parameters_are_checked_before_anything_happens(root: str) -> None:
    graph = stations(root)
    text = "query q($c: String) { delete Station where code = $c }"
    for params in ({}, {"c": None}, {"c": 5}):
        refused(graph, InvalidInput, partial(mutate, graph, text, params))


@pytest.mark.parametrize("token", ["*", '"01ARZ3NDEKTSV4RRFFQ69G5FAV"', 'W/"x"', "", "main"])
def test_only_a_plain_commit_id_is_a_token(root: str, token: str) -> None:
    graph = boats(root)
    change = 'update Boat set { crew: 4 } where name = "Ada"'
    error = refused(graph, InvalidInput, lambda: mutate(graph, change, if_commit=token))
    assert error.code == "bad_request"


def test_a_no_op_with_a_good_token_succeeds(root: str) -> None:
    graph = boats(root)
    head = graph.commits()[0].id
    result = mutate(graph, "update Boat set { crew: 1 } where crew = 99", if_commit=head)
    assert (affected(result), result.commit) == ((0, 0), None)


def test_a_query_compiled_for_another_schema_is_refused(root: str) -> None:
    graph = omnigraph.init(root, "node P { k: String @key  n: I32? }")
    update = compile_query("query q() { update P set { n: 1 } where n = 2 }", _catalog(graph))
    graph.apply_schema("node P { k: String @key  n: I64? }")
    with pytest.raises(ReadSetConflict, match="schema"):
        run_mutation(store_of(graph), update)
    graph.apply_schema("node P { k: String @key }")
    with pytest.raises(ReadSetConflict, match="schema"):
        run_mutation(store_of(graph), update)


def test_a_configured_ceiling_is_enforced_before_any_effect(root: str) -> None:
    graph = stations(root)
    for text in (
        "update Station set { platforms: 1 } where platforms > 0",
        'delete Station where code = "CAN"',
        'insert Operator { code: "A" }  insert Operator { code: "B" }  insert Operator '
        '{ code: "C" }  insert Operator { code: "D" }',
    ):
        error = refused(graph, ResourceLimit, partial(mutate, graph, text, max_affected=3))
        assert error.code == "resource_limit"
    assert affected(mutate(graph, 'delete Station where code = "CAN"', max_affected=5)) == (1, 4)


def test_the_envelope(root: str) -> None:
    graph = boats(root)
    result = mutate(graph, 'delete Boat where name = "Bly"', actor="ana", message="why")
    body = result.to_json()
    commit = body.pop("commit")
    assert body == {
        "query_name": "q",
        "target": {"branch": "main", "snapshot": None},
        "affected_nodes": 1,
        "affected_edges": 1,
    }
    assert commit["graph_commit_id"] == graph.commits()[0].id
    assert (commit["actor_id"], commit["message"]) == ("ana", "why")


def _catalog(graph: omnigraph.Graph) -> Any:  # noqa: ANN401
    return graph.schema().catalog
