"""The compiled form: effective properties, lookups, and a lossless way to store it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from engine.schema.strategies import schemas
from omnigraph.errors import FormatTooNew, NotFound
from omnigraph.schema import (
    Cardinality,
    Catalog,
    Index,
    Key,
    Range,
    Unique,
    compile_schema,
)

HARBOUR = """
interface Tagged { slug: String @key  note: String? @index }
node Item implements Tagged { price: F64  @range(price, 0.0..) }
node Ship @description("floats") { imo: String @key  tons: I32? @unique }
node Berth { quay: String  number: I32  @key(quay, number) }
edge Docks: Ship -> Berth @card(0..1) { @unique(dst, src)  since: Date? }
edge Holds: Ship -> Item
"""


@pytest.fixture(scope="module")
def harbour() -> Catalog:
    return compile_schema(HARBOUR)


def names(catalog: Catalog, table_key: str) -> list[str]:
    return [prop.name for prop in catalog.type_for(table_key).properties]


def test_interfaces_bring_properties_and_their_constraints(harbour: Catalog) -> None:  # S10
    item = harbour.node("Item")
    assert names(harbour, "node:Item") == ["note", "price", "slug"]
    assert item.key == Key(("slug",))
    assert set(item.indexes) == {Index(("slug",)), Index(("note",))}
    assert item.implements == ("Tagged",)


def test_a_property_the_node_declares_itself_brings_no_constraint() -> None:  # S10
    catalog = compile_schema(
        "interface Tagged { slug: String @key  note: String? }"
        "node Item implements Tagged { slug: String  price: F64 }"
    )
    assert catalog.node("Item").key is None
    assert names(catalog, "node:Item") == ["note", "price", "slug"]


def test_an_interface_property_has_its_own_identity_in_each_node(harbour: Catalog) -> None:
    in_node = harbour.node("Item").property("slug").identity
    assert in_node != harbour.interfaces["Tagged"].property("slug").identity


def test_identities_are_dealt_once(harbour: Catalog) -> None:
    owners = (*harbour.interfaces.values(), *harbour.types())
    dealt = [o.identity for o in owners] + [p.identity for o in owners for p in o.properties]
    assert len(set(dealt)) == len(dealt)
    assert max(dealt) + 1 == harbour.next_identity


def test_constraints(harbour: Catalog) -> None:
    docks = harbour.edge("Docks")
    assert docks.cardinality == Cardinality(0, 1)
    assert docks.uniques == (Unique(("src", "dst")),)
    assert harbour.edge("Holds").cardinality.is_free
    assert harbour.node("Item").ranges == (Range("price", 0, None),)
    assert harbour.node("Berth").key == Key(("number", "quay"))
    assert harbour.node("Berth").indexes == (Index(("number", "quay")),)


def test_lookups(harbour: Catalog) -> None:
    assert harbour.edge("DOCKS").name == "Docks"
    assert harbour.table_keys() == (
        "edge:Docks",
        "edge:Holds",
        "node:Berth",
        "node:Item",
        "node:Ship",
    )
    assert harbour.type_for("edge:Docks").kind == "edge"
    assert harbour.node("Ship").table_key == "node:Ship"
    assert [e.name for e in harbour.edges_touching("Ship")] == ["Docks", "Holds"]
    assert harbour.edges_touching("Nobody") == ()
    assert harbour.node("Ship").description == "floats"


def test_unknown_names_suggest(harbour: Catalog) -> None:
    for lookup, wrong, right in (
        (harbour.node, "Shp", "Ship"),
        (harbour.edge, "Dokcs", "Docks"),
        (harbour.type_for, "node:Shp", "Ship"),
        (harbour.type_for, "edge:docks", "edge:Docks"),
        (harbour.node("Ship").property, "ton", "tons"),
    ):
        with pytest.raises(NotFound, match=f"did you mean '{right}'"):
            lookup(wrong)
    with pytest.raises(NotFound):
        harbour.type_for("table:x")


def test_node_names_are_matched_exactly(harbour: Catalog) -> None:
    with pytest.raises(NotFound):
        harbour.node("ship")


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_json_loses_nothing(text: str) -> None:
    catalog = compile_schema(text)
    again = Catalog.from_json(json.loads(json.dumps(catalog.to_json())))
    assert again == catalog
    assert repr(again) == repr(catalog)


def test_json_keeps_rename_hints() -> None:
    catalog = compile_schema('node A @rename_from("B") { x: I32 @rename_from("y") }')
    again = Catalog.from_json(catalog.to_json())
    assert again.node("A").rename_from == "B"
    assert again.node("A").property("x").rename_from == "y"


def test_a_type_is_found_by_identity(harbour: Catalog) -> None:
    ship = harbour.node("Ship")
    assert harbour.by_identity(ship.identity) is ship
    assert harbour.by_identity(0) is None


def test_physical_indexes() -> None:
    catalog = compile_schema(
        "node N { slug: String @key  age: I32 @index  mood: enum(a) @index  v: Vector(2) @index"
        "  l: [I32]  plain: F32  at: DateTime @index  @index(l) @index(age, plain) }"
        "edge E: N -> N { w: F64 @index  @index(src) }"
    )
    assert catalog.node("N").physical_indexes() == {
        "id": "btree",
        "slug": "inverted",
        "age": "btree",
        "mood": "btree",
        "v": "vector",
        "at": "btree",
    }
    assert catalog.edge("E").physical_indexes() == {
        "id": "btree",
        "src": "btree",
        "dst": "btree",
        "w": "btree",
    }


def test_a_newer_compiled_form_is_refused(harbour: Catalog) -> None:
    with pytest.raises(FormatTooNew):
        Catalog.from_json(harbour.to_json() | {"format": 99})
