"""The examples L1 to L21 of docs/design/loading.md#9-worked-examples, on a real graph."""

from __future__ import annotations

import datetime as dt
import io
import json
from typing import Any, get_args

import pytest

import omnigraph
from omnigraph.errors import (
    ConstraintViolation,
    InvalidInput,
    KeyConflict,
    LoadError,
    NotFound,
    ResourceLimit,
)
from omnigraph.loading import Limits
from omnigraph.loading.load import LoadMode
from support.graphs import GARDEN, STATE_A, contents, edge, garden, ids, ndjson, node, refused, rows

MODES: tuple[LoadMode, ...] = get_args(LoadMode)
P1: dict[str, Any] = {
    "id": "P1",
    "bed": None,
    "code": None,
    "height": 310.5,
    "labels": [],
    "latin": "Acer",
    "planted": dt.date(2024, 1, 1),
    "tag": "P1",
}


def plant(**data: Any) -> bytes:  # noqa: ANN401
    return ndjson(node("Plant", **{"tag": "P6", "latin": "Q"} | data))


def violated(graph: omnigraph.Graph, text: bytes, mode: LoadMode = "merge") -> str:
    """The notation of the violation that a load is refused with."""
    error = refused(graph, ConstraintViolation, lambda: graph.load(text, mode=mode))
    assert error.code == "bad_request"
    assert error.details["violation"]["kind"] == error.kind
    return error.notation


def wrong(graph: omnigraph.Graph, text: bytes, mode: LoadMode = "merge") -> dict[str, Any]:
    """The load_error record that a load is refused with."""
    error = refused(graph, LoadError, lambda: graph.load(text, mode=mode))
    assert error.code == "bad_request"
    record: dict[str, Any] = error.details["load_error"]
    return record


def conflict(graph: omnigraph.Graph, text: bytes, mode: LoadMode) -> dict[str, str]:
    error = refused(graph, KeyConflict, lambda: graph.load(text, mode=mode))
    record: dict[str, str] = error.details["key_conflict"]
    return record


def test_l1_state_a_loads_with_an_edge_first_and_its_name_in_lower_case(root: str) -> None:
    graph = omnigraph.init(root, GARDEN)
    genesis = graph.commits()[0].id
    result = graph.load(STATE_A.encode(), mode="overwrite", actor="ann")
    assert result.to_json() == {
        "branch": "main",
        "base_branch": None,
        "branch_created": False,
        "mode": "overwrite",
        "nodes": [{"name": "Plant", "entities": 2}, {"name": "Visit", "entities": 1}],
        "edges": [{"name": "Near", "entities": 1}],
        "total_entities": 4,
        "commit": {
            "graph_commit_id": graph.commits()[0].id,
            "parent_commit_id": genesis,
            "actor_id": "ann",
        },
    }
    assert graph.snapshot().get("Plant", "P1") == P1
    assert rows(graph, "Near") == [{"id": "n1", "src": "P1", "dst": "P2", "metres": 2.0}]
    assert rows(graph, "Visit") == [{"id": "v1", "note": "wet"}]


def test_l2_append_of_a_stored_id_conflicts_and_changes_nothing(root: str) -> None:
    graph = garden(root)
    found = conflict(graph, plant(tag="P1", latin="X"), "append")
    assert found == {"entity_kind": "node", "type_name": "Plant", "entity_id": "P1"}
    assert graph.snapshot().get("Plant", "P1") == P1


def test_l3_merge_replaces_an_entity_entirely(root: str) -> None:
    graph = garden(root)
    other = graph.snapshot().get("Plant", "P2")
    graph.load(plant(tag="P1", latin="Acer b"))
    replaced = dict.fromkeys(P1) | {"id": "P1", "tag": "P1", "latin": "Acer b"}
    assert graph.snapshot().get("Plant", "P1") == replaced
    assert graph.snapshot().get("Plant", "P2") == other


@pytest.mark.parametrize("mode", MODES)
def test_l4_one_key_twice_in_the_input_violates_in_every_mode(root: str, mode: LoadMode) -> None:
    graph = garden(root)
    twice = plant(tag="P9") + plant(tag="P9", latin="other")
    assert violated(graph, twice, mode) == "unique(Plant.tag = P9; P9, P9)"


