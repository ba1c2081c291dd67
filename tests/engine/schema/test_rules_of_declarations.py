"""What the compiler accepts, and what it rejects with which class of error.

The rules are docs/design/schema-language.md#4-physical-tables to #8-interfaces.
"""

from __future__ import annotations

import pytest

from omnigraph.errors import CatalogError, ParseError
from omnigraph.schema import compile_schema

ACCEPTED = [
    "",
    "// only a comment",
    "node A {}",
    "node Buoy { name: String @key  seen: DateTime?  depth: F32 }",  # S1
    "node T { c: F64?  @range(c, -40.0..60.0) @range(c, ..0) }",  # S8
    'node P { ref: String  @check(ref, "[A-Z]{2}-\\\\d+") }',  # S9
    "node Ship {} edge Ship: Ship -> Ship",  # S13
    "node N { _row_id: String  _ROWID: String }",  # S14
    "node A {} interface A {}",
    "node A { from: String  to: String  src: String  dst: String }",
    "node A { t: [String] @index(t) }",
    "node A { v: Vector(3) @index }",
    "node A { x: I32 @unique @index @unique(x) @index(x) }",
    "node A { t: String  v: Vector(3) @embed(t) }",
    'node A { t: String?  v: Vector(3)? @embed("t", model="m") }',
    "interface I { t: String } node A implements I { v: Vector(2) @embed(t)  @unique(t) }",
    "edge E: A -> A { w: I32 @unique @index  @unique(src, w)  @index(dst) } node A {}",
    'node A @description("d") @instruction("i") @rename_from("Old") @other { }',
    "node A { x: I32 @rename_from(y) }",
    "node A { x: I32 @card(5) @anything(1, a=2) }",
    "interface I { x: I32 @key } interface J { x: I32 @key } node A implements I, J {}",
    "interface I { x: I32 } interface J { x: I32 @unique } node A implements I, J { x: I32 }",
    "node A { x: U64 @default(18446744073709551615)  y: F32 @default(1) z: Bool @default(true) }",
    'node A { d: Date @default("2024-02-29")  t: DateTime @default("2024-01-01T00:00:00Z") }',
    'node A { d: Date @default(5)  t: DateTime? @default(5)  e: enum(a, 2x) @default("2x") }',
    "node A { e: enum(a, b) @default(a) }",
]

