"""Schemas merge with the data, by identity; what both sides added alike is one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.errors import MergeConflict
from omnigraph.schema import compile_schema, fingerprint
from omnigraph.schema.evolution.merge_schemas import MergedSchema, SchemaVersion, merge_schemas
from support.boats import conflicts_of, merged, put
from support.graphs import BOATS, boats, contents, ids, rows

NO_FLAG = BOATS.replace("flag: String?", "")
TONS = BOATS.replace("crew: I32?", "crew: I32?  tons: I32?")
PORT = BOATS + "\nnode Port { name: String @key }\nedge At: Boat -> Port"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = boats(str(tmp_path / "graph"))
    graph.create_branch("wip")
    return graph


# --------------------------------------------------------------------------- with data


def test_s20_a_property_comes_with_the_merge(graph: Graph) -> None:
    history = len(graph.commits("wip"))
    graph.apply_schema(TONS, branch="wip")
    assert len(graph.commits("wip")) == history + 1
    assert "tons" not in graph.schema("main").catalog.node("Boat").by_name
    assert merged(graph).outcome == "fast_forward"
    assert "tons" in graph.schema("main").catalog.node("Boat").by_name
    assert graph.schema("main").source == TONS
    assert [row["tons"] for row in rows(graph, "Boat")] == [None] * 3


def test_a_property_comes_to_rows_that_changed_meanwhile(graph: Graph) -> None:
    graph.apply_schema(TONS, branch="wip")
    with graph.transaction("wip") as txn:
        txn.upsert("Boat", [{"name": "Ada", "crew": 2, "tons": 7}])
    put(graph, "main", "Bly", crew=8)
    put(graph, "main", "Dot")
    assert merged(graph).outcome == "merged"
    found = {row["name"]: (row["crew"], row["tons"]) for row in rows(graph, "Boat")}
    assert found == {"Ada": (2, 7), "Bly": (8, None), "Cap": (None, None), "Dot": (None, None)}
    assert graph.verify(rules=True).ok


def test_what_both_sides_added_alike_is_one(graph: Graph) -> None:
    graph.apply_schema(TONS + PORT.removeprefix(BOATS), branch="wip")
    graph.apply_schema(TONS + PORT.removeprefix(BOATS), branch="main")
    kept = graph.schema("main").catalog
    for branch, port in (("wip", "Rye"), ("main", "Ghent")):
        with graph.transaction(branch) as txn:
            txn.upsert("Port", [{"name": port}, {"name": "Hull"}])
            txn.upsert("At", [{"id": f"a-{branch}", "from": "Ada", "to": port}])
    with graph.transaction("wip") as txn:
        txn.upsert("Boat", [{"name": "Ada", "crew": 2, "tons": 7}])
    assert merged(graph).outcome == "merged"
    now = graph.schema("main").catalog
    assert now.node("Port").identity == kept.node("Port").identity
    assert now.node("Boat").by_name["tons"].identity == kept.node("Boat").by_name["tons"].identity
    assert ids(graph, "Port") == ["Ghent", "Hull", "Rye"]
    assert ids(graph, "At") == ["a-main", "a-wip"]
    first = graph.commits()[0].id
    assert rows(graph, "Boat")[0]["tons"] == 7
    assert graph.verify(rules=True).ok
    # The two go on together: what comes later on the source finds its way, too.
    with graph.transaction("wip") as txn:
        txn.upsert("Port", [{"name": "Deal"}])
    assert merged(graph).outcome == "merged"
    assert ids(graph, "Port") == ["Deal", "Ghent", "Hull", "Rye"]
    with graph.transaction("main") as txn:
        txn.upsert("Port", [{"name": "Oslo"}])
    with graph.transaction("wip") as txn:
        txn.upsert("Port", [{"name": "Lund"}])
    graph.create_branch("fork", "main")
    assert merged(graph, "fork", "wip").outcome == "merged"
    assert ids(graph, "Port", "wip") == ["Deal", "Ghent", "Hull", "Lund", "Oslo", "Rye"]
    assert merged(graph).outcome == "fast_forward"
    assert graph.schema("main").catalog.node("Port").identity == kept.node("Port").identity
    assert ids(graph, "Port", f"main@{first}") == ["Ghent", "Hull", "Rye"]
    put(graph, "main", "Eel")
    assert merged(graph, "main", "wip").outcome == "fast_forward"
    assert contents(graph) == contents(graph, "wip")
    with graph.transaction("wip") as txn:
        txn.upsert("Port", [{"name": "Bonn"}])
    assert merged(graph).outcome == "fast_forward"
    assert graph.verify(rules=True).ok


def test_a_type_renamed_here_and_changed_there(graph: Graph) -> None:
    graph.apply_schema(
        BOATS.replace("node Boat", 'node Ship @rename_from("Boat")')
        .replace("Boat ->", "Ship ->")
        .replace("-> Boat", "-> Ship"),
        branch="wip",
    )
    put(graph, "main", "Dot", crew=4)
    assert merged(graph).outcome == "merged"
    assert ids(graph, "Ship") == ["Ada", "Bly", "Cap", "Dot"]
    assert graph.snapshot("main").count("Meets") == 1
    assert graph.verify(rules=True).ok


def test_a_type_dropped_here_while_its_entities_changed_there(graph: Graph) -> None:
    graph.apply_schema(BOATS.replace("edge Meets: Boat -> Boat", ""), branch="wip")
    with graph.transaction() as txn:
        txn.upsert("Meets", [{"id": "m2", "from": "Ada", "to": "Bly"}])
    assert conflicts_of(graph) == [("schema_conflict", "Meets", None)]


def test_a_type_dropped_here_and_untouched_there(graph: Graph) -> None:
    graph.apply_schema(BOATS.replace("edge Meets: Boat -> Boat", ""), branch="wip")
    put(graph, "main", "Dot")
    assert merged(graph).tables["edge:Meets"].way == "dropped"
    assert list(contents(graph)) == ["node:Boat", "edge:Tows"]
    assert graph.verify(rules=True).ok


@pytest.mark.parametrize("dropped_on", ["wip", "main"])
def test_a_property_dropped_here_while_its_values_changed_there(
    graph: Graph, dropped_on: str
) -> None:
    other = "wip" if dropped_on == "main" else "main"
    put(graph, dropped_on, "Eel", crew=1)
    graph.apply_schema(NO_FLAG, branch=dropped_on)
    put(graph, other, "Ada", flag="BE")
    with pytest.raises(MergeConflict) as caught:
        graph.merge("wip", on_conflict="theirs")
    (conflict,) = caught.value.conflicts
    assert (conflict["kind"], conflict["entity"]) == ("schema_conflict", "node:Boat.flag")
    assert f"changed on the {'source' if other == 'wip' else 'target'}" in conflict["message"]


@pytest.mark.parametrize("dropped_on", ["wip", "main"])
def test_a_property_dropped_here_goes_with_what_the_other_side_did_besides(
    graph: Graph, dropped_on: str
) -> None:
    other = "wip" if dropped_on == "main" else "main"
    put(graph, dropped_on, "Eel", crew=1)
    graph.apply_schema(NO_FLAG, branch=dropped_on)
    put(graph, other, "Ada", crew=7)
    put(graph, other, "Dot", flag="NL")
    assert merged(graph).outcome == "merged"
    assert ids(graph, "Boat") == ["Ada", "Bly", "Cap", "Dot", "Eel"]
    ada = graph.snapshot("main").get("Boat", "Ada")
    assert ada is not None and ada["crew"] == 7 and "flag" not in ada
    assert graph.verify(rules=True).ok


def test_different_declarations_of_one_name(graph: Graph) -> None:
    graph.apply_schema(TONS, branch="wip")
    graph.apply_schema(TONS.replace("tons: I32?", "tons: F64?"), branch="main")
    put(graph, "wip", "Dot", crew=1)
    put(graph, "main", "Dot", crew=2)
    assert conflicts_of(graph) == [("schema_conflict", "Boat", None)]
    plan = graph.merge("wip", plan_only=True)
    assert plan.conflicts[0].facts == {
        "entity": "node:Boat.tons",
        "base": None,
        "source": "tons: I32?",
        "target": "tons: F64?",
    }
    assert conflicts_of(graph, on_conflict="theirs") == [("schema_conflict", "Boat", None)]


@pytest.mark.parametrize(
    ("rule", "change", "kind"),
    [
        ("@range(crew, ..5)", {"crew": 9}, "value_constraint_violation"),
        ('@check(flag, "^[A-Z]+$")', {"flag": "be"}, "value_constraint_violation"),
        ("@unique(flag)", {"flag": "NL"}, "unique_violation"),
    ],
)
@pytest.mark.parametrize("direction", [("wip", "main"), ("main", "wip")])
def test_a_rule_of_one_side_holds_for_the_rows_of_the_other(
    graph: Graph, rule: str, change: dict[str, object], kind: str, direction: tuple[str, str]
) -> None:
    graph.apply_schema(BOATS.replace("reg:", f"{rule}  reg:"), branch="wip")
    put(graph, "main", "Ada", **change)
    ((found, type_name, entity_id),) = conflicts_of(graph, *direction)
    assert (found, type_name) == (kind, "Boat")
    assert (entity_id is None) == (kind == "value_constraint_violation")


# --------------------------------------------------------------------------- the pure function


BASE = "node Boat { name: String @key  crew: I32?  kind: enum(sail, motor)? }"


def merged_texts(source: str, target: str, base: str = BASE) -> MergedSchema:
    accepted = compile_schema(base)
    sides = [
        SchemaVersion(text, compile_schema(text, accepted=accepted, first_identity=first))
        for text, first in ((source, 100), (target, 200))
    ]
    return merge_schemas(accepted, sides[0], sides[1])


AGREEING = {
    "properties": (
        BASE.replace("crew", "tons: I32?  crew"),
        BASE.replace("crew", "beam: F64?  crew"),
        BASE.replace("crew", "beam: F64?  tons: I32?  crew"),
    ),
    "enum values": (
        BASE.replace("motor", "motor, oar"),
        BASE.replace("motor", "motor, steam"),
        BASE.replace("motor", "motor, oar, steam"),
    ),
    "type and nullability": (
        BASE.replace("crew: I32?", "crew: I64?"),
        BASE.replace("crew: I32?", 'crew: I32? @description("people")'),
        BASE.replace("crew: I32?", 'crew: I64? @description("people")'),
    ),
    "constraints": (
        BASE.replace("crew: I32?", "crew: I32? @unique"),
        BASE.replace("crew: I32?", "crew: I32? @index"),
        BASE.replace("crew: I32?", "crew: I32? @unique @index"),
    ),
    "annotations": (
        BASE.replace("node Boat", 'node Boat @since("1")'),
        BASE.replace("node Boat", 'node Boat @owner("me")'),
        BASE.replace("node Boat", 'node Boat @since("1") @owner("me")'),
    ),
    "a rename and a constraint": (
        BASE.replace("crew: I32?", 'hands: I32? @rename_from("crew")'),
        BASE.replace("crew: I32?", "crew: I32? @range(crew, 0..9)"),
        BASE.replace("crew: I32?", "hands: I32? @range(hands, 0..9)"),
    ),
    "types and interfaces": (
        BASE
        + " interface Named { title: String? } node Port implements Named { name: String @key }",
        BASE + " edge Tows: Boat -> Boat @card(0..1)",
        BASE
        + " interface Named { title: String? } node Port implements Named { name: String @key }"
        " edge Tows: Boat -> Boat @card(0..1)",
    ),
    "a drop": (
        BASE.replace("kind: enum(sail, motor)?", ""),
        BASE.replace("crew", "tons: I32?  crew"),
        "node Boat { name: String @key  crew: I32?  tons: I32? }",
    ),
    "the same drop": (
        BASE.replace("crew: I32?", ""),
        BASE.replace("crew: I32?", ""),
        BASE.replace("crew: I32?", ""),
    ),
}


@pytest.mark.parametrize("name", AGREEING)
def test_schemas_that_go_together(name: str) -> None:
    source, target, expected = AGREEING[name]
    for one, other in ((source, target), (target, source)):
        result = merged_texts(one, other)
        assert result.conflicts == ()
        assert fingerprint(result.merged.catalog) == fingerprint(compile_schema(expected))
        again = compile_schema(result.merged.source, accepted=result.merged.catalog)
        assert again.to_json() == result.merged.catalog.to_json()


CLASHING = {
    "node:Boat.crew": ((BASE.replace("crew: I32?", ""), BASE.replace("crew: I32?", "crew: I64?")),),
    "node:Boat": (
        (
            BASE.replace("crew: I32?", "crew: I32? @range(crew, 0..9)"),
            BASE.replace("crew: I32?", "crew: I32? @range(crew, 0..8)"),
        ),
        (
            BASE.replace("node Boat", 'node Boat @description("a")'),
            BASE.replace("node Boat", 'node Boat @description("b")'),
        ),
        (BASE.replace("crew: I32?", ""), BASE.replace("crew: I32?", "crew: I32? @unique")),
    ),
    "node:Port": (
        (BASE + " node Port { name: String @key }", BASE + " node Port { name: I32 @key }"),
        (
            BASE + " node Port { name: String @key }",
            BASE + " node Port { name: String @key  size: I32? }",
        ),
    ),
    "edge:Tows": (
        ("node Dock { name: String @key }", BASE + " edge Tows: Boat -> Boat"),
        (BASE + " edge Tows: Boat -> Boat", BASE + " edge TOWS: Boat -> Boat"),
    ),
}


@pytest.mark.parametrize(
    ("entity", "source", "target"),
    [(entity, *pair) for entity, pairs in CLASHING.items() for pair in pairs],
)
def test_schemas_that_do_not(entity: str, source: str, target: str) -> None:
    for one, other in ((source, target), (target, source)):
        result = merged_texts(one, other)
        assert [c.entity.lower() for c in result.conflicts] == [entity.lower()]
        assert result.merged.source == other
        assert result.conflicts[0].message


def test_a_property_that_both_sides_rename() -> None:
    result = merged_texts(
        BASE.replace("crew: I32?", 'hands: I32? @rename_from("crew")'),
        BASE.replace("crew: I32?", 'folk: I32? @rename_from("crew")'),
    )
    (conflict,) = result.conflicts
    assert conflict.to_json() == {
        "entity": "node:Boat.folk",
        "base": "crew: I32?",
        "source": "hands: I32?",
        "target": "folk: I32?",
    }


def test_two_types_that_come_to_one_name() -> None:
    base = "node Boat { name: String @key } node Ship { name: String @key }"
    result = merged_texts(
        'node Boat { name: String @key } node Craft @rename_from("Ship") { name: String @key }',
        'node Craft @rename_from("Boat") { name: String @key } node Ship { name: String @key }',
        base,
    )
    assert [conflict.entity for conflict in result.conflicts] == ["node:Craft"]


def test_an_interface_that_a_new_type_does_not_fit_any_more() -> None:
    base = "interface Named { title: String? } node Boat implements Named { name: String @key }"
    result = merged_texts(
        base.replace("title: String?", "title: String?  nick: String?"),
        base + " node Port implements Named { name: String @key }",
        base,
    )
    assert [conflict.entity for conflict in result.conflicts] == ["schema"]