@pytest.mark.parametrize("mode", MODES)
def test_l4_holds_for_a_key_that_is_stored_already(root: str, mode: LoadMode) -> None:
    graph = garden(root)
    twice = plant(tag="P1") + plant(tag="P1")
    assert violated(graph, twice, mode) == "unique(Plant.tag = P1; P1, P1)"


def test_l5_the_last_of_two_edges_of_one_id_wins_under_merge_only(root: str) -> None:
    graph = garden(root)
    twice = ndjson(edge("Near", "P1", "P1", id="n2"), edge("Near", "P2", "P1", id="n2"))
    record = {"entity_kind": "edge", "type_name": "Near", "entity_id": "n2"}
    assert conflict(graph, twice, "append") == record
    assert conflict(graph, twice, "overwrite") == record
    result = graph.load(twice)
    assert result.to_json()["edges"] == [{"name": "Near", "entities": 2}]
    stored = {"id": "n2", "src": "P2", "dst": "P1", "metres": None}
    assert graph.snapshot().get("Near", "n2") == stored
    assert ids(graph, "Near") == ["n1", "n2"]


def test_l6_an_edge_to_nobody_is_refused(root: str) -> None:
    graph = garden(root)
    text = ndjson(edge("Near", "P1", "P7"))
    assert violated(graph, text) == "endpoint(Near.dst = P7)"
    assert violated(graph, ndjson(edge("Near", "P7", "P1"))) == "endpoint(Near.src = P7)"
    error = refused(graph, ConstraintViolation, lambda: graph.load(text))
    assert "not found" in error.message
    facts = error.details["violation"]
    assert (facts["type"], facts["missing_id"], facts["expected_type"]) == ("Near", "P7", "Plant")
    assert facts["edge_id"]


def test_l7_overwrite_replaces_the_types_it_names_and_no_others(root: str) -> None:
    graph = garden(root)
    before = contents(graph)
    graph.load(ndjson(node("Visit", note="dry")), mode="overwrite")
    after = contents(graph)
    (visit,) = after.pop("node:Visit")
    assert visit["note"] == "dry" and len(visit["id"]) == 26 and visit["id"] != "v1"
    assert after == {k: v for k, v in before.items() if k != "node:Visit"}