BROKEN_RULES = [
    # S6
    ("node A { x: String? @key }", "nullable"),
    ("node A { x: U64 @key  y: String @key }", "two keys"),
    ("node A { v: Vector(3) @unique }", "Vector(3)"),
    ("node A { b: Blob @index }", "Blob"),
    ("node A { t: [String] @key }", "[String]"),
    # S7
    ("node A { s: String @range(s, 0..9) }", "@range needs a numeric type"),
    ('node A { n: I32 @check(n, "x") }', "@check needs a String"),
    ("node A {} edge E: A -> A { w: I32 @range(w, 0..1) }", "an edge cannot have it"),
    # S14
    ("node N { _rowid: String }", "reserved"),
    ("interface N { _row_created_at_version: String }", "reserved"),
    ("node A { id: String }", "reserved"),
    ("interface A { id: String }", "reserved"),
    ("node A {} edge E: A -> A { from: String }", "reserved"),
    ("node A {} edge E: A -> A { dst: String }", "reserved"),
    # keys
    ("node A { x: I32 @key @key(x) }", "two keys"),
    ("node A { x: I32 @key @key }", "written twice"),
    ("node A { x: I32  y: I32? @key(x, y) }", "nullable"),
    ("node A { x: I32 @key(x, x) }", "listed twice"),
    ("node A { x: Vector(2) @key(x) }", "Vector"),
    ("interface I { x: I32 @key } node A implements I { y: I32 @key }", "two keys"),
    ("interface I { x: I32 @key  y: I32 @key }", "two keys"),
    ("interface I { x: [I32] @unique }", "[I32]"),
    ("node A {} edge E: A -> A { x: I32 @key }", "an edge has no @key"),
    ("node A {} edge E: A -> A { x: I32 @key(x) }", "an edge has no @key"),
    # members
    ("node A { nme: String @unique(name) }", "did you mean 'nme'?"),
    ("node A { x: I32 @unique(src) }", "no property 'src'"),
    ("node A { x: I32 @index(id) }", "no property 'id'"),
    ("node A { @range(x, 0..1) }", "no property 'x'"),
    ("node A { b: Blob @index(b) }", "Blob"),
    ("node A { b: [I32] @unique(b) }", "[I32]"),
    ("node A { b: [I32] @index }", "list"),
    # values of constraints
    ('node A { e: enum(a) @check(e, "a") }', "@check needs a String"),
    ("node A { e: [I32] @range(e, 0..1) }", "numeric"),
    ('node A { s: String @check(s, "((") }', "invalid pattern"),
    ("node A { x: I32 @range(x, 2..1) }", "empty"),
    ("node A {} edge E: A -> A @card(2..1)", "min <= max"),
    ("node A {} edge E: A -> A @card(1)", "@card needs bounds"),
    # annotations
    ("node A @key { x: I32 }", "whole node"),
    ("node A @embed { x: I32 }", "whole node"),
    ("node A {} edge E: A -> A @unique {}", "whole edge"),
    ("node A { x: I32 @range }", "@range needs arguments"),
    ('node A { x: I32 @instruction("x") }', "@instruction"),
    ('node A @description("") {}', "must not be empty"),
    ("node A @description {}", "needs a text"),
    ("node A @description(x) {}", "needs a text in quotes"),
    ('node A @description("x", y=1) {}', "takes no keywords"),
    ('node A @description("x") @description("y") {}', "written twice"),
    ('node A @rename_from("") {}', "@rename_from"),
    ('node A @rename_from("B") @rename_from("C") {}', "written twice"),
    ('node A @rename_from("B", c=1) {}', "takes no keywords"),
    ("node A { t: String @embed(t) }", "needs a Vector"),
    ("node A { t: String  v: Vector(2) @embed }", "needs the String property"),
    ("node A { t: I32  v: Vector(2) @embed(t) }", "needs a String property"),
    ("node A { text: String  v: Vector(2) @embed(txt) }", "did you mean 'text'?"),
    ('node A { t: String  v: Vector(2) @embed(t, dims="2") }', "only the keyword model"),
    ("node A { t: String  v: Vector(2) @embed(t, model=2) }", "model needs a name"),
    ("node A {} edge E: A -> A { t: String  v: Vector(2) @embed(t) }", "belongs on a node"),
    # defaults
    ('node A { x: I32 @default("1") }', "whole number"),
    ("node A { x: I32 @default(1.0) }", "whole number"),
    ("node A { x: I32 @default(true) }", "whole number"),
    ("node A { x: I32 @default(2147483648) }", "does not fit I32"),
    ("node A { x: F32 @default(" + "9" * 60 + ") }", "does not fit F32"),
    ("node A { x: F64 @default(" + "9" * 400 + ") }", "does not fit F64"),
    ("node A { x: String @default(NL) }", "expected"),
    ("node A { x: String @default(nl) }", 'did you mean "nl"?'),
    ("node A { x: String @default(1) }", "text in quotes"),
    ("node A { x: Bool @default(1) }", "true or false"),
    ("node A { x: enum(a) @default(b) }", "one of a"),
    ('node A { x: Date @default("2023-02-29") }', "not a day"),
    ('node A { x: Date @default("20240101") }', "not a date"),
    ('node A { x: DateTime @default("noon") }', "ISO 8601"),
    ("node A { x: [I32] @default(1) }", "cannot be given"),
    ("node A { x: Blob @default(1) }", "cannot be given"),
    ("node A { x: I32 @default }", "needs a value"),
]

CONTRADICTIONS = [
    # S11
    ("interface N { name: I32 } node P implements N { name: String }", "P.name is String"),
    ("node P implements Ghost {}", "unknown interface 'Ghost'"),
    # S13
    ("node Ship {} edge Docks: Ship -> Ghost", "unknown node type 'Ghost'"),
    ("node A {} edge Sails: A -> A edge SAILS: A -> A", "differ only in case"),
    ("node A {} node A {}", "declared twice"),
    ("interface A {} interface A {}", "declared twice"),
    ("node A {} edge E: A -> A edge E: A -> A", "declared twice"),
    ("node A { x: I32  x: I32 }", "declared twice"),
    ("interface I {} node A implements I, I {}", "declared twice"),
    ("interface I {} node A {} edge E: A -> I", "is an interface"),
    ("node Ship {} edge E: Ship -> Shp", "did you mean 'Ship'?"),
    ("interface I { x: I32 } node A implements I { x: I32? }", "I32?"),
    ("interface I { x: enum(a) } node A implements I { x: enum(a, b) }", "enum(a, b)"),
    ("interface I { x: I32 } interface J { x: I64 } node A implements I, J {}", "different"),
    ("interface I { x: I32 } interface J { x: I32 @key } node A implements I, J {}", "different"),
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted(text: str) -> None:
    compile_schema(text)


@pytest.mark.parametrize(("text", "words"), BROKEN_RULES)
def test_a_broken_rule_is_a_parse_error(text: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    assert words in caught.value.problem
    start, end = caught.value.span
    assert 0 <= start < end <= len(text.encode())


@pytest.mark.parametrize(("text", "words"), CONTRADICTIONS)
def test_a_contradiction_is_a_catalog_error(text: str, words: str) -> None:
    with pytest.raises(CatalogError) as caught:
        compile_schema(text)
    assert words in caught.value.details["problem"]
