"""Schema changes on tables with rows: what stays, what goes, what is refused.

The rules are docs/design/schema-language.md#9-evolution.

Every graph here carries a Blob, a Vector and lists along, so that no step may lose them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import (
    CatalogError,
    ConstraintViolation,
    LoadError,
    NotFound,
    ParseError,
    Reclaimed,
    SchemaIdentityError,
    UnsupportedSchemaChange,
)
from support.graphs import contents, edge, ids, ndjson, node, refused, rows, state

CARGO = "blob: Blob?  vec: Vector(2)?  tags: [String]?  days: [Date]?"
SHIP = f"node Ship {{ imo: String @key  tons: I32?  flag: String?  {CARGO} }}"
PORT = "node Port { name: String @key }"
CALLS = "edge Calls: Ship -> Port { fee: F32? }"
SCHEMA = f"{SHIP} {PORT} {CALLS}"

LOADED: dict[str, Any] = {
    "blob": "base64:AAEC",
    "vec": [0.5, -1],
    "tags": ["a, b", ""],
    "days": [0],
}
STORED: dict[str, Any] = {
    "blob": b"\x00\x01\x02",
    "vec": [0.5, -1.0],
    "tags": ["a, b", ""],
    "days": [dt.date(1970, 1, 1)],
}
NOTHING: dict[str, Any] = dict.fromkeys(STORED)
FULL = {"id": "a", "imo": "a", "tons": 5, "flag": "NL", **STORED}
EMPTY = {"id": "b", "imo": "b", "tons": None, "flag": None, **NOTHING}


def harbour(root: str, schema: str = SCHEMA) -> omnigraph.Graph:
    """Two ships, one with everything and one with nothing, a port, a call; and a branch."""
    graph = omnigraph.init(root, schema)
    graph.load(
        ndjson(
            node("Ship", imo="a", tons=5, flag="NL", **LOADED),
            node("Ship", imo="b"),
            node("Port", name="p"),
            edge("Calls", "a", "p", id="c", fee=1.5),
        )
    )
    graph.create_branch("draft")
    return graph


def kinds(graph: omnigraph.Graph, schema: str, **options: Any) -> list[str]:  # noqa: ANN401
    """Apply a schema to main; the kinds of its steps. Draft stays as it is, and all is well."""
    before = state(graph)["draft"]
    applied = graph.apply_schema(schema, **options)
    assert applied.applied and applied.commit is not None
    assert applied.commit == graph.commits()[0]
    assert state(graph)["draft"] == before
    for reader in (graph, omnigraph.open(graph.uri)):
        assert reader.verify(rules=True).ok
    assert not graph.apply_schema(schema).applied
    return [step.kind for step in applied.plan.steps]


def changed(**values: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The two ships with properties set to (value of a, value of b), or dropped with `...`."""
    found = []
    for at, row in enumerate((FULL, EMPTY)):
        new = dict(row)
        for name, pair in values.items():
            if pair is ...:
                del new[name]
            else:
                new[name] = pair[at]
        found.append(new)
    return found


def test_a_new_nullable_property_is_null_on_existing_rows(root: str) -> None:
    graph = harbour(root)
    steps = kinds(
        graph, SCHEMA.replace("tons:", "yard: String?  extra: Blob?  v3: Vector(3)?  tons:")
    )
    assert steps == ["add_property"] * 3
    assert rows(graph, "Ship") == changed(yard=(None, None), extra=(None, None), v3=(None, None))
    graph.load(ndjson(node("Ship", imo="c", yard="y", v3=[1, 2, 3], extra="base64:")))
    found = graph.snapshot().get("Ship", "c")
    assert found is not None
    assert (found["yard"], found["v3"], found["extra"]) == ("y", [1.0, 2.0, 3.0], b"")


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ('String @default("NL")', "NL"),
        ("I64 @default(7)", 7),
        ("U32 @default(7)", 7),
        ("F64 @default(1.5)", 1.5),
        ("F32 @default(2)", 2.0),
        ("Bool @default(true)", True),
        ('enum(x, y) @default("y")', "y"),
    ],
)
def test_a_new_required_property_takes_its_default_on_existing_rows(
    root: str, declared: str, value: object
) -> None:
    graph = harbour(root)
    assert kinds(graph, SCHEMA.replace("tons:", f"new: {declared}  tons:")) == ["add_property"]
    assert rows(graph, "Ship") == changed(new=(value, value))
    refused(graph, LoadError, lambda: graph.load(ndjson(node("Ship", imo="c"))))