def test_l8_overwriting_nodes_may_not_leave_an_edge_of_another_type_behind(root: str) -> None:
    graph = garden(root)
    text = plant(tag="P1", latin="Acer")
    assert violated(graph, text, "overwrite") == "endpoint(Near.dst = P2)"
    graph.load(text + ndjson(edge("Near", "P1", "P1")), mode="overwrite")
    (left,) = rows(graph, "Near")
    assert (left["src"], left["dst"]) == ("P1", "P1")
    assert ids(graph, "Plant") == ["P1"]


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"height": "tall"}, "value_type"),
        ({"height": 1e39}, "value_range"),
        ({"labels": ["a", None]}, "value_type"),
        ({"labels": "a"}, "value_type"),
        ({"planted": "2024-13-01"}, "value_range"),
        ({"latin": None}, "null_required"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_l9_wrong_values_are_refused(
    root: str, mode: LoadMode, member: dict[str, Any], reason: str
) -> None:
    graph = garden(root)
    record = wrong(graph, plant(tag="P7") + plant(**member), mode)
    (field,) = member
    assert record == {"code": reason, "line": 2, "type_name": "Plant", "field": field}


@pytest.mark.parametrize("mode", MODES)
def test_l9_a_value_outside_the_enum_is_refused(root: str, mode: LoadMode) -> None:
    graph = garden(root)
    assert violated(graph, plant(bed="east"), mode) == "enum(Plant.bed = east)"
    error = refused(graph, ConstraintViolation, lambda: graph.load(plant(bed="east"), mode=mode))
    assert error.details["violation"]["allowed"] == ["north", "south"]
    assert "invalid enum value" in error.message


def test_l10_a_day_is_a_text_or_a_number(root: str) -> None:
    graph = garden(root)
    graph.load(plant(tag="a", planted=19723) + plant(tag="b", planted="2024-01-01"))
    days = [graph.snapshot().get("Plant", tag) for tag in "ab"]
    assert [day and day["planted"] for day in days] == [dt.date(2024, 1, 1)] * 2


def test_l11_a_given_id_of_a_keyed_node_must_be_the_derived_one(root: str) -> None:
    graph = garden(root)
    assert wrong(graph, plant(id="p-1", tag="P5"))["code"] == "id_mismatch"
    assert wrong(graph, plant(id=5, tag="P5"))["code"] == "id_not_string"
    graph.load(plant(id="P5", tag="P5"))
    assert "P5" in ids(graph, "Plant")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"type":"Plant","edge":"Near"}', "envelope_kind"),
        ('{"data":{}}', "envelope_kind"),
        ('{"type":"Plant","data":{"tag":"P6","latin":"Q"},"branch":"x"}', "envelope_member"),
        ('{"edge":"Near","from":"P1"}', "envelope_member"),
        ('{"type":"Plant","data":{"tag":"P6","latin":"Q","nick":"z"}}', "unknown_field"),
        ('{"type":"Tree","data":{}}', "unknown_type"),
        ('{"edge":"Near","from":"P1","to":"P2","data":{"src":"P2"}}', "reserved_field"),
        ('{"type":"Plant","data":{"tag":"P6","latin":"Q","_rowid":1}}', "reserved_field"),
        ('{"type":"Plant","data":{"tag":"P6","tag":"P6","latin":"Q"}}', "duplicate_member"),
        ('{"type":"Plant","data":{"tag":"P6","latin":"Q"}', "invalid_json"),
        ("[]", "not_an_object"),
        ('{"type":"plant","data":{"tag":"P6","latin":"Q"}}', "unknown_type"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_l12_wrong_records_are_refused(root: str, mode: LoadMode, line: str, reason: str) -> None:
    graph = garden(root)
    record = wrong(graph, plant(tag="P7") + b"\n" + line.encode(), mode)
    assert (record["code"], record["line"]) == (reason, 3)


def test_l13_the_bounds_of_a_range_are_in_it(root: str) -> None:
    graph = garden(root)
    assert violated(graph, plant(height=900.5)) == "range(Plant.height = 900.5 > 900)"
    assert violated(graph, plant(height=-1)) == "range(Plant.height = -1 < 0)"
    graph.load(plant(tag="a", height=900) + plant(tag="b", height=0) + plant(tag="c"))
    error = refused(graph, ConstraintViolation, lambda: graph.load(plant(height=901)))
    assert "@range violation" in error.message
    assert error.details["violation"]["bound"] == 900


def test_l14_a_unique_value_is_held_once(root: str) -> None:
    graph = garden(root)
    text = plant(tag="P3", latin="Ilex", code="T9")
    assert violated(graph, text) == "unique(Plant.code = T9; P2, P3)"
    assert violated(graph, text, "append") == "unique(Plant.code = T9; P2, P3)"
    graph.load(plant(tag="P2", latin="Taxus", code="T9"))
    graph.load(plant(tag="P4") + plant(tag="P5"))
    assert violated(graph, plant(tag="x", code="c") + plant(tag="y", code="c")) == (
        "unique(Plant.code = c; x, y)"
    )


def test_l14_a_value_can_move_within_one_load(root: str) -> None:
    graph = garden(root)
    graph.load(plant(tag="P2", latin="Taxus") + plant(tag="P3", code="T9"))
    codes = {row["id"]: row["code"] for row in rows(graph, "Plant")}
    assert codes == {"P1": None, "P2": None, "P3": "T9"}


def test_l15_a_source_has_as_many_edges_as_its_cardinality_allows(root: str) -> None:
    graph = garden(root)
    seen = ndjson(edge("Seen", "P1", "v1"))
    assert violated(graph, seen * 3, "append") == "card(Seen, P1: 3 > 2)"
    graph.load(seen * 2, mode="append")
    assert violated(graph, seen, "append") == "card(Seen, P1: 3 > 2)"
    graph.load(ndjson(edge("Seen", "P2", "v1")), mode="append")


def test_l15_a_merged_edge_counts_once_at_its_new_source(root: str) -> None:
    graph = garden(root)
    graph.load(ndjson(*(edge("Seen", "P1", "v1", id=f"s{n}") for n in range(2))))
    graph.load(ndjson(edge("Seen", "P1", "v1", id="s1")))
    graph.load(ndjson(edge("Seen", "P2", "v1", id="s1"), edge("Seen", "P1", "v1", id="s2")))
    assert sorted(row["src"] for row in rows(graph, "Seen")) == ["P1", "P1", "P2"]


def test_l16_merging_an_edge_moves_it(root: str) -> None:
    graph = garden(root)
    graph.load(ndjson(edge("Near", "P2", "P1", id="n1")))
    assert rows(graph, "Near") == [{"id": "n1", "src": "P2", "dst": "P1", "metres": None}]


def test_l17_a_missing_branch_is_made_only_when_its_base_is_named(root: str) -> None:
    graph = garden(root)
    refused(graph, NotFound, lambda: graph.load(plant(), branch="draft"))
    before = contents(graph)
    result = graph.load(plant(), branch="draft", from_="main")
    assert (result.branch, result.base_branch, result.branch_created) == ("draft", "main", True)
    assert result.commit.branch == "draft"
    assert contents(graph) == before
    assert ids(graph, "Plant", "draft") == ["P1", "P2", "P6"]
    again = graph.load(plant(tag="P7"), branch="draft", from_="nowhere")
    assert (again.base_branch, again.branch_created) == (None, False)


def test_l17_the_fork_stays_when_the_load_then_fails(root: str) -> None:
    graph = garden(root)
    with pytest.raises(LoadError):
        graph.load(b"nonsense", branch="draft", from_="main")
    assert [branch.name for branch in graph.branches()] == ["draft", "main"]
    assert contents(graph, "draft") == contents(graph)
    refused(graph, NotFound, lambda: graph.load(plant(), branch="other", from_="nowhere"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", [b"", b"\n", b"  \r\n\t\n"])
def test_l18_an_empty_input_commits_and_changes_nothing(
    root: str, mode: LoadMode, text: bytes
) -> None:
    graph = garden(root)
    before, head = contents(graph), graph.commits()[0]
    result = graph.load(text, mode=mode)
    assert result.total_entities == 0
    assert graph.commits()[0].id == result.commit.id
    assert (result.commit.parent, result.commit.version) == (head.id, head.version + 1)
    assert result.commit.changed == ()
    assert contents(graph) == before


def test_l19_an_export_loads_and_exports_to_the_same_bytes(
    root: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    assert garden(root).export(first) == 4
    lines = first.getvalue().decode().splitlines()
    assert lines[0] == '{"edge":"Near","from":"P1","to":"P2","data":{"id":"n1","metres":2.0}}'
    assert lines[1] == (
        '{"type":"Plant","data":{"id":"P1","bed":null,"code":null,"height":310.5,"labels":[],'
        '"latin":"Acer","planted":19723,"tag":"P1"}}'
    )
    for mode in MODES:
        copy = omnigraph.init(tmp_path_factory.mktemp("copy") / "graph", GARDEN)
        copy.load(first.getvalue(), mode=mode)
        second = io.BytesIO()
        copy.export(second)
        assert second.getvalue() == first.getvalue()


def test_l20_overwriting_edges_alone_finds_the_stored_nodes(root: str) -> None:
    graph = garden(root)
    graph.load(ndjson(edge("Near", "P2", "P1")), mode="overwrite")
    (left,) = rows(graph, "Near")
    assert (left["src"], left["dst"]) == ("P2", "P1") and left["id"] != "n1"
    assert violated(graph, ndjson(edge("Near", "P2", "P9")), "overwrite") == (
        "endpoint(Near.dst = P9)"
    )


def test_l21_a_vector_has_its_dimension_and_only_numbers(root: str) -> None:
    graph = omnigraph.init(root, "node Word { text: String @key  vec: Vector(3)? }")
    for vector, reason in (([1, 2], "vector_dim"), ([1, None, 2], "vector_element")):
        record = wrong(graph, ndjson(node("Word", text="a", vec=vector)))
        assert record == {"code": reason, "line": 1, "type_name": "Word", "field": "vec"}
    graph.load(ndjson(node("Word", text="a", vec=[1, 2, 3]), node("Word", text="b")))
    assert [row["vec"] for row in rows(graph, "Word")] == [[1.0, 2.0, 3.0], None]


# --------------------------------------------------------------------------- beyond the examples


def test_records_without_an_id_are_new_every_time(root: str) -> None:
    graph = garden(root)
    for _ in range(2):
        graph.load(ndjson(node("Visit", note="dry"), edge("Near", "P1", "P2")))
    assert (graph.snapshot().count("Visit"), graph.snapshot().count("Near")) == (3, 3)


def test_a_keyless_node_of_one_id_twice_is_a_conflict_unless_merged(root: str) -> None:
    graph = garden(root)
    twice = ndjson(node("Visit", id="v2", note="a"), node("Visit", id="v2", note="b"))
    for mode in MODES[:2]:
        found = conflict(graph, twice, mode)
        assert found == {"entity_kind": "node", "type_name": "Visit", "entity_id": "v2"}
    graph.load(twice)
    assert rows(graph, "Visit") == [{"id": "v1", "note": "wet"}, {"id": "v2", "note": "b"}]


def test_nodes_and_their_edges_come_in_any_order_in_one_load(root: str) -> None:
    graph = garden(root)
    graph.load(ndjson(edge("near", "X", "Y")) + plant(tag="X") + plant(tag="Y"), mode="append")
    assert graph.snapshot().count("Near") == 2


def test_value_checks_come_before_uniqueness_endpoints_and_cardinality(root: str) -> None:
    graph = garden(root)
    too_many = ndjson(*(edge("Seen", "P1", "v1") for _ in range(3)))
    nowhere = ndjson(edge("Near", "P1", "P7"))
    taken = plant(tag="P3", code="T9")
    tall = plant(tag="P4", height=901)
    assert violated(graph, too_many + nowhere + taken + tall).startswith("range(")
    assert violated(graph, too_many + nowhere + taken).startswith("unique(")
    assert violated(graph, too_many + nowhere).startswith("endpoint(")
    assert violated(graph, too_many).startswith("card(")


def test_a_configured_ceiling_refuses_before_anything_is_written(root: str) -> None:
    graph = garden(root)
    long = plant(latin="x" * 2000)
    error = refused(graph, ResourceLimit, lambda: graph.load(long, limits=Limits(line_bytes=1000)))
    facts = error.details["resource_limit"]
    assert facts["limit"] == 1000 and facts["actual"] > 1000 and facts["resource"]


@pytest.mark.parametrize("mode", ["upsert", "", "MERGE", None])
def test_an_unknown_mode_is_refused(root: str, mode: Any) -> None:  # noqa: ANN401
    graph = garden(root)
    assert refused(graph, InvalidInput, lambda: graph.load(b"", mode=mode)).hint


def test_an_input_that_is_not_there_is_not_found(root: str) -> None:
    graph = garden(root)
    refused(graph, NotFound, lambda: graph.load("nowhere.jsonl"))
    refused(graph, InvalidInput, lambda: graph.load("."))
    refused(graph, InvalidInput, lambda: graph.load("some.parquet"))


def test_a_failed_load_does_not_affect_the_next(root: str) -> None:
    graph = garden(root)
    for text in (b"{", plant(height="x"), ndjson(edge("Near", "P1", "P7")), plant(code="T9")):
        with pytest.raises(InvalidInput):
            graph.load(text)
        graph.load(plant(tag=f"ok{len(ids(graph, 'Plant'))}"))
    assert graph.snapshot().count("Plant") == 6
    assert graph.verify(rules=True).ok


def test_many_small_loads_read_like_one(root: str) -> None:
    graph = omnigraph.init(root, GARDEN)
    for n in range(40):
        graph.load(plant(tag=f"P{n % 13}", latin=str(n), code=f"c{n % 13}"))
    latest = {f"P{n % 13}": str(n) for n in range(40)}
    assert {row["id"]: row["latin"] for row in rows(graph, "Plant")} == latest
    assert json.loads(json.dumps(graph.load(b"").to_json()))["total_entities"] == 0
    assert graph.verify(rules=True).ok
