"""Examples 25 to 29 and 34 of the language reference, B24 and B26 of its page on branches."""

from __future__ import annotations

import pytest

from omnigraph.errors import ConstraintViolation, InvalidInput, PreconditionFailed, QueryTypeError
from support.graphs import boats, contents, refused, rows

from .harness import affected, mutate, parcels, stations


def test_25_the_same_key_again_replaces_the_whole_node(root: str) -> None:
    graph = parcels(root)
    assert affected(mutate(graph, 'insert Parcel { tag: "C1", kg: 5 }')) == (1, 0)
    second = mutate(graph, 'insert Parcel { tag: "C1", owner: "ana" }')
    assert affected(second) == (1, 0)
    assert second.commit is not None
    assert rows(graph, "Parcel") == [{"id": "C1", "kg": None, "owner": "ana", "tag": "C1"}]


IN_AND_ENDS = """
insert In { from: "C2", to: "7" }  insert Bay { no: 7 }  insert Parcel { tag: "C2" }
"""


def test_26_an_edge_may_be_written_before_its_ends(root: str) -> None:
    graph = parcels(root)
    result = mutate(graph, IN_AND_ENDS)
    assert affected(result) == (2, 1)
    assert len(graph.commits()) == 2
    assert [(e["src"], e["dst"]) for e in rows(graph, "In")] == [("C2", "7")]
    second = refused(
        graph, ConstraintViolation, lambda: mutate(graph, 'insert In { from: "C2", to: "7" }')
    )
    assert second.notation == "card(In, C2: 2 > 1)"
    missing = refused(
        graph, ConstraintViolation, lambda: mutate(graph, 'insert In { from: "C2", to: "8" }')
    )
    assert missing.notation == "endpoint(In.dst = 8)"


def test_27_an_update_sees_the_one_before_it(root: str) -> None:
    graph = parcels(root)
    mutate(graph, IN_AND_ENDS)
    both = """
    update Parcel set { kg: 9 } where tag = "C2"
    update Parcel set { kg: 10 } where kg = 9
    """
    assert affected(mutate(graph, both)) == (2, 0)
    assert rows(graph, "Parcel")[0]["kg"] == 10
    error = refused(
        graph,
        InvalidInput,
        lambda: mutate(graph, 'update Parcel set { tag: "X" } where kg = 10'),
    )
    assert "key" in error.message
    before = graph.commits()
    nothing = mutate(graph, "update Parcel set { kg: 1 } where kg = 99")
    assert affected(nothing) == (0, 0)
    assert nothing.commit is None
    assert nothing.to_json()["commit"] is None
    assert graph.commits() == before


def test_28_overlapping_deletes_count_what_is_gone_once(root: str) -> None:
    graph = parcels(root)
    mutate(graph, IN_AND_ENDS)
    mutate(
        graph,
        """
        insert Parcel { tag: "C1" }  update Parcel set { kg: 10 } where tag = "C2"
        insert Touches { from: "C1", to: "C2" }  insert Touches { from: "C1", to: "C2" }
        insert Touches { from: "C2", to: "C2" }
        """,
    )
    result = mutate(graph, 'delete Parcel where tag = "C2"  delete Parcel where kg = 10')
    assert affected(result) == (1, 4)
    left = contents(graph)
    assert [p["id"] for p in left["node:Parcel"]] == ["C1"]
    assert left["edge:Touches"] == left["edge:In"] == []
    assert graph.verify(rules=True).ok


def test_29_inserts_and_deletes_do_not_mix(root: str) -> None:
    graph = parcels(root)
    mutate(graph, "insert Bay { no: 7 }")
    error = refused(
        graph,
        InvalidInput,
        lambda: mutate(graph, "insert Bay { no: 9 }  delete Bay where no = 7"),
    )
    assert "D2" in error.message


def test_34_a_parameter_outside_the_enum_fails_at_the_write(root: str) -> None:
    graph = stations(root)
    link = """query q($a: String, $b: String, $k: String) {
        insert Link { from: $a, to: $b, minutes: 4, kind: $k } }"""
    ends = {"a": "AMS", "b": "EEM"}
    error = refused(graph, ConstraintViolation, lambda: mutate(graph, link, {**ends, "k": "bus"}))
    assert error.notation == "enum(Link.kind = bus)"
    assert affected(mutate(graph, link, {**ends, "k": "walk"})) == (0, 1)
    with pytest.raises(QueryTypeError, match="T3"):
        mutate(graph, 'insert Link { from: "AMS", to: "EEM", minutes: 4, kind: "bus" }')


def test_b24_an_update_to_equal_values_is_a_commit(root: str) -> None:
    graph = boats(root)
    before = contents(graph)
    result = mutate(graph, 'update Boat set { crew: 2 } where name = "Ada"')
    assert affected(result) == (1, 0)
    assert result.commit is not None
    assert graph.commits()[0].id == result.commit.id
    assert contents(graph) == before


def test_b26_a_token_is_good_for_one_write(root: str) -> None:
    graph = boats(root)
    token = graph.create_branch("wip").commit
    change = 'update Boat set { crew: 4 } where name = "Ada"'
    first = mutate(graph, change, branch="wip", if_commit=token)
    assert first.commit is not None
    error = refused(
        graph,
        PreconditionFailed,
        lambda: mutate(graph, change, branch="wip", if_commit=token),
    )
    assert error.details["precondition_failed"] == {"expected": token, "actual": first.commit.id}
    assert rows(graph, "Boat")[0]["crew"] == 2
    assert rows(graph, "Boat", "wip")[0]["crew"] == 4