def test_a_renamed_type_keeps_its_rows_ids_and_edges(root: str) -> None:
    graph = harbour(root)
    before = rows(graph, "Ship")
    renamed = SCHEMA.replace("node Ship", 'node Vessel @rename_from("Ship")')
    renamed = renamed.replace("Ship -> Port", "Vessel -> Port")
    assert "rename_type" in kinds(graph, renamed)
    assert rows(graph, "Vessel") == rows(graph, "Vessel", "main@v2") == before
    assert [row["src"] for row in rows(graph, "Calls")] == ["a"]
    graph.load(ndjson(node("Vessel", imo="z"), edge("Calls", "z", "p", id="d")))
    with graph.transaction() as t:
        t.delete("Vessel", ["a"])
    assert (ids(graph, "Vessel"), ids(graph, "Calls")) == (["b", "z"], ["d"])
    assert ids(graph, "Ship", "draft") == ["a", "b"]


def test_a_name_that_was_freed_by_a_rename_can_be_used_anew(root: str) -> None:
    graph = harbour(root)
    renamed = 'edge Visits: Ship -> Port @rename_from("Calls")'
    kinds(graph, SCHEMA.replace("edge Calls: Ship -> Port", renamed))
    kinds(graph, f"{SHIP} {PORT} edge Visits: Ship -> Port {{ fee: F32? }} {CALLS}")
    assert (ids(graph, "Visits"), ids(graph, "Calls")) == (["c"], [])
    graph.load(ndjson(edge("Calls", "b", "p", id="new")))
    assert (ids(graph, "Visits"), ids(graph, "Calls")) == (["c"], ["new"])
    graph.collect(keep=1)
    reader = omnigraph.open(root)
    assert (ids(reader, "Visits"), ids(reader, "Calls")) == (["c"], ["new"])
    assert reader.verify(rules=True).ok


def test_a_renamed_property_keeps_its_values(root: str) -> None:
    graph = harbour(root)
    renamed = SCHEMA.replace("tons: I32?", 'aaa: I32? @rename_from("tons")')
    renamed = renamed.replace("blob: Blob?", 'zzz: Blob? @rename_from("blob")')
    renamed = renamed.replace("vec: Vector(2)?", 'arr: Vector(2)? @rename_from("vec")')
    assert kinds(graph, renamed) == ["rename_property"] * 3
    expected = changed(
        aaa=(5, None),
        tons=...,
        zzz=(STORED["blob"], None),
        blob=...,
        arr=([0.5, -1.0], None),
        vec=...,
    )
    assert rows(graph, "Ship") == expected
    assert rows(graph, "Ship", "main@v2") == expected


def test_s5_renaming_key_members_keeps_ids_and_the_order_of_the_key(root: str) -> None:
    graph = omnigraph.init(root, "node Berth { quay: String  number: I32  @key(quay, number) }")
    graph.load(ndjson(node("Berth", quay="West", number=4)))
    assert ids(graph, "Berth") == ['["4","West"]']
    desired = (
        'node Berth { pier: String @rename_from("quay")  aslot: I32 @rename_from("number") '
        "@key(pier, aslot) }"
    )
    applied = graph.apply_schema(desired)
    assert [s.kind for s in applied.plan.steps] == ["rename_property", "rename_property"]
    graph.load(ndjson(node("Berth", pier="East", aslot=9)))
    assert [(row["id"], row["pier"], row["aslot"]) for row in rows(graph, "Berth")] == [
        ('["4","West"]', "West", 4),
        ('["9","East"]', "East", 9),
    ]
    graph.load(ndjson(node("Berth", pier="West", aslot=4)))
    assert graph.snapshot().count("Berth") == 2


