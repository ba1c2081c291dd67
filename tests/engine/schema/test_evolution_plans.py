"""From the accepted schema to the desired one, step by step.

The rules are docs/design/schema-language.md#9-evolution.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from engine.schema.strategies import schemas
from omnigraph.errors import UnsupportedSchemaChange
from omnigraph.schema import (
    Catalog,
    SchemaPlan,
    compile_schema,
    fingerprint,
    plan_evolution,
)

Steps = list[dict[str, Any]]


def plan(before: str, after: str, *, allow_data_loss: bool = False) -> SchemaPlan:
    accepted = compile_schema(before)
    desired = compile_schema(after, accepted=accepted)
    return plan_evolution(accepted, desired, allow_data_loss=allow_data_loss)


def steps(before: str, after: str) -> Steps:
    return list(plan(before, after).to_json()["steps"])


def refusal(before: str, after: str) -> tuple[str | None, str]:
    """The code and the entity of the only unsupported step."""
    made = plan(before, after)
    assert made.to_json()["supported"] is False
    with pytest.raises(UnsupportedSchemaChange) as caught:
        made.raise_unsupported()
    change = caught.value.details["schema_change"]
    code, entity = change["code"], change["entity"]
    if code is not None:
        assert caught.value.message.startswith(f"[{code}] ")
    return code, entity


def on_property(kind: str, name: str, /, **more: object) -> dict[str, object]:
    head = {"kind": kind, "type_kind": "node", "type_name": "Ship", "property_name": name}
    return head | more


def constraint(kind: str, /, **body: object) -> dict[str, object]:
    return {"kind": kind, "type_kind": "node", "type_name": "Ship", "constraint": body}


# --------------------------------------------------------------------------- worked examples


def test_s5_renames_of_key_members() -> None:
    made = plan(
        "node Berth { quay: String  number: I32  @key(quay, number) }",
        'node Berth { pier: String @rename_from("quay")  aslot: I32 @rename_from("number")'
        "  @key(pier, aslot) }",
    )
    head = {"kind": "rename_property", "type_kind": "node", "type_name": "Berth"}
    assert made.to_json() == {
        "supported": True,
        "steps": [head | {"from": "number", "to": "aslot"}, head | {"from": "quay", "to": "pier"}],
    }


def test_s15_enums() -> None:
    before = "node Ship { status: enum(open, shut) }"
    assert steps(before, "node Ship { status: enum(shut, open) }") == []
    assert steps(before, "node Ship { status: enum(open, shut, hold) }") == [
        on_property("extend_enum", "status", added_values=["hold"])
    ]
    for narrowed in ("enum(open, closed)", "enum(open, shut, hold)?", "enum(open)", "String"):
        after = f"node Ship {{ status: {narrowed} }}"
        assert refusal(before, after) == ("OG-MF-106", "node:Ship.status")


def test_s16_new_properties() -> None:
    before = "node Ship { imo: String @key }"
    assert refusal(before, "node Ship { imo: String @key  flag: String }") == (
        "OG-MF-103",
        "node:Ship.flag",
    )
    assert steps(before, "node Ship { imo: String @key  flag: String? }") == [
        on_property("add_property", "flag", property_type="String?")
    ]
    assert steps(before, 'node Ship { imo: String @key  flag: String @default("NL") }') == [
        on_property("add_property", "flag", property_type="String")
    ]


def test_s17_drops() -> None:
    before, after = "node Ship { imo: String @key  tons: I32? }", "node Ship { imo: String @key }"
    assert steps(before, after) == [on_property("drop_property", "tons", mode="soft")]
    hard = plan(before, after, allow_data_loss=True).to_json()["steps"]
    assert hard == [on_property("drop_property", "tons", mode="hard")]
    assert steps("node Ship { imo: String @key  tons: I32? @index }", after) == [
        constraint("drop_constraint", kind="index", members=["tons"]),
        on_property("drop_property", "tons", mode="soft"),
    ]


def test_s18_a_type_is_renamed_once() -> None:
    text = 'node Vessel @rename_from("Ship") { imo: String @key }'
    accepted = compile_schema("node Ship { imo: String @key }")
    desired = compile_schema(text, accepted=accepted)
    renamed = plan_evolution(accepted, desired)
    assert renamed.to_json()["steps"] == [
        {"kind": "rename_type", "type_kind": "node", "from": "Ship", "to": "Vessel"}
    ]
    assert renamed.diagnostics == ()
    again = plan_evolution(desired, compile_schema(text, accepted=desired))
    assert again.is_empty
    assert again.diagnostics == (
        'node Vessel exists already, so its @rename_from("Ship") is ignored',
    )


# --------------------------------------------------------------------------- types


def test_types_come_and_go_by_kind() -> None:
    before = "interface Old {} node Gone {} node Kept {} edge Lost: Gone -> Kept"
    after = "interface New {} node Kept {} node Added {} edge Fresh: Kept -> Added"
    assert steps(before, after) == [
        {"kind": "drop_type", "type_kind": "interface", "name": "Old", "mode": "soft"},
        {"kind": "add_type", "type_kind": "interface", "name": "New"},
        {"kind": "drop_type", "type_kind": "node", "name": "Gone", "mode": "soft"},
        {"kind": "add_type", "type_kind": "node", "name": "Added"},
        {"kind": "drop_type", "type_kind": "edge", "name": "Lost", "mode": "soft"},
        {"kind": "add_type", "type_kind": "edge", "name": "Fresh"},
    ]


def test_drops_tell_what_would_be_lost() -> None:
    made = plan("node A { x: I32?  } node B {} edge E: A -> B", "node A {}")
    assert [getattr(step, "code", None) for step in made.steps] == [
        "OG-DS-102",
        "OG-DS-104",
        "OG-DS-103",
    ]


def test_allow_data_loss_makes_every_drop_hard() -> None:
    made = plan("node A { x: I32?  } node B {} edge E: A -> B", "node A {}", allow_data_loss=True)
    assert [step["mode"] for step in made.to_json()["steps"]] == ["hard"] * 3


def test_an_edge_may_follow_its_renamed_node() -> None:
    made = steps(
        "node Ship {} edge Sails: Ship -> Ship",
        'node Vessel @rename_from("Ship") {} edge Sails: Vessel -> Vessel',
    )
    assert [step["kind"] for step in made] == ["rename_type"]


def test_steps_use_the_new_names() -> None:
    before = "node Ship { a: enum(x)  b: I32? @unique  c: String? @index } "
    after = (
        'node Vessel @rename_from("Ship") { aa: enum(x, y) @rename_from("a")'
        '  bb: I64? @rename_from("b")  @range(bb, 0..9) }'
    )
    made = steps(before, after)
    assert [step["kind"] for step in made] == [
        "rename_type",
        "rename_property",
        "rename_property",
        "drop_constraint",
        "drop_constraint",
        "drop_property",
        "extend_enum",
        "widen_property",
        "add_constraint",
    ]
    assert {step["type_name"] for step in made[1:]} == {"Vessel"}
    assert made[3]["constraint"] == {"kind": "unique", "members": ["bb"]}
    assert made[4]["constraint"] == {"kind": "index", "members": ["c"]}
    assert made[6]["property_name"] == "aa"
    assert made[7] == {
        "kind": "widen_property",
        "type_kind": "node",
        "type_name": "Vessel",
        "property_name": "bb",
        "from": "I32?",
        "to": "I64?",
    }


# --------------------------------------------------------------------------- property types


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I32", "I64"),
        ("U32", "U64"),
        ("F32", "F64"),
        ("String", "String?"),
        ("[I32]", "[I32]?"),
        ("Vector(3)", "Vector(3)?"),
        ("enum(a)", "enum(a)?"),
        ("Blob", "Blob?"),
        ("I32", "I64?"),
        ("F32?", "F64?"),
    ],
)
def test_widenings(old: str, new: str) -> None:
    assert steps(f"node Ship {{ x: {old} }}", f"node Ship {{ x: {new} }}") == [
        on_property("widen_property", "x", **{"from": old, "to": new})
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I64", "I32"),
        ("I32", "U32"),
        ("U32", "I64"),
        ("I32", "F64"),
        ("String?", "String"),
        ("I32?", "I64"),
        ("I32", "[I32]"),
        ("[I32]", "[I64]"),
        ("[I32]", "I32"),
        ("String", "enum(a)"),
        ("enum(a)", "String"),
        ("Vector(3)", "Vector(4)"),
        ("Date", "DateTime"),
        ("enum(a, b)?", "enum(a)?"),
    ],
)
def test_other_type_changes_are_refused(old: str, new: str) -> None:
    before, after = f"node Ship {{ x: {old} }}", f"node Ship {{ x: {new} }}"
    assert refusal(before, after) == ("OG-MF-106", "node:Ship.x")


def test_a_key_may_widen_only_where_ids_stay() -> None:
    before, after = "node Ship {{ x: {} @key }}".format, "node Ship {{ x: {} @key }}".format
    assert steps(before("I32"), after("I64"))[0]["kind"] == "widen_property"
    assert refusal(before("F32"), after("F64")) == ("OG-MF-106", "node:Ship.x")
    assert steps(before("enum(a)"), after("enum(a, b)"))[0]["kind"] == "extend_enum"


# --------------------------------------------------------------------------- constraints


@pytest.mark.parametrize(
    ("written", "body"),
    [
        ("@index(a)", {"kind": "index", "members": ["a"]}),
        ("@unique(s, a)", {"kind": "unique", "members": ["a", "s"]}),
        ("@range(a, 0..9)", {"kind": "range", "property": "a", "lo": 0, "hi": 9}),
        ('@check(s, "x")', {"kind": "check", "property": "s", "pattern": "x"}),
    ],
)
def test_constraints_come_and_go(written: str, body: dict[str, object]) -> None:
    without, with_it = "node Ship { a: I32  s: String }", "node Ship { a: I32  s: String  %s }"
    assert steps(without, with_it % written) == [constraint("add_constraint", **body)]
    assert steps(with_it % written, without) == [constraint("drop_constraint", **body)]


def test_a_changed_range_is_dropped_and_added() -> None:
    made = steps("node Ship { a: I32 @range(a, 0..9) }", "node Ship { a: I32 @range(a, 0..8) }")
    assert [step["kind"] for step in made] == ["drop_constraint", "add_constraint"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node A { x: I32 @unique }", "node A { x: I32  @unique(x) }"),
        ("node A { x: I32 @key }", "node A { x: I32  @key(x) }"),
        ("node A { x: I32 @key }", "node A { x: I32 @key @index }"),
        ("node A { x: I32  y: I32  @key(x, y) }", "node A { x: I32  y: I32  @key(y, x) }"),
        ("node A { x: I32  y: I32 @index(x, y) }", "node A { @index(y, x) y: I32, x: I32 }"),
        ("node A { x: F64 @range(x, 0..9) }", "node A { x: F64 @range(x, 0.0..9.0) }"),
        ("node A {} edge E: A -> A", "node A {} edge E: A -> A @card(0..) {}"),
        (
            "interface I { s: String @key } node A implements I {}",
            "interface I { s: String @key } node A implements I { s: String @key }",
        ),
    ],
)
def test_other_spellings_are_no_change(before: str, after: str) -> None:
    assert steps(before, after) == []
    assert fingerprint(compile_schema(before)) == fingerprint(compile_schema(after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("node A { x: I32 }", "node A { x: I32 @key }"),
        ("node A { x: I32 @key }", "node A { x: I32 }"),
        ("node A { x: I32 @key  y: I32 }", "node A { x: I32  y: I32 @key }"),
        ("node A { x: I32 @key  y: I32 }", "node A { x: I32  y: I32  @key(x, y) }"),
    ],
)
def test_a_key_never_changes(before: str, after: str) -> None:
    made = plan(before, after)
    assert [step.kind for step in made.steps] == ["unsupported_change"]
    assert refusal(before, after) == (None, "node:A")


# --------------------------------------------------------------------------- edges and embeddings


@pytest.mark.parametrize(
    ("old", "new", "loosened"),
    [
        ("0..1", "0..2", True),
        ("1..1", "0..", True),
        ("2..5", "1..5", True),
        ("0..1", "1..2", False),
        ("0..", "0..9", False),
        ("0..2", "0..1", False),
    ],
)
def test_cardinality_may_loosen(old: str, new: str, loosened: bool) -> None:
    edge = "node A {{}} edge E: A -> A @card({})".format
    if loosened:
        assert steps(edge(old), edge(new)) == [
            {
                "kind": "change_cardinality",
                "type_kind": "edge",
                "type_name": "E",
                "from": f"@card({old})",
                "to": f"@card({new})",
            }
        ]
    else:
        assert refusal(edge(old), edge(new)) == (None, "edge:E")


def test_endpoints_never_change() -> None:
    nodes = "node A {} node B {} "
    assert refusal(nodes + "edge E: A -> B", nodes + "edge E: B -> A") == (None, "edge:E")


def test_embed_never_changes() -> None:
    node = "node A {{ s: String  t: String  v: Vector(2) {} }}".format
    for before, after in (("", "@embed(s)"), ("@embed(s)", "@embed(t)"), ("@embed(s)", "")):
        assert refusal(node(before), node(after)) == (None, "node:A.v")
    changed = node('@embed(s, model="m")')
    assert refusal(node("@embed(s)"), changed) == (None, "node:A.v")
    renamed = 'node A { z: String @rename_from("s")  t: String  v: Vector(2) @embed(z) }'
    assert [s["kind"] for s in steps(node("@embed(s)"), renamed)] == ["rename_property"]


# --------------------------------------------------------------------------- interfaces, metadata


def test_an_interface_change_reaches_its_nodes() -> None:
    before = "interface T { slug: String } node A implements T {}"
    after = "interface T { slug: String  note: String? } node A implements T {}"
    assert [(s["kind"], s["type_kind"]) for s in steps(before, after)] == [
        ("add_property", "interface"),
        ("add_property", "node"),
    ]


def test_a_required_interface_property_is_refused_at_the_node() -> None:
    before = "interface T {} node A implements T {}"
    after = "interface T { note: String } node A implements T {}"
    assert refusal(before, after) == ("OG-MF-103", "node:A.note")


def test_an_interface_in_use_cannot_go() -> None:
    before = "interface T { s: String } node A implements T {}"
    assert refusal(before, "node A { s: String }") == (None, "interface:T")
    loose = "interface T { s: String } node A { s: String }"
    assert [s["kind"] for s in steps(before, loose)] == ["update_type_metadata"]
    assert [s["kind"] for s in steps(loose, "node A { s: String }")] == ["drop_type"]


def test_metadata() -> None:
    before = 'node Ship @description("a") { x: I32 @unit("m") }'
    after = 'node Ship @description("b") @instruction("i") { x: I32 @unit("ft") @description("d") }'
    assert steps(before, after) == [
        {
            "kind": "update_type_metadata",
            "type_kind": "node",
            "name": "Ship",
            "changed": ["description", "instruction"],
        },
        on_property("update_property_metadata", "x", changed=["description", "annotations"]),
    ]


def test_the_first_unsupported_step_is_the_error() -> None:
    made = plan("node A { x: I32 } node B { y: I32 }", "node A { x: Date } node B { y: Date }")
    with pytest.raises(UnsupportedSchemaChange, match=r"^\[OG-MF-106\] A\.x cannot change"):
        made.raise_unsupported()
    body = made.to_json()["steps"][0]
    assert set(body) == {"kind", "entity", "reason", "code"}


def test_a_supported_plan_raises_nothing() -> None:
    plan("node A {}", "node A { x: I32? }").raise_unsupported()


def test_the_same_name_with_another_identity_is_dropped_and_added() -> None:
    accepted = compile_schema("node A { x: I32? }")
    without = compile_schema("node A {}", accepted=accepted)
    desired = compile_schema("node A { x: I32? }", accepted=without)
    kinds = [step.kind for step in plan_evolution(accepted, desired).steps]
    assert kinds == ["drop_property", "add_property"]


# --------------------------------------------------------------------------- always


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_a_schema_is_no_change_to_itself(text: str) -> None:
    catalog = compile_schema(text)
    made = plan_evolution(catalog, catalog)
    assert made.is_empty
    assert made.supported


@settings(max_examples=80, deadline=None)
@given(schemas(), schemas())
def test_an_empty_plan_means_an_equal_fingerprint(before: str, after: str) -> None:
    accepted = compile_schema(before)
    desired = compile_schema(after, accepted=accepted)
    made = plan_evolution(accepted, desired)
    assert made.is_empty == (fingerprint(accepted) == fingerprint(desired))


@settings(max_examples=40, deadline=None)
@given(schemas())
def test_a_first_schema_only_adds_types(text: str) -> None:
    made = plan_evolution(Catalog(), compile_schema(text))
    assert {step.kind for step in made.steps} <= {"add_type"}
