"""Which declaration continues which, and the hints that cannot be matched.

The rules are docs/design/schema-language.md#9-evolution.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from engine.schema.strategies import schemas
from omnigraph.errors import SchemaIdentityError
from omnigraph.schema import Catalog, compile_schema

FLEET = "node Ship { imo: String @key  tons: I32? } edge Sails: Ship -> Ship { knots: F32? }"


@pytest.fixture
def fleet() -> Catalog:
    return compile_schema(FLEET)


def test_equal_names_continue(fleet: Catalog) -> None:
    assert compile_schema(FLEET, accepted=fleet) == fleet


def test_new_things_take_fresh_identities(fleet: Catalog) -> None:
    after = compile_schema(FLEET + " node Berth { quay: String }", accepted=fleet)
    assert after.node("Berth").identity == fleet.next_identity
    assert after.next_identity == fleet.next_identity + 2


def test_the_allocator_of_the_graph_may_be_ahead(fleet: Catalog) -> None:
    after = compile_schema(FLEET + " node Berth {}", accepted=fleet, first_identity=100)
    assert after.node("Berth").identity == 100
    assert after.next_identity == 101
    behind = compile_schema(FLEET + " node Berth {}", accepted=fleet, first_identity=2)
    assert behind.node("Berth").identity == fleet.next_identity


def test_properties_introduced_together_are_numbered_by_name() -> None:
    node = compile_schema("node A { c: I32  a: I32  b: I32 }").node("A")
    assert [p.identity for p in node.properties] == sorted(p.identity for p in node.properties)


def test_a_hint_carries_the_identity_over(fleet: Catalog) -> None:  # S18
    after = compile_schema(
        'node Vessel @rename_from("Ship") { number: String @key @rename_from("imo")  tons: I32? }'
        'edge Plies: Vessel -> Vessel @rename_from("Sails") { knots: F32? }',
        accepted=fleet,
    )
    ship, vessel = fleet.node("Ship"), after.node("Vessel")
    assert vessel.identity == ship.identity
    assert vessel.property("number").identity == ship.property("imo").identity
    assert vessel.property("tons").identity == ship.property("tons").identity
    assert after.edge("Plies").identity == fleet.edge("Sails").identity
    assert after.next_identity == fleet.next_identity


def test_dropped_and_added_again_is_something_new(fleet: Catalog) -> None:
    without = compile_schema("node Ship { imo: String @key }", accepted=fleet)
    again = compile_schema(FLEET, accepted=without)
    old, new = fleet.node("Ship").property("tons"), again.node("Ship").property("tons")
    assert new.identity != old.identity
    assert again.edge("Sails").identity != fleet.edge("Sails").identity
    assert again.node("Ship").identity == fleet.node("Ship").identity


def test_a_hint_on_first_creation_is_inert() -> None:
    compile_schema('node Vessel @rename_from("Ship") { x: I32 @rename_from("y") }')


def test_a_hint_whose_new_name_exists_is_ignored(fleet: Catalog) -> None:
    after = compile_schema(
        'node Ship @rename_from("Nothing") { imo: String @key @rename_from("no")  tons: I32? }'
        "edge Sails: Ship -> Ship { knots: F32? }",
        accepted=fleet,
    )
    assert after == fleet


def test_an_injected_hint_applies_where_it_fits() -> None:
    accepted = compile_schema("interface T { slug: String } node A implements T {}")
    after = compile_schema(
        'interface T { tag: String @rename_from("slug") }'
        "node A implements T {} node New implements T {}",
        accepted=accepted,
    )
    old, new = accepted.node("A").property("slug"), after.node("A").property("tag")
    assert new.identity == old.identity
    assert after.node("New").property("tag").identity >= accepted.next_identity


def test_an_injected_hint_yields_to_a_property_that_kept_its_name() -> None:
    accepted = compile_schema("interface T { slug: String } node A implements T {}")
    after = compile_schema(
        'interface T { tag: String @rename_from("slug") }node A implements T { slug: String }',
        accepted=accepted,
    )
    old, kept = accepted.node("A").property("slug"), after.node("A").property("slug")
    assert kept.identity == old.identity
    assert after.node("A").property("tag").identity >= accepted.next_identity


UNMATCHED = [
    ('node Vessel @rename_from("Sihp") {}', "no node type 'Sihp' (did you mean 'Ship'?)"),  # S19
    ('node Vessel @rename_from("Sails") {}', "cannot be renamed from edge 'Sails'"),
    (
        'node A {} edge E: A -> A @rename_from("Ship")',
        "cannot be renamed from node 'Ship'",
    ),
    ('node Ship { imo: String @key  t: I32? @rename_from("ton") }', "did you mean 'tons'?"),
    ('node Ship { imo: String @key  k: F32? @rename_from("knots") }', "belongs to edge Sails"),
    ('node New { x: I32? @rename_from("tons") }', "New is new"),
    (
        'node Ship { a: I32? @rename_from("tons")  b: I32? @rename_from("tons") }',
        "both continue 'tons'",
    ),
    ('node Ship { tons: I32?  b: I32? @rename_from("tons") }', "both continue 'tons'"),
    ('node Ship { tons: I32?  a: I32? @rename_from("tons") }', "both continue 'tons'"),
    ('node A @rename_from("Ship") {} node B @rename_from("Ship") {}', "both continue 'Ship'"),
    ('node Ship {} node B @rename_from("Ship") {}', "both continue 'Ship'"),
    ('node Ship {} node Z @rename_from("Ship") {}', "both continue 'Ship'"),
]


@pytest.mark.parametrize(("text", "words"), UNMATCHED)
def test_a_hint_that_matches_nothing_is_an_error(text: str, words: str, fleet: Catalog) -> None:
    with pytest.raises(SchemaIdentityError) as caught:
        compile_schema(text, accepted=fleet)
    assert words in caught.value.details["problem"]
    start, end = caught.value.details["span"]
    assert text[start:end].startswith('"')


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_compiling_again_changes_nothing(text: str) -> None:
    first = compile_schema(text)
    assert compile_schema(text) == first
    assert compile_schema(text, accepted=first) == first


@settings(max_examples=60, deadline=None)
@given(schemas(), schemas())
def test_no_identity_is_ever_used_twice(before: str, after: str) -> None:
    accepted = compile_schema(before)
    desired = compile_schema(after, accepted=accepted)
    kept, held = _identities(desired), _identities(accepted)
    assert len(set(kept)) == len(kept)
    assert all(i in held or i >= accepted.next_identity for i in kept)
    assert desired.next_identity > max(kept, default=0)


def _identities(catalog: Catalog) -> list[int]:
    owners = (*catalog.interfaces.values(), *catalog.types())
    return [o.identity for o in owners] + [p.identity for o in owners for p in o.properties]