def test_s15_an_enum_takes_more_values_and_no_fewer(root: str) -> None:
    graph = omnigraph.init(root, "node Gate { n: String @key  status: enum(open, shut) }")
    graph.load(ndjson(node("Gate", n="g", status="open")))

    def gate(status: str) -> str:
        return f"node Gate {{ n: String @key  status: {status} }}"

    assert not graph.apply_schema(gate("enum(shut, open)")).applied
    hold = ndjson(node("Gate", n="h", status="hold"))
    error = refused(graph, ConstraintViolation, lambda: graph.load(hold))
    assert error.notation == "enum(Gate.status = hold)"
    for status in ("enum(open, closed)", "enum(open, shut, hold)?", "enum(open)", "String"):
        wrong = refused(
            graph,
            UnsupportedSchemaChange,
            lambda status=status: graph.apply_schema(gate(status)),  # type: ignore[misc]
        )
        assert wrong.message.startswith("[OG-MF-106]")
    applied = graph.apply_schema(gate("enum(open, shut, hold)"))
    assert [s.to_json()["added_values"] for s in applied.plan.steps] == [["hold"]]
    graph.load(hold)
    assert [row["status"] for row in rows(graph, "Gate")] == ["open", "hold"]


def test_s16_a_required_property_needs_a_default(root: str) -> None:
    graph = omnigraph.init(root, "node Ship { imo: String @key }")
    graph.load(ndjson(node("Ship", imo="a")))
    error = refused(
        graph,
        UnsupportedSchemaChange,
        lambda: graph.apply_schema("node Ship { imo: String @key  flag: String }"),
    )
    assert error.message.startswith("[OG-MF-103]")
    graph.create_branch("two")
    graph.apply_schema("node Ship { imo: String @key  flag: String? }")
    graph.apply_schema('node Ship { imo: String @key  flag: String @default("NL") }', branch="two")
    assert [row["flag"] for row in rows(graph, "Ship") + rows(graph, "Ship", "two")] == [None, "NL"]


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [("I32", "I64", -(2**31)), ("U32", "U64", 2**32 - 1), ("F32", "F64", 0.5)],
)
def test_a_number_widens_and_takes_what_did_not_fit(
    root: str, before: str, after: str, value: float
) -> None:
    schema = SCHEMA.replace("tons: I32?", f"tons: {before}  wide: {before}?  key2: {before}")
    graph = omnigraph.init(root, schema)
    graph.load(ndjson(*(node("Ship", imo=i, tons=value, key2=1, **LOADED) for i in "ab")))
    graph.create_branch("draft")
    widened = schema.replace(f"tons: {before}", f"tons: {after}?")
    widened = widened.replace(f"wide: {before}?", f"wide: {after}?")
    widened = widened.replace(f"key2: {before}", f"key2: {before}?")
    assert kinds(graph, widened) == ["widen_property"] * 3
    assert [(r["tons"], r["wide"], r["key2"]) for r in rows(graph, "Ship")] == [
        (value, None, 1)
    ] * 2
    big = {"I64": 2**62, "U64": 2**63, "F64": 1e300}[after]
    graph.load(ndjson(node("Ship", imo="c", wide=big)))
    found = graph.snapshot().get("Ship", "c")
    assert found is not None and (found["wide"], found["tons"], found["key2"]) == (big, None, None)
    past = graph.snapshot("main@v2").scan("Ship", ["tons"]).read_all()
    assert past.column("tons").to_pylist() == [value, value]
    assert past.schema.field("tons").type == graph.snapshot().schema("Ship").field("tons").type


