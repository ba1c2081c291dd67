"""What a catalog says is the same after printing it, shuffling it and renaming into it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from engine.schema.strategies import schemas
from omnigraph.schema import compile_schema, compiled_hash, fingerprint, to_source

SOURCE = """\
interface Tagged {
  slug: String @key
}

node Berth {
  number: I32
  quay: String
  @key(number, quay)
}

node Ship @description("floats") implements Tagged {
  labels: [String]?
  length: F64 @index
  status: enum(open, shut) @default("open")
  title: String @unique
  vector: Vector(3)? @embed("title", model="m")
  @unique(length, status)
  @index(labels)
  @range(length, ..400.5)
  @check(title, "^[A-Z]\\\\w+")
}

edge Docks: Ship -> Berth @card(0..1) {
  since: Date?
  @unique(src, dst)
}

edge Passes: Ship -> Ship
"""


def test_the_canonical_text_is_stable() -> None:
    assert to_source(compile_schema(SOURCE)) == SOURCE


def test_an_overridden_interface_property_is_printed() -> None:
    text = "interface T { s: String @key } node A implements T { s: String }"
    printed = to_source(compile_schema(text))
    assert compile_schema(printed).node("A").key is None


def test_rename_hints_are_left_out() -> None:
    text = 'node A @rename_from("B") { x: I32 @rename_from("y") }'
    assert to_source(compile_schema(text)) == "node A {\n  x: I32\n}\n"


@settings(max_examples=120, deadline=None)
@given(schemas())
def test_printing_keeps_the_meaning(text: str) -> None:
    catalog = compile_schema(text)
    printed = to_source(catalog)
    again = compile_schema(printed)
    assert fingerprint(again) == fingerprint(catalog)
    assert compile_schema(printed, accepted=catalog) == catalog
    assert to_source(again) == printed


BASE = "node A { x: I32 @key  y: String? } node B {} edge E: A -> B @card(0..1) { w: F32? }"


@pytest.mark.parametrize(
    "same",
    [
        "edge E: A -> B @card(0..1) { w: F32? } node B {} node A { y: String? x: I32 @key }",
        "node A {x:I32@key,y:String?}node B{}edge E:A->B@card(0..1){w:F32?}",
        "/* c */" + BASE.replace(" ", "  // c\n "),
        BASE.replace("node A {", 'node A @rename_from("Z") {').replace(
            "y: String?", 'y: String? @rename_from("q")'
        ),
        BASE.replace("x: I32 @key", "x: I32  @key(x)"),
    ],
)
def test_order_comments_spacing_and_hints_do_not_count(same: str) -> None:
    assert fingerprint(compile_schema(same)) == fingerprint(compile_schema(BASE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y: String?", "y: String"),
        ("y: String?", "z: String?"),
        ("@card(0..1)", "@card(0..2)"),
        ("I32 @key", "I32 @unique"),
        ("A -> B", "B -> A"),
        ("node B {}", 'node B @description("b") {}'),
        ("node B {}", "node B @mark {}"),
        ("w: F32?", "w: F32? @index"),
    ],
)
def test_everything_else_counts(old: str, new: str) -> None:
    assert old in BASE
    assert fingerprint(compile_schema(BASE.replace(old, new))) != fingerprint(compile_schema(BASE))


def test_a_fingerprint_is_hex_of_sha256() -> None:
    assert re.fullmatch("[0-9a-f]{64}", fingerprint(compile_schema(BASE)))


def test_identities_are_in_the_hash_of_the_compiled_form_only() -> None:
    first = compile_schema(BASE)
    later = compile_schema(BASE, first_identity=50)
    assert fingerprint(first) == fingerprint(later)
    assert compiled_hash(first) != compiled_hash(later)
    assert compiled_hash(first) == compiled_hash(compile_schema(BASE))