@pytest.mark.parametrize(
    "change",
    [
        ("tons: I32?", "tons: I32"),
        ("tons: I32?", "tons: String?"),
        ("tons: I32?", "tons: F64?"),
        ("tons: I32?", "tons: [I32]?"),
        ("flag: String?", "flag: enum(NL)?"),
        ("vec: Vector(2)?", "vec: Vector(3)?"),
        ("imo: String @key", "imo: String"),
        ("flag: String?", "flag: String? @unique  @key(flag)"),
        ("Ship -> Port", "Port -> Ship"),
        ("edge Calls: Ship -> Port", "edge Calls: Ship -> Port @card(0..1)"),
    ],
)
def test_an_unsupported_change_changes_nothing(root: str, change: tuple[str, str]) -> None:
    graph = harbour(root)
    desired = SCHEMA.replace(*change)
    assert desired != SCHEMA
    refused(graph, (UnsupportedSchemaChange, ParseError), lambda: graph.apply_schema(desired))


@pytest.mark.parametrize(
    ("rule", "good", "bad", "notation"),
    [
        ("@unique(flag)", {"flag": "x"}, {"flag": "NL"}, "unique(Ship.flag = NL; a, c)"),
        (
            "@unique(flag, tons)",
            {"flag": "NL", "tons": 6},
            {"flag": "NL", "tons": 5},
            "unique(Ship.(flag,tons) = (NL,5); a, c)",
        ),
        ("@range(tons, 0..9)", {"tons": 9}, {"tons": 10}, "range(Ship.tons = 10 > 9)"),
        ('@check(flag, "^[A-Z]+$")', {"flag": "BE"}, {"flag": "be"}, "check(Ship.flag = be)"),
    ],
)
def test_a_new_constraint_holds_for_rows_that_are_there_and_rows_that_come(
    root: str, rule: str, good: dict[str, Any], bad: dict[str, Any], notation: str
) -> None:
    graph = harbour(root)
    desired = SCHEMA.replace("tons:", f"{rule}  tons:")
    offender = ndjson(node("Ship", imo="c", **bad))
    graph.load(offender)
    error = refused(graph, ConstraintViolation, lambda: graph.apply_schema(desired))
    assert error.kind == notation.partition("(")[0]
    graph.load(ndjson(node("Ship", imo="c", **good)))
    assert kinds(graph, desired) == ["add_constraint"]
    assert refused(graph, ConstraintViolation, lambda: graph.load(offender)).notation == notation
    assert kinds(graph, SCHEMA) == ["drop_constraint"]
    graph.load(offender)
    assert ids(graph, "Ship") == ["a", "b", "c"]


def test_indexes_come_and_go_without_touching_data(root: str) -> None:
    graph = harbour(root)
    indexed = SCHEMA.replace("tons: I32?", "tons: I32? @index")
    indexed = indexed.replace("flag: String?", "flag: String? @index")
    before = contents(graph)
    assert kinds(graph, indexed) == ["add_constraint", "add_constraint"]
    assert graph.optimize().commit is not None
    assert graph.snapshot().scan("Ship", ["id"], "tons = 5").read_all().num_rows == 1
    assert kinds(graph, SCHEMA) == ["drop_constraint", "drop_constraint"]
    assert contents(graph) == before
    graph.optimize()
    assert contents(graph) == before
    assert graph.verify(rules=True).ok


def test_s17_a_soft_drop_hides_a_property_and_the_past_keeps_it(root: str) -> None:
    graph = harbour(root)
    desired = SCHEMA.replace("tons: I32?", "").replace("blob: Blob?", "")
    assert kinds(graph, desired) == ["drop_property"] * 2
    assert rows(graph, "Ship") == changed(tons=..., blob=...)
    assert rows(graph, "Ship", "main@v2", ["id", "tons", "blob"]) == [
        {"id": "a", "tons": 5, "blob": STORED["blob"]},
        {"id": "b", "tons": None, "blob": None},
    ]
    graph.collect()
    assert rows(graph, "Ship", "main@v2", ["tons"])[0] == {"tons": 5}
    refused(graph, LoadError, lambda: graph.load(ndjson(node("Ship", imo="c", tons=1))))


def test_s17_a_hard_drop_purges_the_past_of_that_branch_only(root: str) -> None:
    graph = harbour(root)
    desired = SCHEMA.replace("tons: I32?", "")
    assert kinds(graph, desired, allow_data_loss=True) == ["drop_property"]
    for reader in (graph, omnigraph.open(root)):
        assert rows(reader, "Ship") == changed(tons=...)
        with pytest.raises(Reclaimed):
            rows(reader, "Ship", "main@v2")
        assert ids(reader, "Port", "main@v2") == ["p"]
        assert rows(reader, "Ship", "draft") == [FULL, EMPTY]
        assert rows(reader, "Ship", "draft@v2") == [FULL, EMPTY]
    graph.delete_branch("draft")
    graph.collect()
    assert graph.verify(rules=True).ok


def test_an_indexed_property_goes_with_its_index(root: str) -> None:
    graph = harbour(root, SCHEMA.replace("tons: I32?", "tons: I32? @index"))
    graph.optimize()
    assert kinds(graph, SCHEMA.replace("tons: I32?", "")) == ["drop_constraint", "drop_property"]
    assert rows(graph, "Ship") == changed(tons=...)
    graph.optimize()
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("hard", [False, True])
def test_a_type_is_dropped_together_with_its_edges(root: str, hard: bool) -> None:
    graph = harbour(root)
    refused(graph, CatalogError, lambda: graph.apply_schema(f"{SHIP} {CALLS}"))
    assert kinds(graph, SHIP, allow_data_loss=hard) == ["drop_type", "drop_type"]
    assert list(contents(graph)) == ["node:Ship"]
    for name, found in (("Port", ["p"]), ("Calls", ["c"])):
        with pytest.raises(NotFound):
            ids(graph, name)
        if hard:
            with pytest.raises(Reclaimed):
                ids(graph, name, "main@v2")
        else:
            assert ids(graph, name, "main@v2") == found
        assert ids(graph, name, "draft") == found
    assert rows(graph, "Ship", "main@v2") == [FULL, EMPTY]
    kinds(graph, SCHEMA)
    assert ids(graph, "Port") == ids(graph, "Calls") == []
    graph.load(ndjson(node("Port", name="q"), edge("Calls", "a", "q", id="d")))
    assert (ids(graph, "Port"), ids(graph, "Calls")) == (["q"], ["d"])
    assert graph.verify(rules=True).ok


def test_s18_applying_a_rename_again_does_nothing(root: str) -> None:
    graph = omnigraph.init(root, "node Ship { imo: String @key }")
    graph.load(ndjson(node("Ship", imo="a")))
    desired = 'node Vessel @rename_from("Ship") { imo: String @key }'
    assert [s.kind for s in graph.apply_schema(desired).plan.steps] == ["rename_type"]
    assert not graph.apply_schema(desired).applied
    assert ids(graph, "Vessel") == ["a"]
    wrong = 'node Vessel { imo: String @key } node Boat @rename_from("Sihp") { imo: String @key }'
    refused(graph, SchemaIdentityError, lambda: graph.apply_schema(wrong))


def test_s20_a_schema_belongs_to_the_branch_it_was_applied_to(root: str) -> None:
    graph = omnigraph.init(root, "node Ship { imo: String @key }")
    graph.load(ndjson(node("Ship", imo="a")))
    main = graph.commits()
    graph.create_branch("draft")
    applied = graph.apply_schema("node Ship { imo: String @key  tons: I32? }", branch="draft")
    assert applied.commit is not None and applied.commit.branch == "draft"
    assert graph.commits() == main
    assert graph.commits("draft") == [applied.commit, *main]
    assert rows(graph, "Ship", "draft") == [{"id": "a", "imo": "a", "tons": None}]
    assert rows(graph, "Ship") == [{"id": "a", "imo": "a"}]
    tons = ndjson(node("Ship", imo="b", tons=1))
    graph.load(tons, branch="draft")
    refused(graph, LoadError, lambda: graph.load(tons))
    assert "tons" in graph.schema("draft").source and "tons" not in graph.schema().source


def test_identities_are_never_given_out_twice_on_two_branches(root: str) -> None:
    graph = omnigraph.init(root, PORT)
    graph.create_branch("draft")
    graph.apply_schema(f"{PORT} node A {{ a: String }}")
    graph.apply_schema(f"{PORT} node B {{ b: String }}", branch="draft")
    graph.apply_schema(f"{PORT} node A {{ a: String }} node B {{ b: String }}")
    identities = [
        {t.name: t.identity for t in graph.schema(name).catalog.types()}
        for name in ("main", "draft")
    ]
    assert identities[0]["Port"] == identities[1]["Port"]
    assert identities[0]["B"] != identities[1]["B"]
    assert len({identities[0]["A"], identities[0]["B"], identities[1]["B"]}) == 3
    graph.load(ndjson(node("B", b="1")))
    graph.load(ndjson(node("B", b="2")), branch="draft")
    assert [row["b"] for row in rows(graph, "B") + rows(graph, "B", "draft")] == ["1", "2"]
    assert graph.verify(rules=True).ok


def test_several_kinds_of_steps_are_one_commit(root: str) -> None:
    graph = harbour(root)
    desired = (
        f'node Vessel @rename_from("Ship") {{ imo: String @key  mass: I64? @rename_from("tons") '
        f"{CARGO}  built: Date?  crew: U32 @default(3)  @range(crew, 1..) }} "
        f"{PORT} node Yard {{ name: String @key }} edge Calls: Vessel -> Port {{ fee: F64? }}"
    )
    before = len(graph.commits())
    assert {"rename_type", "rename_property", "widen_property", "drop_property"} <= set(
        kinds(graph, desired)
    )
    assert len(graph.commits()) == before + 1
    expected = [{**row, "mass": row["tons"], "built": None, "crew": 3} for row in (FULL, EMPTY)]
    for row in expected:
        del row["tons"], row["flag"]
    assert rows(graph, "Vessel") == expected
    assert rows(graph, "Calls") == [{"id": "c", "src": "a", "dst": "p", "fee": 1.5}]


def test_a_change_that_fails_on_data_leaves_the_other_changes_out_too(root: str) -> None:
    graph = harbour(root)
    desired = SCHEMA.replace("flag: String?", "flag: String?  more: I32?  @range(tons, 6..)")
    error = refused(graph, ConstraintViolation, lambda: graph.apply_schema(desired))
    assert error.notation == "range(Ship.tons = 5 < 6)"
    assert graph.verify(rules=True).ok


# --------------------------------------------------------------------------- rules on data


def ranged(root: str, bounds: str) -> Callable[[float | None], str | None]:
    graph = omnigraph.init(root, f"node T {{ c: F64?  @range(c, {bounds}) }}")

    def load(value: float | None) -> str | None:
        try:
            graph.load(ndjson(node("T", c=value)))
        except ConstraintViolation as error:
            return error.notation
        return None

    return load


def test_s8_ranges_include_their_bounds_and_may_be_open(root: str) -> None:
    load = ranged(root, "-40.0..60.0")
    assert load(-40) is load(60) is load(None) is None
    assert load(60.5) == "range(T.c = 60.5 > 60)"
    assert load(-40.25) == "range(T.c = -40.25 < -40)"
    load = ranged(root + "2", "..0")
    assert load(-999) is load(0) is None
    assert load(1) == "range(T.c = 1 > 0)"


def test_s9_a_pattern_is_searched_for_anywhere(root: str) -> None:
    graph = omnigraph.init(root, 'node P { ref: String  @check(ref, "[A-Z]{2}-\\\\d+") }')
    graph.load(ndjson(node("P", ref="xxAB-7yy")))
    error = refused(graph, ConstraintViolation, lambda: graph.load(ndjson(node("P", ref="ab-7"))))
    assert error.notation == "check(P.ref = ab-7)"
    assert "@check violation" in error.message
    assert error.details["violation"]["pattern"] == r"[A-Z]{2}-\d+"


def test_s21_a_lower_bound_is_checked_when_edges_go_not_when_nodes_come(root: str) -> None:
    graph = omnigraph.init(
        root,
        "node Ship { imo: String @key } node Berth { n: String @key }"
        "edge Docks: Ship -> Berth @card(1..1)",
    )
    graph.load(ndjson(node("Ship", imo="s"), node("Berth", n="b")))
    graph.load(ndjson(edge("Docks", "s", "b", id="d")))

    def undock(type_name: str, name: str) -> None:
        with graph.transaction() as t:
            t.delete(type_name, [name])

    for type_name, name in (("Docks", "d"), ("Berth", "b")):
        error = refused(
            graph,
            ConstraintViolation,
            lambda type_name=type_name, name=name: undock(type_name, name),  # type: ignore[misc]
        )
        assert error.notation == "card(Docks, s: 0 < 1)"
    undock("Ship", "s")
    assert ids(graph, "Docks") == ids(graph, "Ship") == []
    assert graph.verify(rules=True).ok


def test_s21_an_edge_that_moves_away_leaves_its_source_below_the_bound(root: str) -> None:
    graph = omnigraph.init(root, "node N { n: String @key } edge E: N -> N @card(1..1)")
    graph.load(ndjson(node("N", n="a"), node("N", n="b"), edge("E", "a", "b", id="e")))
    moved = ndjson(edge("E", "b", "a", id="e"))
    error = refused(graph, ConstraintViolation, lambda: graph.load(moved))
    assert error.notation == "card(E, a: 0 < 1)"
    graph.load(moved + ndjson(edge("E", "a", "a", id="f")))
    assert [row["src"] for row in rows(graph, "E")] == ["b", "a"]


def test_s22_composite_uniqueness_compares_whole_tuples(root: str) -> None:
    graph = omnigraph.init(root, "node T { a: String?  b: String?  @unique(a, b) }")
    graph.load(ndjson(node("T", a="x|y", b="z"), node("T", a="x", b="y|z")))
    graph.load(ndjson(node("T", b="z"), node("T", b="z"), node("T", a="z"), node("T")))
    graph.load(ndjson(node("T", id="1", a="x", b="z")))
    again = ndjson(node("T", id="2", a="x", b="z"))
    error = refused(graph, ConstraintViolation, lambda: graph.load(again))
    assert error.notation == "unique(T.(a,b) = (x,z); 1, 2)"
    within = ndjson(node("T", id="3", a="q", b="q"), node("T", id="4", a="q", b="q"))
    error = refused(graph, ConstraintViolation, lambda: graph.load(within))
    assert error.notation == "unique(T.(a,b) = (q,q); 3, 4)"
    assert "@unique violation" in error.message


def test_edges_can_be_unique_by_their_ends(root: str) -> None:
    graph = omnigraph.init(root, "node N { n: String @key } edge E: N -> N { @unique(src, dst) }")
    graph.load(ndjson(node("N", n="a"), node("N", n="b"), edge("E", "a", "b", id="e")))
    error = refused(
        graph, ConstraintViolation, lambda: graph.load(ndjson(edge("E", "a", "b", id="f")))
    )
    assert error.notation == "unique(E.(src,dst) = (a,b); e, f)"
    graph.load(ndjson(edge("E", "b", "a"), edge("E", "a", "a")))
    assert graph.snapshot().count("E") == 3


def test_s3_ids_come_from_stored_values(root: str) -> None:
    for n, (type_name, value, expected) in enumerate(
        (
            ("I32", 42, "42"),
            ("Bool", True, "true"),
            ("Date", "2024-01-01", "19723"),
            ("DateTime", "1970-01-01T00:00:01Z", "1000000"),
            ("F64", 3.0, "3"),
            ("F64", -0.0, "0"),
            ("F64", 1e-7, "0.0000001"),
            ("F32", 0.1, "0.1"),
        )
    ):
        graph = omnigraph.init(f"{root}{n}", f"node K {{ k: {type_name} @key }}")
        graph.load(ndjson(node("K", k=value)))
        graph.load(ndjson(node("K", k=value)))
        assert ids(graph, "K") == [expected]
